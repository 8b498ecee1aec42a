"""The timings of records: when each was written, and when it was read.

Either may be known first: a consumer may read a record before its producer gets the answer.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from kdiag.diagnosis.latency.split import LatencySplit, OneWay, RequestTimes, split_end_to_end


class RecordStart(NamedTuple):
    """The start of a record.

    Attributes:
        due_ns: when its request was due.
        acks: of its request.
        node_id: the broker that it goes to.
    """

    due_ns: int
    acks: int
    node_id: int


OnArrival = Callable[[RecordStart, LatencySplit], None]


class _RecordTiming(msgspec.Struct):
    start: RecordStart
    produce: OneWay | None = None
    fetch: tuple[RequestTimes, int] | None = None
    on_arrival: list[OnArrival] = []


class RecordTimings:
    """The records that are sent and not yet both acknowledged and read."""

    def __init__(self, on_arrival: OnArrival) -> None:
        """Begin without records; `on_arrival` is called for each that has arrived."""
        self._on_arrival = on_arrival
        self._under_way: dict[int, _RecordTiming] = {}

    def __len__(self) -> int:
        return len(self._under_way)

    def begin(self, number: int, start: RecordStart) -> None:
        """Begin the timing of a record that is sent."""
        self._under_way[number] = _RecordTiming(start)

    def add_write(self, number: int, produce: OneWay) -> None:
        """Record that the request of a record was acknowledged."""
        timing = self._under_way.get(number)
        if timing is not None:
            timing.produce = produce
            self._maybe_end(number, timing)

    def add_read(
        self, number: int, times: RequestTimes, rtt_ns: int, on_arrival: OnArrival | None = None
    ) -> None:
        """Record that a consumer has read a record.

        Args:
            number: of the record.
            times: of the fetch that brought it.
            rtt_ns: the network's round trip on the fetch's connection.
            on_arrival: is called as well.
        """
        timing = self._under_way.get(number)
        if timing is not None and timing.fetch is None:
            timing.fetch = times, rtt_ns
            if on_arrival is not None:
                timing.on_arrival.append(on_arrival)
            self._maybe_end(number, timing)

    def give_up(self, number: int) -> None:
        """Drop a record that was not written."""
        self._under_way.pop(number, None)

    def _maybe_end(self, number: int, timing: _RecordTiming) -> None:
        """Report a record that was both written and read."""
        if timing.produce is None or timing.fetch is None:
            return
        del self._under_way[number]
        split = split_end_to_end(timing.start.due_ns, timing.produce, *timing.fetch)
        self._on_arrival(timing.start, split)
        for handle in timing.on_arrival:
            handle(timing.start, split)
