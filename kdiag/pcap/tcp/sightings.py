"""Connections that a capture shows more than once: before and after NAT, or in two networks.

Who translates addresses changes addresses and ports, and leaves TCP's numbers and the bytes alone:

    10.0.0.5:41122 → 10.96.0.1:9092     SYN 2815..., SYN/ACK 4402..., first bytes "..."   listed
    10.0.0.5:41122 → 10.244.1.7:9092    SYN 2815..., SYN/ACK 4402..., first bytes "..."   linked

Two connections are linked if both initial sequence numbers are the same, within a minute, and what
came first on them is: the same bytes at the same number, or an end without any. Where a capture
starts in the middle of them, a packet must have both numbers and all its bytes in common with one
of the first few of the other. Numbers that no system chooses at random are no evidence: generated
captures have them. A proxy or load balancer that ends TCP itself chooses numbers of its own, so
its two connections stay two.

The one whose first bytes were captured first is listed; the packets of the others are passed over
from theirs on. Source: RFC 6528 (initial sequence numbers), RFC 3022 (NAT).
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final, NamedTuple, TypeVar
from zlib import crc32

import numpy as np

from kdiag.pcap.tcp.segments import Segments
from kdiag.pcap.tcp.sorted_batch import ACK, FIN, RST, SYN, FlowRows, SegmentRow, SortedBatch

_MODULUS: Final = 1 << 32
_BITS: Final = 32
_WITHIN_NS: Final = 60_000_000_000
_LEAST_RANDOM: Final = 1 << 20
_MOST_KNOWN: Final = 16_384
_MOST_LINKS: Final = 65_536
_MOST_SIGHTINGS: Final = 8
_LEAST_BYTES: Final = 16
_MOST_BYTES: Final = 64
_FIRST_FEW: Final = 4

_Key = TypeVar("_Key")
_Value = TypeVar("_Value")

Ends = tuple[int, int]
"""The ends of a connection, the lower one first."""


class Lead(NamedTuple):
    """The first packet of a connection that carries bytes, or ends it without any.

    Attributes:
        packet, time_ns: which, and when.
        source: the end that sent it.
        sequence, acknowledgment, size: its numbers, and how many bytes it carries.
        data: the first of these.
        checksum: of all of them.
    """

    packet: int
    time_ns: int
    source: int
    sequence: int
    acknowledgment: int
    size: int
    data: bytes
    checksum: int

    def is_same_as(self, other: "Lead") -> bool:
        """Return whether the bytes of both are the same as far as both have them."""
        count = min(len(self.data), len(other.data))
        is_empty = self.size == other.size == 0
        is_same = self.sequence == other.sequence and self.data[:count] == other.data[:count]
        return is_empty or (is_same and self.size > 0 and other.size > 0)


class Link(NamedTuple):
    """A connection that is another one once more.

    Attributes:
        listed: the ends of the one that is listed.
        again: those of this one, each in the place of the one that it stands for.
        numbers: the initial numbers of both directions, the client's first; None if not seen.
        packet: its first packet to be passed over.
        delay_ns: how much later than the listed one this one was seen to send, by listed end; None
            where that is not known.
    """

    listed: Ends
    again: Ends
    numbers: Ends | None
    packet: int
    delay_ns: tuple[int | None, int | None]

    @property
    def ends(self) -> Ends:
        """Return the ends of this one, the lower one first."""
        return min(self.again), max(self.again)

    def may_have(self, row: SegmentRow) -> bool:
        """Return whether a packet does not open another connection between the same ends."""
        if not row.flags & SYN:
            return True
        return self.numbers is not None and row.sequence in self.numbers


class _Handshake:
    """A connection whose handshake was seen, and perhaps its first bytes."""

    __slots__ = ("broker", "client", "group", "lead", "packet", "time_ns")

    def __init__(self, client: int, broker: int, packet: int, time_ns: int) -> None:
        """Begin with the SYN/ACK."""
        self.client = client
        self.broker = broker
        self.packet = packet
        self.time_ns = time_ns
        self.lead: Lead | None = None
        self.group: _SameNumbers | None = None

    @property
    def ends(self) -> Ends:
        return min(self.client, self.broker), max(self.client, self.broker)

    def find_lead(self, rows: Iterable[SegmentRow]) -> tuple[SegmentRow | None, bool]:
        """Return the first packet with bytes, or that ends it, and whether there can be none.

        There is none if bytes came before the handshake, or another connection after it.
        """
        assert self.group is not None
        numbers = self.group.numbers
        for row in rows:
            is_early = row.packet < self.packet
            if row.flags & SYN:
                if not is_early and row.sequence not in numbers:
                    return None, True
            elif is_early:
                if row.size and (row.sequence - 1) % _MODULUS in numbers:
                    return None, True
            elif row.size or row.flags & (FIN | RST):
                return row, False
        return None, False


class _SameNumbers:
    """The connections with the same initial numbers, the client's first."""

    __slots__ = ("candidates", "listed", "numbers")

    def __init__(self, numbers: Ends, first: _Handshake) -> None:
        self.numbers = numbers
        self.candidates = [first]
        self.listed: _Handshake | None = None


class _MidstreamPacket(NamedTuple):
    """One of the first few packets of a connection that the capture starts in the middle of."""

    ends: Ends
    lead: Lead


class Sightings:
    """Links the connections of a capture that are the same.

    Attributes:
        links: by the ends of those that are passed over.
    """

    def __init__(self, lead_of: Callable[[Ends], Lead | None]) -> None:
        """Begin before the first packet.

        Args:
            lead_of: returns the first packet with bytes of the connection that is open between two
                ends; None before that, or without a connection.
        """
        self.links: dict[Ends, Link] = {}
        self._lead_of = lead_of
        self._handshakes: dict[Ends, _Handshake] = {}
        self._watched: dict[Ends, list[_Handshake]] = {}
        self._young: dict[Ends, int] = {}
        self._midstream: dict[tuple[int, int, int], _MidstreamPacket] = {}
        self._over_ns: dict[Ends, int] = {}

    def look(
        self, batch: SortedBatch, flows: Iterable[FlowRows], is_open: Callable[[Ends], bool]
    ) -> dict[Ends, list[Link]]:
        """Return the links that the packets of a batch bring to light, by the ends passed over.

        Args:
            batch: the next packets, before any of them is added to its connection.
            flows: its connections.
            is_open: returns whether there is a connection between two ends already.
        """
        self._add_handshakes(batch)
        found: list[tuple[Ends, Lead, _Handshake | None, bool]] = []
        for rows in flows:
            ends = rows.low, rows.high
            if ends in self._watched:
                found += ((ends, lead, each, True) for each, lead in self._leads(batch, rows))
            elif ends in self._young or not (is_open(ends) or ends in self.links):
                is_first = not self._young.get(ends)
                for lead in self._first_few(batch, rows):
                    found.append((ends, lead, None, is_first))
                    is_first = False
        links: dict[Ends, list[Link]] = {}
        for ends, lead, candidate, is_first in sorted(found, key=lambda each: each[1].packet):
            if candidate is not None:
                link = self._decide(candidate, lead)
            else:
                link = self._decide_midstream(ends, lead, is_first=is_first and ends not in links)
            if link is not None:
                links.setdefault(link.ends, []).append(link)
        return links

    def begin(self, link: Link) -> None:
        """Pass over the packets between the ends of a link from now on."""
        _remember(self.links, link.ends, link, _MOST_LINKS)

    def first_of_others(self, link: Link, rows: Iterable[SegmentRow]) -> int | None:
        """Return how many packets between the ends of a link are to be passed over; None if all.

        The link ends with them: another connection begins between its ends.
        """
        for count, row in enumerate(rows):
            over_ns = self._over_ns.get(link.ends)
            if not link.may_have(row) or (over_ns is not None and row.time_ns > over_ns):
                del self.links[link.ends]
                self._over_ns.pop(link.ends, None)
                return count
            if row.flags & (FIN | RST):
                _remember(self._over_ns, link.ends, row.time_ns + _WITHIN_NS, _MOST_LINKS)
        return None

    def may_end(self, link: Link, rows: FlowRows) -> bool:
        """Return whether packets between the ends of a link need a closer look."""
        return not rows.is_plain or link.ends in self._over_ns

    def _add_handshakes(self, batch: SortedBatch) -> None:
        """Note the SYN/ACKs of a batch, and watch connections that have theirs in common."""
        segments = batch.batch
        rows = np.flatnonzero((segments.flags & (SYN | ACK | RST)) == SYN | ACK)
        if not len(rows):
            return
        columns = (
            segments.acknowledgment[rows],
            segments.sequence[rows],
            segments.destination[rows],
            segments.source[rows],
            segments.packet[rows],
            segments.time_ns[rows],
        )
        numbers = (each.tolist() for each in columns)
        for acknowledgment, sequence, *about in zip(*numbers, strict=True):
            initial = (acknowledgment - 1) % _MODULUS, sequence
            if min(initial) >= _LEAST_RANDOM:
                self._add_handshake(initial, _Handshake(*about))

    def _add_handshake(self, numbers: Ends, candidate: _Handshake) -> None:
        first = self._handshakes.get(numbers)
        if first is None or abs(candidate.time_ns - first.time_ns) > _WITHIN_NS:
            _remember(self._handshakes, numbers, candidate, _MOST_KNOWN)
            self._forget_handshakes(candidate.time_ns - 2 * _WITHIN_NS)
            return
        group = first.group or _SameNumbers(numbers, first)
        others = group.candidates
        if len(others) >= _MOST_SIGHTINGS or any(each.ends == candidate.ends for each in others):
            return
        if first.group is None:
            first.group = group
            self._watch(first)
        candidate.group = group
        others.append(candidate)
        self._watch(candidate)

    def _forget_handshakes(self, before_ns: int) -> None:
        """Forget what is too old to be seen again, though capture times may lag a little."""
        while True:
            oldest = next(iter(self._handshakes))
            if self._handshakes[oldest].time_ns >= before_ns:
                return
            del self._handshakes[oldest]

    def _watch(self, candidate: _Handshake) -> None:
        """Wait for the first bytes of a connection, unless they came already."""
        group, lead = candidate.group, self._lead_of(candidate.ends)
        assert group is not None
        if lead is None or (lead.sequence - 1) % _MODULUS not in group.numbers:
            others = self._watched.get(candidate.ends, [])
            _remember(self._watched, candidate.ends, [*others, candidate], _MOST_KNOWN)
        elif group.listed is None and lead.packet > candidate.packet:
            candidate.lead = lead
            group.listed = candidate

    def _leads(self, batch: SortedBatch, rows: FlowRows) -> Iterator[tuple[_Handshake, Lead]]:
        """Yield the leads of the watched connections between two ends, as far as they came."""
        ends = rows.low, rows.high
        waiting = []
        for candidate in self._watched.pop(ends):
            row, is_lost = candidate.find_lead(batch.rows(rows.first, rows.last))
            if row is not None:
                yield candidate, lead_of(batch.segments, ends, row)
            elif not is_lost:
                waiting.append(candidate)
        if waiting:
            self._watched[ends] = waiting

    def _first_few(self, batch: SortedBatch, rows: FlowRows) -> list[Lead]:
        """Return the next of the first few packets with bytes of a connection without a SYN."""
        ends = rows.low, rows.high
        count = self._young.get(ends, 0)
        leads = []
        for row in batch.rows(rows.first, rows.last):
            if row.flags & (SYN | RST) or count == _FIRST_FEW:
                count = _FIRST_FEW
                break
            if row.size and row.payload >= 0:
                count += 1
                leads.append(lead_of(batch.segments, ends, row))
        self._young.pop(ends, None)
        if count < _FIRST_FEW:
            _remember(self._young, ends, count, _MOST_KNOWN)
        return leads

    def _decide(self, candidate: _Handshake, lead: Lead) -> Link | None:
        """Return a link if the first bytes prove that a connection is another one once more."""
        assert candidate.group is not None
        candidate.lead = lead
        listed = candidate.group.listed
        if listed is None:
            candidate.group.listed = candidate
            return None
        assert listed.lead is not None
        if not lead.is_same_as(listed.lead):
            return None
        delays = (lead.time_ns - listed.lead.time_ns, candidate.time_ns - listed.time_ns)
        is_clients = lead.source == candidate.client
        pairs = sorted(
            [
                (listed.client, candidate.client, delays[0] if is_clients else None),
                (listed.broker, candidate.broker, delays[1]),
            ]
        )
        return _link(pairs, candidate.group.numbers, lead.packet)

    def _decide_midstream(self, ends: Ends, lead: Lead, *, is_first: bool) -> Link | None:
        """Return a link if a packet was seen between other ends; note it otherwise."""
        is_evidence = len(lead.data) >= _LEAST_BYTES
        if not is_evidence or min(lead.sequence, lead.acknowledgment) < _LEAST_RANDOM:
            return None
        numbers = lead.sequence, lead.acknowledgment, lead.size
        known = self._midstream.get(numbers)
        if known is None or abs(lead.time_ns - known.lead.time_ns) > _WITHIN_NS:
            _remember(self._midstream, numbers, _MidstreamPacket(ends, lead), _MOST_KNOWN)
            return None
        if known.ends == ends or not is_first or lead.checksum != known.lead.checksum:
            return None
        there, here = known.lead.source, lead.source
        delay_ns = lead.time_ns - known.lead.time_ns
        others = sum(known.ends) - there, sum(ends) - here
        self._young.pop(ends, None)
        return _link(sorted([(there, here, delay_ns), (*others, None)]), None, lead.packet)


def lead_of(segments: Segments, ends: Ends, row: SegmentRow) -> Lead:
    """Return a packet of a connection as its lead."""
    data = segments.piece(row.payload).data if row.payload >= 0 else b""
    return Lead(
        row.packet,
        row.time_ns,
        ends[row.side],
        row.sequence,
        row.acknowledgment,
        row.size,
        data[:_MOST_BYTES],
        crc32(data),
    )


def _link(pairs: Sequence[tuple[int, int, int | None]], numbers: Ends | None, packet: int) -> Link:
    """Return a link.

    Args:
        pairs: each end of the listed connection, that which stands for it in the other one, and
            how much later packets of it were seen there; the lower listed end first.
        numbers: the initial ones.
        packet: the first packet to be passed over.
    """
    (low, for_low, low_ns), (high, for_high, high_ns) = pairs
    return Link((low, high), (for_low, for_high), numbers, packet, (low_ns, high_ns))


def _remember(known: dict[_Key, _Value], key: _Key, value: _Value, most: int) -> None:
    """Put something into a dictionary, and drop the oldest if there are too many."""
    known.pop(key, None)
    known[key] = value
    if len(known) > most:
        del known[next(iter(known))]
