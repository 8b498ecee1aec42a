"""A tail that follows a topic on real brokers, and keeps all that it reads and tells.

with TailReader(bootstrap, "orders", "beginning") as reader:
    reader.read_until(lambda: len(reader.values(0)) == 10)
"""

from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Final, Self

from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.configured_client import configured_client
from kdiag.client.fetch.position import Notice, NoticeKind, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.clock import SystemClock
from kdiag.probe.tail.follower import Tail
from kdiag.probe.tail.offset_spec import parse_offsets
from kdiag.probe.tail.placement import TailRequest
from kdiag.probe.tail.topic_selection import parse_selector

_S_NS: Final = 1_000_000_000
_POLL_NS: Final = 100_000_000
CLOCK: Final = SystemClock()


class TailReader:
    """Reads on and on while the `with` block does not end.

    Attributes:
        tail: what reads.
        records: offsets and values that may be seen, by partition, in the order of their coming.
        notices: all that it told.
        longest_silence_ns: the longest that no record came while it read.
    """

    def __init__(
        self,
        bootstrap: str,
        topic: str,
        *offsets: str,
        limits: FetchLimits = FetchLimits(),  # noqa: B008 - a tuple
        properties: Sequence[str] = (),
    ) -> None:
        self.records: dict[PartitionKey, list[tuple[int, bytes]]] = defaultdict(list)
        self.notices: list[Notice] = []
        self.longest_silence_ns = 0
        self._heard_ns = 0
        self._topic = topic
        self._config = load_config(
            ConfigSources(properties=[f"bootstrap.servers={bootstrap}", *properties])
        )
        self._request = TailRequest(
            [parse_selector(topic)], parse_offsets(offsets, 0), limits=limits
        )
        self._opened = ExitStack()

    def __enter__(self) -> Self:
        """Find the topic."""
        with ExitStack() as opening:
            client = opening.enter_context(configured_client(self._config, CLOCK))
            client.connect()
            self.tail = Tail(client, self._request)
            self._opened = opening.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        """Close the connections."""
        self._opened.close()

    @property
    def count(self) -> int:
        """Return how many records have come."""
        return sum(map(len, self.records.values()))

    def leader(self, partition: int) -> int:
        """Return the broker that a partition is read from; 0 for none."""
        return self.tail.positions[PartitionKey(self._topic, partition)].leader_id or 0

    def last_offset(self, partition: int) -> int:
        """Return the offset of the last record that came of a partition."""
        return self.records[PartitionKey(self._topic, partition)][-1][0]

    def values(self, partition: int, topic: str | None = None) -> list[bytes]:
        """Return the values of a partition in the order in which they came."""
        return [value for _, value in self.records[PartitionKey(topic or self._topic, partition)]]

    def told(self, kind: NoticeKind) -> list[str]:
        """Return the lines of a kind."""
        return [each.text for each in self.notices if each.kind is kind]

    def read_until(self, condition: Callable[[], bool], timeout_s: int = 120) -> None:
        """Read until a condition holds.

        Raises:
            AssertionError: if it does not in time; with all that was told.
        """
        until_ns = CLOCK.monotonic_ns() + timeout_s * _S_NS
        self._heard_ns = CLOCK.monotonic_ns()
        while not condition():
            self.read_once()
            assert CLOCK.monotonic_ns() < until_ns, [each.text for each in self.notices]

    def read_once(self) -> None:
        """Read what comes within a tenth of a second."""
        for fetched in self.tail.poll(CLOCK.monotonic_ns() + _POLL_NS):
            self._hear()
            assert fetched.batch.crc_ok
            if fetched.is_aborted or fetched.batch.is_control:
                continue
            self.records[fetched.key] += [
                (each.offset, each.value or b"")
                for each in fetched.batch.records()
                if fetched.start <= each.offset < fetched.stop
            ]
        self.notices += self.tail.take_notices()

    def _hear(self) -> None:
        now_ns = CLOCK.monotonic_ns()
        self.longest_silence_ns = max(self.longest_silence_ns, now_ns - self._heard_ns)
        self._heard_ns = now_ns
