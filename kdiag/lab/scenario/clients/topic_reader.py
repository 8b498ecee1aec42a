"""A reader that follows topics, as `kdiag tail` does, and keeps what happens to its partitions.

ReaderClient(name="reader", topic="orders")       # from the beginning on, until the end of the run
"""

from typing import TYPE_CHECKING, Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import ClientConfig
from kdiag.client.fetch.session import FetchLimits
from kdiag.clock import NS_PER_MS, Clock
from kdiag.lab.scenario.clients.scenario_thread import ScenarioThread
from kdiag.lab.scenario.scenario import ReaderClient
from kdiag.probe.tail.follower import Tail
from kdiag.probe.tail.offset_spec import At, OffsetSpec, Position
from kdiag.probe.tail.placement import TailRequest
from kdiag.probe.tail.topic_selection import TopicSelector

if TYPE_CHECKING:
    from kdiag.client.fetch.position import Notice

_SLICE_NS: Final = 20 * NS_PER_MS
_WAIT_MS: Final = 100


class TopicReader(ScenarioThread):
    """Reads, until it is told to end.

    Attributes:
        notices: what happened to its partitions.
        record_count: how many records it has read.
    """

    is_lasting = True

    def __init__(
        self, wanted: ReaderClient, config: ClientConfig, clock: Clock, deadline_ns: int
    ) -> None:
        super().__init__(wanted.name, config, clock, deadline_ns)
        self.notices: list[Notice] = []
        self.record_count = 0
        self._wanted = wanted

    def work(self, client: ClusterClient) -> None:
        """Read on and on."""
        request = TailRequest(
            topics=[TopicSelector(self._wanted.topic)],
            offsets=OffsetSpec(Position(At.BEGINNING)),
            limits=FetchLimits(max_wait_ms=_WAIT_MS),
        )
        tail = Tail(client, request)
        while self.clock.monotonic_ns() < client.deadline_ns:
            for batch in tail.poll(self.clock.monotonic_ns() + _SLICE_NS):
                self.record_count += batch.batch.record_count
            self.notices += tail.take_notices()
