"""What latencies to measure, and where."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kdiag.diagnosis.latency.fetch_waits import FetchWait

_S: Final = 1_000_000_000
_MS: Final = 1_000_000

ACKS_ALL: Final = -1
"""How the protocol says `acks=all`."""

ACKS_TEXTS: Final = {0: "0", 1: "1", ACKS_ALL: "all"}
"""How clients' configurations say them."""

LEAST_RECORD_BYTES: Final = 16
"""A value holds at least who wrote it, and its number."""


class RecordShape(NamedTuple):
    """The records that are written.

    Attributes:
        value_bytes: size of the value, at least LEAST_RECORD_BYTES.
        key_bytes: size of the key; 0 for none.
        headers: how many there are.
        header_key_bytes: size of the key of each.
        header_value_bytes: size of the value of each; -1 for null.
        batch_records: how many records each request carries.
    """

    value_bytes: int = 100
    key_bytes: int = 0
    headers: int = 0
    header_key_bytes: int = 0
    header_value_bytes: int = 0
    batch_records: int = 1


class LatencyPlan(NamedTuple):
    """What is measured.

    Attributes:
        acks: which take turns: 0, 1 and ACKS_ALL; empty where nothing is written.
        interval_ns: between one request of the schedule and the next.
        duration_ns: how long the schedule is, after the warm-up.
        warm_up_ns: how long before that requests are sent whose latencies do not count.
        records: what is written.
        is_end_to_end: whether what is written is read as well, and its offsets are committed.
        sweep: the settings of fetches to compare; empty for none.
        max_bytes: how much is written and fetched at the most.
    """

    acks: Sequence[int] = (0, 1, ACKS_ALL)
    interval_ns: int = 10 * _MS
    duration_ns: int = 15 * _S
    warm_up_ns: int = 2 * _S
    records: RecordShape = RecordShape()
    is_end_to_end: bool = True
    sweep: Sequence[FetchWait] = ()
    max_bytes: int = 1 << 30


class LatencyTarget(NamedTuple):
    """The topic that is used.

    Attributes:
        topic: its name.
        topic_id: sixteen bytes; zeros if it has none.
        leaders: the broker that leads each partition to be used.
    """

    topic: str
    topic_id: bytes
    leaders: Mapping[int, int]

    def partition_of(self, node_id: int) -> int:
        """Return the first partition that a broker leads."""
        return min(each for each, leader in self.leaders.items() if leader == node_id)

    @property
    def nodes(self) -> list[int]:
        """Return the brokers that lead the partitions."""
        return sorted(set(self.leaders.values()))
