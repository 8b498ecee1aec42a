"""A client that sends requests of one API, as many and as fast as it is told to.

    RequestsClient(name="asker", api="Metadata", version=12, body={"topics": []}, times=200)

Whatever an application can do wrong on the wire can so be done by a scenario. How requests end is
counted, and answers are not acted upon.
"""

from collections import Counter
from typing import Any

from kdiag.client.cluster_client import Answer, ClusterClient
from kdiag.client.config.load import ClientConfig
from kdiag.clock import NS_PER_MS, Clock
from kdiag.errors import AbsentError, EncodeError
from kdiag.lab.scenario.clients.scenario_thread import ScenarioThread
from kdiag.lab.scenario.scenario import RequestsClient
from kdiag.lab.scenario.scenario_file import API_BY_NAME
from kdiag.probe.destination import find_nodes, parse_destination
from kdiag.wire.codec.json_form import from_json


class RequestSender(ScenarioThread):
    """Sends requests.

    Attributes:
        endings: how they ended: `answered`, or the kind of error.
    """

    def __init__(
        self, wanted: RequestsClient, config: ClientConfig, clock: Clock, deadline_ns: int
    ) -> None:
        super().__init__(wanted.name, config, clock, deadline_ns)
        self.endings: Counter[str] = Counter()
        self._wanted = wanted

    def work(self, client: ClusterClient) -> None:
        """Send them."""
        wanted = self._wanted
        api = API_BY_NAME[wanted.api]
        nodes = find_nodes(client, parse_destination(wanted.to))
        if not nodes.ids:
            raise AbsentError(wanted.to, nodes.why)
        try:
            message = from_json(api.request_class(), wanted.version, wanted.body)
        except ValueError as error:
            raise EncodeError(wanted.api, str(error)) from None
        left = wanted.times
        while left:
            count = min(left, wanted.in_flight)
            asked = [(nodes.ids[0], message)] * count
            answers: list[Answer[Any]] = client.ask_each(
                asked, api.response_class(), version=wanted.version
            )
            for each in answers:
                why = each.error
                self.endings["answered" if why is None else type(why).__name__] += 1
            left -= count
            if wanted.pause_ms and left:
                client.wait(wanted.pause_ms * NS_PER_MS)
        failed = {ending: n for ending, n in self.endings.items() if ending != "answered"}
        if failed:
            self.failure = f"{self.name}: " + ", ".join(f"{n} {each}" for each, n in failed.items())
