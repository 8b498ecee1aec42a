"""One connection's segments, as they come -> `TcpFacts`.

Segments are kept until there are enough of them that whole columns pay. Then round trips are
measured, and with these the waits of each end. The SYNs bring the rest: their options (MSS, window
scale, SACK, timestamps), and the distance to both ends at once: the SYN comes back from the broker
as SYN/ACK, and that from the client as ACK.

What is known of round trips grows with each look, so the facts depend on where segments are cut.
They are cut by their order in the capture alone, after each 2,048: those of a connection are the
same however its packets are divided into batches, and whoever reads them.

Source: RFC 9293 section 3.1 (options), RFC 7323 (window scale, timestamps), RFC 2018 (SACK).
"""

from bisect import bisect_right
from collections.abc import Sequence
from operator import attrgetter
from typing import Final, NamedTuple

import numpy as np

from kdiag.exchange.tcp_facts import TcpFacts
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.tcp.direction import Columns, TcpDirectionTracker
from kdiag.pcap.tcp.sorted_batch import ACK, RST, SYN, SegmentRow, SortedBatch
from kdiag.pcap.tcp.waits import Integers

_END: Final = 0
_NO_OPERATION: Final = 1
_MSS: Final = 2
_WINDOW_SCALE: Final = 3
_SACK_PERMITTED: Final = 4
_TIMESTAMPS: Final = 8
_LEAST_BYTES: Final = 2
_SIZES: Final = {_MSS: 4, _WINDOW_SCALE: 3, _SACK_PERMITTED: 2, _TIMESTAMPS: 10}
_MOST_SHIFT: Final = 14
_CHUNK_ROWS: Final = 2048
_ENOUGH_ROWS: Final = _CHUNK_ROWS + 256  # some packets come rows late: see `tcp.strays`
_LONGEST_NS: Final = 3_600_000_000_000
_LAST: Final = 1 << 62
_MOST_SYNS: Final = 1024
_TRACKER_BYTES: Final = 2_500  # these three are measured
_COLUMNS_BYTES: Final = 6_000  # of the 16 arrays that wait, however few rows they have
_ROW_BYTES: Final = 50


class SynOptions(NamedTuple):
    """The options of a SYN: the offer of its sender.

    Attributes:
        mss: the largest payload of a segment that it accepts; None without the option.
        window_scale: by how many bits it wants to shift its window; None if not at all.
        sack_permitted: whether it accepts selective acknowledgements.
        timestamps: whether it sends timestamps.
    """

    mss: int | None = None
    window_scale: int | None = None
    sack_permitted: bool = False
    timestamps: bool = False


def read_syn_options(options: bytes) -> SynOptions:
    """Return the options of a SYN; those behind a senseless one are not read."""
    found: dict[int, bytes] = {}
    at = 0
    while at < len(options) and options[at] != _END:
        if options[at] == _NO_OPERATION:
            at += 1
            continue
        size = options[at + 1] if at + 1 < len(options) else 0
        if size < _LEAST_BYTES or at + size > len(options):
            break
        if size == _SIZES.get(options[at]):
            found.setdefault(options[at], options[at + 2 : at + size])
        at += size
    mss, shift = found.get(_MSS), found.get(_WINDOW_SCALE)
    return SynOptions(
        None if mss is None else int.from_bytes(mss),
        None if shift is None else min(shift[0], _MOST_SHIFT),
        _SACK_PERMITTED in found,
        _TIMESTAMPS in found,
    )


class Syn(NamedTuple):
    """The SYN of one end.

    Attributes:
        packet, time_ns: which packet, and when.
        side: who sent it.
        sequence, acknowledgment, window: its numbers, and its window field.
        is_answer: whether it acknowledges that of the other end.
        options: its offer; None where it was cut off.
    """

    packet: int
    time_ns: int
    side: int
    sequence: int
    acknowledgment: int
    window: int
    is_answer: bool
    options: SynOptions | None


class TcpTracker:
    """Follows one connection; side 0 sends from the lower endpoint."""

    def __init__(self) -> None:
        self._directions = TcpDirectionTracker(), TcpDirectionTracker()
        self._waiting: list[tuple[Columns, Columns]] = []
        self._rows = 0
        self._batch: SortedBatch | None = None
        self._places: list[int] = []
        self._waiting_syns: list[Syn] = []
        self._syns: list[Syn | None] = [None, None]
        self._repeated_syns = 0
        self._handshake_rtt_ns: list[int | None] = [None, None]
        self._last_ns = 0

    @property
    def held_bytes(self) -> int:
        """Return how much memory it takes, roughly: what was looked at is counted, not kept."""
        return _TRACKER_BYTES + len(self._waiting) * _COLUMNS_BYTES + self._rows * _ROW_BYTES

    def add_rows(self, batch: SegmentBatch, low: Integers, high: Integers) -> None:
        """Add the rows of a batch that either end sent, each in the order of the capture."""
        flags = batch.flags
        for side, rows in enumerate((low, high)):
            syns = rows[(flags[rows] & SYN) != 0].tolist()
            room = max(0, _MOST_SYNS - len(self._waiting_syns))
            self._waiting_syns.extend(_read_syn(side, batch, row) for row in syns[:room])
        low, high = (rows[(flags[rows] & (SYN | RST)) == 0] for rows in (low, high))
        self._waiting.append((_columns(batch, low), _columns(batch, high)))
        self._rows += len(low) + len(high)
        if self._rows >= _ENOUGH_ROWS:
            self._look(_ENOUGH_ROWS)

    def add_later(self, batch: SortedBatch, place: int) -> None:
        """Add a row of a batch, as that counts them, with others of it once `catch_up` is called.

        The facts of a connection that ends before have it too.
        """
        self._batch = batch
        self._places.append(place)

    def catch_up(self) -> None:
        """Add the rows that were to be added later."""
        batch, self._batch = self._batch, None
        if batch is not None:
            places = np.array(self._places, np.int64)
            self._places.clear()
            self.add_rows(batch.batch, *batch.sides_at(places))

    def add_row(self, row: SegmentRow) -> None:
        """Add a packet whose numbers did not fit at once; see `kdiag.pcap.tcp.strays`."""
        one = Columns(
            np.array([row.time_ns], np.int64),
            np.array([row.packet], np.int64),
            np.array([row.sequence], np.uint32),
            np.array([row.acknowledgment], np.uint32),
            np.array([row.flags & ACK > 0]),
            np.array([row.window], np.int64),
            np.array([row.size], np.int64),
            np.zeros(1, np.int64),
        )
        none = one.pick(np.zeros(1, np.bool_))
        self._waiting.append((none, one) if row.side else (one, none))
        self._rows += 1

    def facts(self, client_side: int) -> TcpFacts:
        """Return the facts of the connection, whose client is the given side."""
        self.catch_up()
        self._look(1)
        self._add_syns(_LAST)
        requests, responses = self._directions[client_side], self._directions[1 - client_side]
        syns = self._syns[client_side], self._syns[1 - client_side]
        facts = TcpFacts(
            requests=requests.facts(self._last_ns),
            responses=responses.facts(self._last_ns),
            client_rtt_ns=self._rtt_ns(client_side),
            broker_rtt_ns=self._rtt_ns(1 - client_side),
        )
        offers = [None if syn is None else syn.options for syn in syns]
        for options, receiving in zip(offers, (facts.responses, facts.requests), strict=True):
            if options is not None:
                receiving.mss, receiving.window_scale = options.mss, options.window_scale
        if offers[0] is not None and offers[1] is not None:
            facts.has_handshake = True
            facts.has_sack = offers[0].sack_permitted and offers[1].sack_permitted
            facts.has_timestamps = offers[0].timestamps and offers[1].timestamps
        return facts

    def _add_syns(self, last_packet: int) -> None:
        """Read the SYNs up to a packet, in the order of the capture."""
        waiting = sorted(self._waiting_syns, key=attrgetter("packet"))
        count = bisect_right(waiting, last_packet, key=attrgetter("packet"))
        for syn in waiting[:count]:
            self._add_syn(syn)
        self._waiting_syns = waiting[count:]

    def _add_syn(self, syn: Syn) -> None:
        """Read the offer of a SYN, and time it."""
        side = syn.side
        if self._syns[side] is not None:
            self._repeated_syns += 1
            return
        self._syns[side], other = syn, self._syns[1 - side]
        mine, answers = self._directions[side], self._directions[1 - side]
        mine.start(syn.sequence + 1)
        if syn.is_answer:
            answers.start(syn.acknowledgment)
            if other is not None and not self._repeated_syns:
                self._handshake_rtt_ns[side] = _elapsed_ns(other.time_ns, syn.time_ns)
        if syn.options is None or other is None or other.options is None:
            return
        shifts = [syn.options.window_scale, other.options.window_scale]
        is_scaled = None not in shifts
        answers.shift, mine.shift = (shift or 0 if is_scaled else 0 for shift in shifts)
        answers.add_syn_window(syn.time_ns, syn.window)

    def _look(self, least_rows: int) -> None:
        """Process the waiting segments, chunk by chunk, as long as there are so many."""
        if self._rows < least_rows:
            return
        low, high = (_in_order(part) for part in zip(*self._waiting, strict=True))
        packets = np.sort(np.concatenate((low.packet, high.packet)))
        while len(packets) >= least_rows:
            last = int(packets[min(_CHUNK_ROWS, len(packets)) - 1])
            packets = packets[np.searchsorted(packets, last, "right") :]
            (low_chunk, low), (high_chunk, high) = low.cut_behind(last), high.cut_behind(last)
            self._add_syns(last)
            self._look_at(low_chunk, high_chunk)
        self._waiting = [(low, high)]
        self._rows = len(packets)

    def _look_at(self, low: Columns, high: Columns) -> None:
        """Process segments of both ends."""
        low, high = self._after_last(low), self._after_last(high)
        self._end_handshake((low, high))
        times = [int(each.time_ns[-1]) for each in (low, high) if len(each.time_ns)]
        self._last_ns = max(self._last_ns, *times)
        seen = (
            self._directions[0].add_segments(low, high),
            self._directions[1].add_segments(high, low),
        )
        for side, (sent, answers) in enumerate(seen):
            self._directions[side].add_waits(sent, answers, self._rtt_ns(side) or 0)

    def _after_last(self, columns: Columns) -> Columns:
        """Return segments of which none has a time before one that was looked at."""
        time_ns = np.maximum.accumulate(np.maximum(columns.time_ns, self._last_ns))
        return columns._replace(time_ns=time_ns)

    def _end_handshake(self, sides: tuple[Columns, Columns]) -> None:
        """Measure from the SYN/ACK to the ACK that ends the handshake, once that has come."""
        for side, columns in enumerate(sides):
            syn = self._syns[1 - side]
            is_due = syn is not None and syn.is_answer and self._handshake_rtt_ns[side] is None
            if is_due and syn is not None and len(columns.packet) and not self._repeated_syns:
                self._handshake_rtt_ns[side] = _elapsed_ns(syn.time_ns, int(columns.time_ns[0]))

    def _rtt_ns(self, side: int) -> int | None:
        """Return the least round trip between the vantage point and an end."""
        known = (self._handshake_rtt_ns[side], self._directions[1 - side].ack_rtt_ns.least)
        return min((each for each in known if each is not None), default=None)


def _elapsed_ns(first_ns: int, last_ns: int) -> int:
    """Return the time between packets; clocks that jump make it nonsense, but never too large."""
    return min(max(0, last_ns - first_ns), _LONGEST_NS)


def _columns(batch: SegmentBatch, rows: Integers) -> Columns:
    return Columns(
        batch.time_ns[rows],
        batch.packet[rows],
        batch.sequence[rows],
        batch.acknowledgment[rows],
        (batch.flags[rows] & ACK) != 0,
        batch.window[rows].astype(np.int64),
        batch.wire_bytes[rows],
        np.zeros(len(rows), np.int64)
        if batch.identity is None
        else batch.identity[rows].astype(np.int64),
    )


def _in_order(parts: Sequence[Columns]) -> Columns:
    """Return segments of one end in the order of the capture."""
    columns = Columns(*map(np.concatenate, zip(*parts, strict=True)))
    if (columns.packet[1:] < columns.packet[:-1]).any():
        columns = columns.pick(np.argsort(columns.packet, kind="stable"))
    return columns


def _read_syn(side: int, batch: SegmentBatch, row: int) -> Syn:
    options = batch.options(row)
    return Syn(
        int(batch.packet[row]),
        int(batch.time_ns[row]),
        side,
        int(batch.sequence[row]),
        int(batch.acknowledgment[row]),
        int(batch.window[row]),
        bool(batch.flags[row] & ACK),
        None if options is None else read_syn_options(options),
    )
