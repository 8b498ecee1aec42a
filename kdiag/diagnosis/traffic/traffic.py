"""Passes each exchange of a capture to those that look at it."""

from collections.abc import Iterator, Sequence
from functools import partial
from typing import Final

from kdiag.diagnosis.traffic.answering import Answering
from kdiag.diagnosis.traffic.asking import Asking
from kdiag.diagnosis.traffic.consuming import Consuming
from kdiag.diagnosis.traffic.controllers import Controllers
from kdiag.diagnosis.traffic.ledgers import AnsweredBatch
from kdiag.diagnosis.traffic.producing import Producing
from kdiag.diagnosis.traffic.refusing import Refusing
from kdiag.diagnosis.traffic.replicating import Replicating
from kdiag.diagnosis.traffic.silence import Silence
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, Status
from kdiag.exchange.summary.counts import Again, AgainOn, again_of_all
from kdiag.findings.finding import Finding
from kdiag.wire import api_keys

OWN_CLIENT_ID: Final = "kdiag-"
"""How the client ids of kdiag begin, with which it looks at clusters."""


def is_own(client_id: str | None) -> bool:
    """Return whether a client id is one of kdiag's."""
    return (client_id or "").startswith(OWN_CLIENT_ID)


class Traffic:
    """Looks at the exchanges of a capture, and judges its clients and brokers.

    Attributes:
        producing, consuming, asking, answering, refusing, silence: what was counted so far; those
            who have counted elsewhere, such as in SQL, put their ledgers there.
    """

    def __init__(self, names: TopicNames, *, with_own: bool = False) -> None:
        """Start before the first exchange.

        Args:
            names: topic names by topic id; they grow while captures are read.
            with_own: whether requests of kdiag itself are judged, too.
        """
        self._with_own = with_own
        self.producing = Producing(names)
        self.consuming = Consuming()
        self.asking = Asking()
        self.answering = Answering()
        self.refusing = Refusing(names)
        self.silence = Silence()
        self.replicating = Replicating(names)
        self.controllers = Controllers()

    @property
    def left_out(self) -> int:
        """Return how often there was no room for a client, a broker or a partition."""
        parts = (
            *(self.producing, self.consuming, self.asking),
            *(self.answering, self.refusing, self.silence, self.replicating),
            self.controllers,
        )
        return sum(each.left_out for each in parts)

    def add(self, dissection: Dissection) -> AgainOn | None:
        """Add an exchange that was read.

        Returns:
            Who adds those that are like it; None if there is nothing to add.
        """
        exchange = dissection.exchange
        if not self._with_own and is_own(exchange.client_id):
            return None
        if exchange.pairing is Status.UNANSWERED:
            self.asking.add_unanswered(dissection)
        self.asking.add_quota(dissection)
        found = (
            self._of_api(dissection),
            self.asking.add_version(exchange),
            self.answering.add(exchange),
            self.refusing.add(dissection),
            self.silence.add(exchange),
            self.replicating.add(dissection),
        )
        self.controllers.add(exchange)
        parts = [each for each in found if each is not None]
        return partial(_again_of, parts) if parts else None

    def _of_api(self, dissection: Dissection) -> AgainOn | None:
        """Pass an exchange to who looks at its API."""
        exchange, response = dissection.exchange, dissection.response
        is_answered = response is not None and response.status is Status.OK
        match exchange.api_key:
            case api_keys.PRODUCE:
                return self.producing.add(dissection)
            case api_keys.FETCH:
                return self.consuming.add_fetch(dissection)
            case api_keys.OFFSET_COMMIT:
                return self.consuming.add_commit(dissection)
            case api_keys.METADATA:
                if response is not None and is_answered:
                    self.producing.learn_partitions(response.message)
                    self.asking.learn_brokers(response.message)
                    self.replicating.learn_replicas(response.message)
                self.asking.add_metadata(exchange)
            case api_keys.API_VERSIONS:
                if response is not None and is_answered:
                    self.asking.add_versions(exchange.connection.broker, response.message)
                    self.controllers.learn_listener(exchange.connection.broker, response.message)
        return None

    def findings(self) -> Iterator[Finding]:
        """Yield what is wrong, one finding for each problem."""
        silences = list(self.silence.findings())
        yield from silences
        addresses = self.asking.address_findings()
        causes = [each.title for each in addresses]
        yield from self.refusing.findings(causes, self.replicating.texts())
        yield from self.replicating.findings(
            self.refusing.lacking_replicas, [_silent_text(each) for each in silences]
        )
        yield from addresses
        yield from self.controllers.findings()
        yield from self.producing.findings()
        yield from self.consuming.findings()
        slow = {each.evidence["broker"] for each in silences} | self.replicating.brokers()
        yield from self.asking.findings(self.refusing.hindered, slow)
        yield from self.answering.findings(self.asking.throttled, slow)
        yield from self.asking.version_findings()


def _silent_text(finding: Finding) -> str:
    evidence = finding.evidence
    return "broker {broker} answered no client from {first} to {last} {zone}".format_map(evidence)


def _again_of(parts: Sequence[AgainOn], exchange: Exchange) -> Again:
    """Return what several add on the connection of an exchange, as one."""
    add = again_of_all(parts, exchange)
    return lambda exchanges: add(AnsweredBatch(exchanges))
