"""The plan of a latency measurement: which latencies, by which records, on which topic."""

from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.latency.fetch_waits import FetchWait

ACKS_ALL: Final = -1
"""The protocol's number for `acks=all`."""

ACKS_TEXTS: Final = {0: "0", 1: "1", ACKS_ALL: "all"}
"""The notation of clients' configurations."""

LEAST_RECORD_BYTES: Final = 16
"""A value has room for its writer and its number."""


class RecordShape(NamedTuple):
    """The shape of the records to write.

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
    """The plan of a measurement.

    Attributes:
        acks: take turns: 0, 1 and ACKS_ALL; empty to write nothing.
        interval_ns: between one request of the schedule and the next.
        duration_ns: how long the schedule is, after the warm-up.
        warm_up_ns: how long requests are sent before that; their latencies do not count.
        records: the shape of the records to write.
        is_end_to_end: whether the records are read as well, and their offsets committed.
        sweep: the settings of fetches to compare; empty for none.
        max_bytes: the most bytes to write and fetch.
    """

    acks: Sequence[int] = (0, 1, ACKS_ALL)
    interval_ns: int = 10 * NS_PER_MS
    duration_ns: int = 15 * NS_PER_S
    warm_up_ns: int = 2 * NS_PER_S
    records: RecordShape = RecordShape()
    is_end_to_end: bool = True
    sweep: Sequence[FetchWait] = ()
    max_bytes: int = 1 << 30


class LatencyTarget(NamedTuple):
    """The topic of a measurement.

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
