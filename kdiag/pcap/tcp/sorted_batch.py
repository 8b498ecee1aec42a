"""A batch of segments, sorted by connection and direction, whole columns at a time.

In good weather one question is enough per direction and batch: do its payloads follow each other
without a break? That is one comparison of two columns. Only the rows of a
connection that answers no are looked at one by one.

A payload that repeats the one before it exactly is left out here, because a capture on several
interfaces (`-i any`, SPAN) has every packet twice and would be slow otherwise. Not so single bytes,
which may be keep-alive probes, nor where a connection begins or ends: there the first of two may
belong to another one.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.tcp.segments import Piece, Segments

FIN: Final = 1
SYN: Final = 2
RST: Final = 4
ACK: Final = 16

_MODULUS: Final = 1 << 32
_CONTROL: Final = FIN | SYN | RST
_FAR: Final = 1 << 20
"""How much one packet may acknowledge more, or less, than the one before without a closer look."""

Integers = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


class DirectionRows(NamedTuple):
    """The segments of a batch that belong to one direction.

    Attributes:
        first, last: its payloads in `SortedBatch.segments`.
        sequence: sequence number of the first of them.
        acknowledged: the highest acknowledgment number; `NONE_SEEN` without any packet.
        duplicates: payloads left out because they repeat the one before.
    """

    first: int
    last: int
    sequence: int
    acknowledged: int
    duplicates: int


class FlowRows(NamedTuple):
    """The segments of a batch that belong to one connection; side 0 sends from the lower endpoint.

    Attributes:
        low, high: the endpoints, by number.
        first, last: its rows, for `SortedBatch.rows`.
        last_ns: time of its last packet.
        window: the largest window field.
        is_plain: whether it has no SYN, FIN or RST, no cut packet, both directions' payloads follow
            each other, and no acknowledgment number jumps.
        directions: those of each side.
    """

    low: int
    high: int
    first: int
    last: int
    last_ns: int
    window: int
    is_plain: bool
    directions: tuple[DirectionRows, DirectionRows]


class SegmentRow(NamedTuple):
    """One TCP segment of a connection that needs a closer look.

    Attributes:
        side: which end sent it: 0 the lower endpoint, 1 the higher one.
        flags: TCP flags.
        sequence, acknowledgment: TCP's numbers.
        window: the window field.
        size: payload bytes on the wire.
        payload: its place in `SortedBatch.segments`; -1 without payload, -2 for one left out.
        packet, time_ns: which packet, and when.
    """

    side: int
    flags: int
    sequence: int
    acknowledgment: int
    window: int
    size: int
    payload: int
    packet: int
    time_ns: int


NO_PAYLOAD: Final = -1
LEFT_OUT: Final = -2
_WINDOW: Final = SegmentRow._fields.index("window")
NONE_SEEN: Final = -1


class SortedBatch:
    """The segments of a batch by connection, direction and packet.

    Attributes:
        batch: as it was read.
        segments: the payloads in that order, repeated ones left out.
    """

    def __init__(self, batch: SegmentBatch) -> None:
        self.batch = batch
        is_high = batch.source > batch.destination
        low = np.where(is_high, batch.destination, batch.source)
        high = np.where(is_high, batch.source, batch.destination)
        self._order = order = np.lexsort((is_high, high, low))
        self._side = is_high[order]
        self._low, self._high = low[order], high[order]
        is_new_flow = _changes(self._low) | _changes(self._high)
        self._flow_starts = np.flatnonzero(is_new_flow)
        self._is_new_direction = is_new_flow | _changes(self._side)
        self._direction = np.cumsum(self._is_new_direction) - 1
        self._flow = np.cumsum(is_new_flow) - 1
        is_control = (batch.flags[order] & _CONTROL) != 0
        self._has_control = np.logical_or.reduceat(is_control, self._flow_starts)
        self._find_acknowledged()
        self._find_payloads()

    def flows(self) -> Iterator[FlowRows]:
        """Yield the connections of the batch."""
        starts = self._flow_starts
        stops = [*starts[1:].tolist(), len(self._order)]
        time_ns = np.maximum.reduceat(self.batch.time_ns[self._order], starts)
        window = np.maximum.reduceat(self.batch.window[self._order], starts)
        low_counts = np.add.reduceat(~self._side, starts, dtype=np.int64)
        middles = starts + low_counts
        is_plain = self._plain_flows(starts, stops)
        low_directions = self._directions_between(starts, middles)
        high_directions = self._directions_between(middles, np.array(stops))
        columns: Any = zip(
            self._low[starts].tolist(),
            self._high[starts].tolist(),
            starts.tolist(),
            stops,
            time_ns.tolist(),
            window.tolist(),
            is_plain.tolist(),
            zip(low_directions, high_directions, strict=True),
            strict=True,
        )
        return map(FlowRows._make, columns)

    def rows(self, first: int, last: int) -> Iterator[SegmentRow]:
        """Yield rows of a connection in the order of the capture; see `FlowRows`."""
        columns: Any = zip(*(column[first:last] for column in self._row_columns), strict=True)
        return map(SegmentRow._make, columns)

    def left_out(self, row: SegmentRow) -> tuple[SegmentRow, Segments]:
        """Return a row that was left out with its payload, in segments of its own."""
        batch = self.batch
        at = int(batch.packet.searchsorted(row.packet))
        start = int(batch.payload_offset[at])
        data = memoryview(batch.data)[start : start + int(batch.payload_bytes[at])].tobytes()
        piece = Piece(data, row.size, row.packet, row.time_ns)
        return row._replace(payload=0), Segments.of_pieces([piece])

    def next_break(self, first: int, last: int) -> int:
        """Return the first row from `first` on that is not plain, or `last`."""
        at = bisect_left(self._breaks, first)
        return min(self._breaks[at], last) if at < len(self._breaks) else last

    def contiguous_runs(self, flow: FlowRows, first: int, last: int) -> FlowRows:
        """Return some rows of a connection, all of them plain, as if they were all it has."""
        return flow._replace(
            first=first,
            last=last,
            last_ns=max(self._row_columns[-1][first:last]),
            window=max(self._row_columns[_WINDOW][first:last]),
            directions=(self._direction_of(0, first, last), self._direction_of(1, first, last)),
        )

    def sides(self, flow: FlowRows) -> tuple[Integers, Integers]:
        """Return which rows of the batch are a connection's, those of either end for itself."""
        middle = flow.first + int(np.count_nonzero(~self._side[flow.first : flow.last]))
        return self._order[flow.first : middle], self._order[middle : flow.last]

    def sides_between(self, first: int, last: int) -> tuple[Integers, Integers]:
        """Return the same of some rows of a connection, as `rows` counts them."""
        return self._sides_of(self._place[first:last])

    def sides_at(self, rows: Integers) -> tuple[Integers, Integers]:
        """Return the same of any rows of a connection."""
        return self._sides_of(self._place[rows])

    def _sides_of(self, place: Integers) -> tuple[Integers, Integers]:
        is_high = self._side[place]
        return self._order[place[~is_high]], self._order[place[is_high]]

    def _direction_of(self, side: int, first: int, last: int) -> DirectionRows:
        """Return the segments of one side in some plain rows of a connection."""
        rows = self._place[first:last]
        rows = rows[self._side[rows] == side]
        if not len(rows):
            return DirectionRows(0, 0, 0, NONE_SEEN, 0)
        payload = self._payload[rows]
        kept = payload[payload >= 0]
        start, stop = (int(kept[0]), int(kept[-1]) + 1) if len(kept) else (0, 0)
        number = self.batch.acknowledgment[self._order[rows]]
        highest = int(number[0]) + int((number - number[0]).view(np.int32).max())
        return DirectionRows(
            start,
            stop,
            int(self._sequence[start]) if len(kept) else 0,
            highest % _MODULUS,
            int(np.count_nonzero(payload == LEFT_OUT)),
        )

    @cached_property
    def _payload(self) -> Integers:
        """Return each row's payload in `segments`, in the order of connection and direction."""
        payload = np.where(self._is_kept, self._kept_before, LEFT_OUT)
        return np.where(self._has_payload, payload, NO_PAYLOAD)

    @cached_property
    def _place(self) -> Integers:
        """Return which rows come one after the other in the order of connection and packet."""
        return np.lexsort((self._order, self._flow))

    @cached_property
    def _is_plain_row(self) -> Flags:
        """Return which rows follow the one before and have no flag, connection by connection."""
        payload = self._payload[self._place]
        is_plain: Flags = (self.batch.flags[self._order[self._place]] & _CONTROL) == 0
        is_plain &= ~self._has_far_number[self._place]
        has_payload = payload != NO_PAYLOAD
        kept = np.where(payload >= 0, payload, self._kept_before[self._place] - 1)
        is_plain[has_payload] &= ~self._is_broken[kept[has_payload]]
        return is_plain

    @cached_property
    def _breaks(self) -> list[int]:
        """Return the rows that are not plain."""
        found: list[int] = np.flatnonzero(~self._is_plain_row).tolist()
        return found

    @cached_property
    def _row_columns(self) -> list[list[Any]]:
        """Return the columns of `SegmentRow`, connection by connection."""
        batch, place = self.batch, self._place
        row = self._order[place]
        columns = (
            self._side[place].astype(np.int64),
            batch.flags[row],
            batch.sequence[row],
            batch.acknowledgment[row],
            batch.window[row],
            batch.wire_bytes[row],
            self._payload[place],
            batch.packet[row],
            batch.time_ns[row],
        )
        return [column.tolist() for column in columns]

    def _find_payloads(self) -> None:
        """Make the segments, and find where they break off."""
        batch, order = self.batch, self._order
        wire = batch.wire_bytes[order]
        self._has_payload = wire > 0
        candidates = np.flatnonzero(self._has_payload)
        sequence = batch.sequence[order[candidates]]
        wire = wire[candidates]
        is_first = _changes(self._direction[candidates])
        is_same = ~_changes(sequence) & ~_changes(wire) & ~is_first & (wire > 1)
        is_same &= ~self._has_control[self._flow[candidates]]
        kept = candidates[~is_same]
        self._is_kept = np.zeros(len(order), np.bool_)
        self._is_kept[kept] = True
        self._kept_before: Integers = np.cumsum(self._is_kept) - self._is_kept
        self._repeats_before = np.cumsum(self._has_payload & ~self._is_kept)
        self._sequence, wire, is_first = sequence[~is_same], wire[~is_same], is_first[~is_same]
        after = self._sequence + wire.astype(np.uint32)
        self._is_broken = ~is_first
        self._is_broken[1:] &= self._sequence[1:] != after[:-1]
        rows = order[kept]
        here = batch.payload_bytes[rows]
        begin = batch.payload_offset[rows]
        self._is_cut = here < wire
        self.segments = Segments(
            memoryview(batch.data),
            begin.tolist(),
            (begin + here).tolist(),
            [0, *np.cumsum(wire).tolist()],
            batch.packet[rows].tolist(),
            batch.time_ns[rows].tolist(),
            bool(self._is_cut.any()),
        )

    def _plain_flows(self, starts: Integers, stops: list[int]) -> Flags:
        """Return which connections are one contiguous run in each direction."""
        trouble = np.concatenate(([0], np.cumsum(self._is_broken | self._is_cut)))
        kept = np.concatenate((self._kept_before, [len(self._is_broken)]))
        is_whole: Flags = trouble[kept[stops]] == trouble[kept[starts]]
        has_far_number = np.logical_or.reduceat(self._has_far_number, starts)
        return is_whole & ~self._has_control & ~has_far_number

    def _directions_between(self, starts: Integers, stops: Integers) -> list[DirectionRows]:
        """Return the segments between the places, as one side of each connection."""
        kept = np.concatenate((self._kept_before, [len(self._sequence)]))
        first, last = kept[starts], kept[stops]
        repeats = np.concatenate(([0], self._repeats_before))
        sequence = np.concatenate((self._sequence, [np.uint32(0)]))[first]
        direction = self._direction[np.minimum(starts, len(self._direction) - 1)]
        acknowledged = np.where(
            starts < stops, self._acknowledged[direction].astype(np.int64), NONE_SEEN
        )
        columns: Any = zip(
            first.tolist(),
            last.tolist(),
            sequence.tolist(),
            acknowledged.tolist(),
            (repeats[stops] - repeats[starts]).tolist(),
            strict=True,
        )
        return [DirectionRows._make(each) for each in columns]

    def _find_acknowledged(self) -> None:
        """Find the highest acknowledgment number of each direction, modulo 2**32."""
        number = self.batch.acknowledgment[self._order]
        has_number = (self.batch.flags[self._order] & ACK) != 0
        starts = np.flatnonzero(self._is_new_direction)
        origin = number[starts]
        lead = np.where(has_number, (number - origin[self._direction]).view(np.int32), np.int32(0))
        self._acknowledged = origin + np.maximum.reduceat(lead, starts).view(np.uint32)
        step = np.zeros(len(lead), np.int64)
        step[1:] = lead[1:].astype(np.int64) - lead[:-1]
        step[starts] = 0
        self._has_far_number = (step > _FAR) | (step < -_FAR)


def _changes(column: npt.NDArray[Any]) -> Flags:
    """Return where a column differs from the value before; its first value always does."""
    changed = np.ones(len(column), np.bool_)
    changed[1:] = column[1:] != column[:-1]
    return changed


def in_time(batch: SegmentBatch) -> tuple[list[int], list[int] | None]:
    """Return the packets of a batch, and their times if these grow, as they nearly always do."""
    grows = bool((batch.time_ns[1:] >= batch.time_ns[:-1]).all())
    return batch.packet.tolist(), batch.time_ns.tolist() if grows else None


def first_late(
    batch: SegmentBatch, packets: list[int], times: list[int] | None, behind: int, until_ns: int
) -> int | None:
    """Return the first row behind a packet that is later than a time; see `in_time`."""
    first = bisect_right(packets, behind)
    if times is not None:
        at = bisect_right(times, until_ns, first)
        return at if at < len(times) else None
    is_late = batch.time_ns[first:] > until_ns
    return first + int(is_late.argmax()) if is_late.any() else None
