"""The journeys of records: brings together when one was written and when it was read.

Either may be known first: a consumer may have a record before its producer has the answer.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from kdiag.diagnosis.latency.split import LatencySplit, OneWay, RequestTimes, split_end_to_end


class Start(NamedTuple):
    """Where a journey begins.

    Attributes:
        due_ns: when the record should be sent.
        acks: with which it is written.
        node_id: the broker that it goes to.
    """

    due_ns: int
    acks: int
    node_id: int


OnArrival = Callable[[Start, LatencySplit], None]


class _Journey(msgspec.Struct):
    start: Start
    produce: OneWay | None = None
    fetch: tuple[RequestTimes, int] | None = None
    on_arrival: list[OnArrival] = []


class Journeys:
    """The records that are on their way."""

    def __init__(self, on_arrival: OnArrival) -> None:
        """Have `on_arrival` told of each that has arrived."""
        self._on_arrival = on_arrival
        self._under_way: dict[int, _Journey] = {}

    def __len__(self) -> int:
        return len(self._under_way)

    def begin(self, number: int, start: Start) -> None:
        """Take that a record is sent."""
        self._under_way[number] = _Journey(start)

    def written(self, number: int, produce: OneWay) -> None:
        """Take how the record's request went."""
        journey = self._under_way.get(number)
        if journey is not None:
            journey.produce = produce
            self._maybe_end(number, journey)

    def read(
        self, number: int, moments: RequestTimes, rtt_ns: int, on_arrival: OnArrival | None = None
    ) -> None:
        """Take that a consumer has the record.

        Args:
            number: of the record.
            moments: of the fetch that brought it.
            rtt_ns: the round trip of the network on the fetch's connection.
            on_arrival: is told as well.
        """
        journey = self._under_way.get(number)
        if journey is not None and journey.fetch is None:
            journey.fetch = moments, rtt_ns
            if on_arrival is not None:
                journey.on_arrival.append(on_arrival)
            self._maybe_end(number, journey)

    def give_up(self, number: int) -> None:
        """Take that the record was not written."""
        self._under_way.pop(number, None)

    def _maybe_end(self, number: int, journey: _Journey) -> None:
        """Tell of a journey of which both ends are known."""
        if journey.produce is None or journey.fetch is None:
            return
        del self._under_way[number]
        split = split_end_to_end(journey.start.due_ns, journey.produce, *journey.fetch)
        self._on_arrival(journey.start, split)
        for tell in journey.on_arrival:
            tell(journey.start, split)
