"""One TCP connection in a capture: its beginning, its end, and the bytes of both ends.

The end that sends the SYN is the client; else the bytes decide (`pcap.content`), or the ports.
"""

from functools import partial
from typing import TYPE_CHECKING, Final

from kdiag.exchange.model import Connection, Gap, Sighting, TlsFault
from kdiag.pcap.content import Content, Surroundings, Unresolved
from kdiag.pcap.ending import Ending
from kdiag.pcap.kafka.frame_cutter import TLS_INSTEAD
from kdiag.pcap.kafka.frame_stream import Skip
from kdiag.pcap.memory_budget import CONNECTION_BYTES
from kdiag.pcap.tcp.attempt import undescribed
from kdiag.pcap.tcp.extent import Extent, stream_origin
from kdiag.pcap.tcp.reassembly import Moment, Reassembly, distance
from kdiag.pcap.tcp.segments import Segments
from kdiag.pcap.tcp.sightings import Lead, Link, lead_of
from kdiag.pcap.tcp.silence import SilencedConnection
from kdiag.pcap.tcp.sorted_batch import (
    ACK,
    FIN,
    LEFT_OUT,
    NO_PAYLOAD,
    NONE_SEEN,
    RST,
    SYN,
    FlowRows,
    SegmentRow,
)
from kdiag.pcap.tcp.strays import Stray, Strays, most_bytes, window_bytes
from kdiag.pcap.tls.problem import BROKER_SPEAKS_TLS
from kdiag.wire.frame import LENGTH_BYTES, Frame

if TYPE_CHECKING:
    from kdiag.pcap.tcp.tracker import TcpTracker

LINGER_NS: Final = 1_000_000_000
"""How long after its end packets still belong to a connection."""

DISPLACED_NS: Final = 60_000_000_000
"""How long a connection may go on after packets of another one between the same ends."""

_MODULUS: Final = 1 << 32
_CONTROL: Final = FIN | SYN | RST
_PORT_MASK: Final = 0xFFFF
_NO_FRAME: Final = Frame(b"", 0, 0, 0)
_NO_SEGMENTS: Final = Segments.hole(0, 0, 0)
_JUMP: Final = "jump"


class Flow:
    """A connection, from its first packet in the capture to its last.

    Attributes:
        connection: its description.
        endpoints: its ends by number, the lower one first.
        first_packet: number of its first packet.
        closed_ns: when it ended, by RST or by FINs of both ends, or when another one began between
            its ends; None while it is open.
        begun: packets with which another connection has begun between its ends, unnoticed.
        lead: the first packet that brought bytes; None before that, or if nobody wants it.
        tcp: follows its TCP; None if nobody wants that.
    """

    __slots__ = (
        "_around",
        "_client",
        "_content",
        "_early_gaps",
        "_ending",
        "_fitting_ns",
        "_links",
        "_reassemblies",
        "_reset",
        "_strays",
        "_window",
        "begun",
        "closed_ns",
        "connection",
        "endpoints",
        "first_packet",
        "lead",
        "tcp",
    )

    def __init__(
        self,
        around: Surroundings,
        endpoints: tuple[int, int],
        row: SegmentRow,
        connection: Connection | None = None,
    ) -> None:
        """Begin with the first packet between two endpoints, the lower one first.

        Args:
            around: what all connections share.
            endpoints: its ends.
            row: the packet.
            connection: its description, if there is one already.
        """
        self.first_packet = row.packet
        self.closed_ns: int | None = None
        self.endpoints = endpoints
        self.tcp = _new_tracker() if around.follows_tcp else None
        self.connection = connection or undescribed(row)
        self._around = around
        self._client: int | None = None
        self._reset: tuple[int, int] | None = None
        self._strays = Strays()
        self._window = 0
        self._fitting_ns = row.time_ns
        self.begun: list[Stray] = []
        self.lead: Lead | None = None
        self._links: list[Link] = []
        self._early_gaps: list[tuple[int, Gap]] = []
        self._ending = Ending()
        self._content = Content(around.rules, self.connection, self, has_syn=bool(row.flags & SYN))
        self._reassemblies = tuple(
            Reassembly(consumer, self, around.max_waiting_bytes)
            for consumer in self._content.consumers
        )
        if not row.flags & SYN:  # it tells which end is the client, and comes to that at once
            self._name()

    @property
    def is_plain(self) -> bool:
        """Return whether payloads in order may be added as whole runs."""
        low, high = self._reassemblies
        return (
            self.closed_ns is None
            and self._content.is_plain
            and low.is_straight
            and high.is_straight
        )

    @property
    def is_settled(self) -> bool:
        """Return whether it makes no difference for `conclude` at which moment that is."""
        return self._has_settled_bytes and not self._ending.awaits_answer

    @property
    def may_end_early(self) -> bool:
        """Return whether it may be ended at any time once it is silent; see `tcp.silence`."""
        return self.closed_ns is None and self._has_settled_bytes

    @property
    def _has_settled_bytes(self) -> bool:
        """Return whether no byte waits for others, in either direction."""
        low, high = self._reassemblies
        return low.is_settled and high.is_settled and self._content.is_settled

    @property
    def ended(self) -> SilencedConnection:
        """Return what is to be remembered of it when it is ended by idleness."""
        return SilencedConnection(self.connection.connection_id, self._client)

    def continue_from(self, former: SilencedConnection) -> None:
        """Go on where a connection was ended by idleness."""
        self.connection.continues = former.connection_id
        if former.client is not None:
            self._learn_client(former.client)

    @property
    def linger_until_ns(self) -> int:
        """Return until when packets belong to the closed connection."""
        assert self.closed_ns is not None
        return self.closed_ns + (DISPLACED_NS if self.is_displaced else LINGER_NS)

    @property
    def is_displaced(self) -> bool:
        """Return whether nothing but another connection between its ends has ended it."""
        return self.connection.close_reason == _JUMP

    @property
    def strays(self) -> int:
        """Return how many packets came whose numbers do not fit."""
        return self._strays.count + sum(each.stray_segments for each in self._reassemblies)

    @property
    def last_ns(self) -> int:
        """Return the time of its last packet."""
        return self.connection.last_ns

    @property
    def held_bytes(self) -> int:
        """Return how much memory it takes, roughly."""
        waiting = sum(each.held_bytes for each in self._reassemblies)
        followed = 0 if self.tcp is None else self.tcp.held_bytes
        return CONNECTION_BYTES + waiting + self._content.held_bytes + followed

    @property
    def overlap_mismatches(self) -> int:
        """Return how many segments contradicted bytes that came before."""
        return sum(each.overlap_mismatches for each in self._reassemblies)

    def unresolved_packet(self, oldest: int) -> int | None:
        """Return the first packet, from `oldest` on, that may start a frame not announced yet."""
        parts: list[Unresolved] = [*self._reassemblies, *self._content.parts]
        found = (part.unresolved_packet(oldest) for part in parts)
        return min((packet for packet in found if packet is not None), default=None)

    def is_over(self, time_ns: int) -> bool:
        """Return whether packets of this time belong to the connection no more."""
        return self.closed_ns is not None and time_ns > self.linger_until_ns

    def is_reused_by(self, row: SegmentRow) -> bool:
        """Return whether a row opens another connection between the same endpoints."""
        if not row.flags & SYN:
            return False
        mine, other = self._reassemblies[row.side], self._reassemblies[1 - row.side]
        if mine.first_sequence is not None:
            return row.sequence != mine.first_sequence
        if mine.offset == 0 and mine.next_sequence == (row.sequence + 1) % _MODULUS:
            return False  # what the other end acknowledged told its number before
        is_midstream = other.first_sequence is None and other.next_sequence is not None
        return mine.next_sequence is not None or (is_midstream and not row.flags & ACK)

    def add_runs(self, rows: FlowRows, segments: Segments) -> bool:
        """Add a contiguous run of each direction; return False if they are not next."""
        for sent, reassembly in zip(rows.directions, self._reassemblies, strict=True):
            if sent.first < sent.last and sent.sequence != reassembly.next_sequence:
                return False
        if not self._acknowledgments_fit(rows):
            return False
        self._window = max(self._window, rows.window)
        self._add_both(rows, segments)
        now = Moment(0, rows.last_ns)
        for side, sent in enumerate(rows.directions):
            if sent.acknowledged != NONE_SEEN:
                if self._ending.is_half_seen:
                    self._ending.see(side, sent.acknowledged)
                self._reassemblies[1 - side].handle_acknowledgment(sent.acknowledged, now)
        self.connection.last_ns = self._fitting_ns = max(self.connection.last_ns, rows.last_ns)
        if self._content.is_opening:
            self._decide(segments.packet[-1] if segments.packet else 0)
        return True

    def _add_both(self, rows: FlowRows, segments: Segments) -> None:
        """Add the runs of both directions.

        The responses come first. Where their place is lost they wait, and both go on in the order
        of packets: a search must not know requests that are still to come.
        """
        client = self._client_side()
        asked, answered = rows.directions[client], rows.directions[1 - client]
        asks, answers = self._reassemblies[client], self._reassemblies[1 - client]
        asks.duplicates += asked.duplicates
        answers.duplicates += answered.duplicates
        self._content.expect_runs(are_coming=True)
        if answered.first < answered.last:
            answers.add_run(segments, answered.first, answered.last)
        if not self._content.expect_runs(are_coming=False):
            if asked.first < asked.last:
                asks.add_run(segments, asked.first, asked.last)
            return
        for row in range(asked.first, asked.last):
            self._content.catch_up(segments.packet[row])
            asks.add_run(segments, row, row + 1)
        self._content.catch_up()

    def _acknowledgments_fit(self, rows: FlowRows) -> bool:
        """Return whether what both directions acknowledge was sent, as far as is known."""
        window = window_bytes(self._window)
        return all(
            sent.acknowledged == NONE_SEEN or other.reaches(sent.acknowledged, window)
            for sent, other in zip(rows.directions, reversed(self._reassemblies), strict=True)
        )

    def add_row(self, row: SegmentRow, segments: Segments) -> bool:
        """Handle one packet; return whether its numbers fit.

        If they do not, another connection may have begun: see `begun`.
        """
        fits, fits_other = self._judge(row)
        if not (fits and fits_other):
            self._put_aside(row, segments, fits=fits, fits_other=fits_other)
            return False
        self._window = max(self._window, row.window)
        self._fitting_ns = row.time_ns
        if self._ending.is_half_seen or row.flags & _CONTROL:
            self._ending.add(row)
        self._handle(row, segments)
        return True

    def owns(self, row: SegmentRow) -> bool:
        """Return whether both numbers of a packet lie where the connection was or goes on."""
        numbers = (row.sequence, row.acknowledgment)
        window = window_bytes(self._window)
        if row.flags & SYN or not row.flags & ACK:
            return False
        return all(
            self._reassemblies[side].next_sequence is not None
            and self._reassemblies[side].reaches(number, window)
            for side, number in zip((row.side, 1 - row.side), numbers, strict=True)
        )

    def displace(self, time_ns: int) -> None:
        """Note that another connection goes on between its ends, though it may have paused only."""
        self._close(_JUMP, time_ns)

    def resume(self) -> None:
        """Go on, unless the connection has ended by itself."""
        if self.is_displaced:
            self.closed_ns = self.connection.close_reason = None

    def _judge(self, row: SegmentRow) -> tuple[bool, bool]:
        """Return whether what a packet carries fits, and whether what it acknowledges does."""
        if row.flags & SYN:
            return True, True
        mine, other = self._reassemblies[row.side], self._reassemblies[1 - row.side]
        window = window_bytes(self._window)
        has_body = row.size > 0 or row.flags & (FIN | RST) > 0
        fits = not has_body or mine.reaches(row.sequence, window)
        if not row.flags & ACK or row.flags & RST or other.reaches(row.acknowledgment, window):
            return fits, True
        if fits and other.is_behind(row.acknowledgment):
            return True, True
        return mine.reaches(row.sequence, window), False

    def _handle(self, row: SegmentRow, segments: Segments) -> None:
        """Handle a packet that fits."""
        self.connection.last_ns = max(self.connection.last_ns, row.time_ns)
        mine, other = self._reassemblies[row.side], self._reassemblies[1 - row.side]
        sequence = row.sequence
        if row.flags & SYN:
            mine.handle_syn(sequence)
            self._learn_client(1 - row.side if row.flags & ACK else row.side)
            sequence = (sequence + 1) % _MODULUS
        if row.flags & RST:
            self._close("rst", row.time_ns)
            self._reset = self._reset or (row.side, row.sequence)
        else:
            if row.flags & ACK:
                if mine.first_sequence is not None:
                    other.expect(row.acknowledgment)
                other.handle_acknowledgment(row.acknowledgment, Moment(row.packet, row.time_ns))
            if row.payload >= 0:
                self._note_payload(row, segments)
                mine.add_segment(segments, row.payload, sequence)
            elif row.payload == LEFT_OUT:
                mine.duplicates += 1
            if row.flags & FIN:
                mine.handle_fin((sequence + row.size) % _MODULUS)
        if mine.is_finished and other.is_finished:
            self._close("fin", row.time_ns)
        if self._content.is_opening and (mine.offset or other.offset):
            self._decide(row.packet)

    def _put_aside(
        self, row: SegmentRow, segments: Segments, *, fits: bool, fits_other: bool
    ) -> None:
        """Put a packet aside that does not fit; see `add_row`."""
        if row.flags & RST:
            self._strays.count += 1
            return
        if fits and (row.size or row.flags & FIN):
            self._handle_late(row._replace(flags=row.flags & ~ACK), segments)
        piece = None if fits or row.payload < 0 else segments.piece(row.payload)
        most = most_bytes(window_bytes(self._window), row.time_ns - self._fitting_ns)
        found = self._strays.add(Stray(row, piece, fits, fits_other, most))
        if not found:
            return
        if not (self._may_be_later(found[0]) and self._may_be_later(found[-1])):
            self.begun = found
            return
        self._accept(found[0])
        for each in found[1:]:
            if all(self._judge(each.row)):
                self._accept(each)
            else:
                self._strays.count += 1
        self._fitting_ns = row.time_ns

    def add_stray(self, stray: Stray) -> None:
        """Handle a packet that another connection has put aside."""
        row, segments = stray.row, _NO_SEGMENTS
        if stray.piece is not None:
            row, segments = row._replace(payload=0), Segments.of_pieces([stray.piece])
        elif row.payload >= 0:
            row = row._replace(payload=NO_PAYLOAD)
        if self.add_row(row, segments) and self.tcp is not None:
            self.tcp.add_row(row)

    def _may_be_later(self, stray: Stray) -> bool:
        """Return whether a packet may be of this connection, behind bytes the capture lacks."""
        mine, other = self._reassemblies[stray.row.side], self._reassemblies[1 - stray.row.side]
        if not stray.fits and not stray.fits_other:
            return False
        if not stray.fits:
            return mine.lacks(stray.row.sequence, stray.most)
        return other.lacks(stray.row.acknowledgment, stray.most)

    def _accept(self, stray: Stray) -> None:
        """Handle a packet that was put aside; its bytes, if they fitted, are handled already."""
        row, piece = stray.row, stray.piece
        if piece is not None:
            self._handle_late(row._replace(payload=0), Segments.of_pieces([piece]))
        elif stray.fits:
            self._handle_late(row._replace(size=0, payload=NO_PAYLOAD, flags=ACK), _NO_SEGMENTS)
        else:
            self._handle_late(row, _NO_SEGMENTS)

    def _handle_late(self, row: SegmentRow, segments: Segments) -> None:
        """Handle a packet, or a part of it, that did not fit at once."""
        self._ending.add(row)
        self._handle(row, segments)
        if self.tcp is not None:
            self.tcp.add_row(row)

    def _note_payload(self, row: SegmentRow, segments: Segments) -> None:
        """Note the first bytes, and those of an end behind its own reset: that was forged."""
        if self.lead is None and self._around.keeps_leads:
            self.lead = lead_of(segments, self.endpoints, row)
        if self.closed_ns is None or self._reset is None:
            return
        side, sequence = self._reset
        if side == row.side and distance(sequence, row.sequence) >= 0:
            self.closed_ns = self.connection.close_reason = self._reset = None
            self._ending.forget_end()

    def repeats(self, row: SegmentRow) -> bool:
        """Return whether a row that was left out brings nothing new."""
        has_passed_on = self._reassemblies[row.side].has_passed_on(row.sequence, row.size)
        return has_passed_on and all(self._judge(row))

    def conclude(self, moment: Moment, reason: str) -> None:
        """End the connection: hand over its last frames as far as they came.

        Args:
            moment: the last packet of the capture so far.
            reason: for `Connection.close_reason`, if nothing closed it.
        """
        for each in self._reassemblies:
            each.flush(moment, f"nothing came after it: {reason or 'end of connection'}")
        self._decide(moment.packet, is_over=True)
        self._content.flush(is_tail_lost=any(each.is_tail_lost for each in self._reassemblies))
        if self.connection.close_reason is None:
            self.connection.close_reason = reason
        self._ending.describe(self.connection, self._client_side(), moment.time_ns)
        if self._around.extents is not None:
            self._around.extents.add(self._extent())
        self._around.rules.frames.starts.append((moment.packet, self, _NO_FRAME))

    def _extent(self) -> Extent:
        """Return where in the capture the connection and its bytes are."""
        low, high = self._reassemblies
        return Extent(
            self.connection,
            self.endpoints,
            self.first_packet,
            self._client_side(),
            (
                stream_origin(low.next_sequence, low.offset),
                stream_origin(high.next_sequence, high.offset),
            ),
            self._content.is_encrypted,
            self._content.preamble_bytes,
            self._content.preamble_secrets,
            self._links,
        )

    def begin(self, _: Frame) -> None:
        """Hand over the connection: its turn has come, after its last exchange."""
        asks, answers = self._reassemblies
        client = self._client_side()
        if client:
            asks, answers = answers, asks
        if self._content.has_open_ends:
            tell = partial(self._ending.reason, client=client, is_tail_lost=answers.is_tail_lost)
            lacks_requests = self._ending.lost_requests(client) or asks.is_tail_lost
            self._content.give_up(tell, lacks_requests=lacks_requests)
        self._content.close()
        connection = self.connection
        connection.request_bytes = asks.offset - asks.gap_bytes
        connection.response_bytes = answers.offset - answers.gap_bytes
        connection.duplicates = asks.duplicates + answers.duplicates
        connection.sightings = [self._sighting(link) for link in self._links]
        if self.tcp is not None:
            connection.tcp = self.tcp.facts(self._client_side())
            self.tcp = None
        self._around.ended.append(connection)
        self._content.let_go()
        for each in self._reassemblies:
            each.let_go()

    def add_link(self, link: Link) -> None:
        """Note a connection that is this one once more."""
        self._links.append(link)
        self.connection.sightings.append(self._sighting(link))

    def has_numbers(self, link: Link) -> bool:
        """Return whether it began with the numbers of a link, as far as its beginning was seen."""
        numbers = {each.first_sequence for each in self._reassemblies} - {None}
        return numbers <= set(link.numbers or ())

    def _sighting(self, link: Link) -> Sighting:
        """Return a connection that is this one once more in words."""
        client = self._client_side()
        delay_ns = link.delay_ns[1 - client]
        return Sighting(
            client=self._around.addresses.endpoint_text(link.again[client]),
            broker=self._around.addresses.endpoint_text(link.again[1 - client]),
            request_hop_ns=link.delay_ns[client],
            response_hop_ns=None if delay_ns is None else -delay_ns,
        )

    def _close(self, reason: str, time_ns: int) -> None:
        """Note that the connection has ended; packets may still come."""
        if self.closed_ns is None:
            self.closed_ns = time_ns
            self.connection.close_reason = reason

    def _decide(self, known: int, *, is_over: bool = False) -> None:
        """Detect the protocol, unless it is known."""
        while verdict := self._content.decide(known, self._client_side(), is_over=is_over):
            for each, consumer in zip(self._reassemblies, self._content.consumers, strict=True):
                each.consumer = consumer
            if verdict.client is not None:
                self._learn_client(verdict.client)
            for side, gap in self._early_gaps:
                gap.direction = self._direction_name(side)
                self._around.gaps.append(gap)
            self._early_gaps.clear()

    def _learn_client(self, side: int) -> None:
        """Note which side is the client, unless that is known."""
        if self._client is None:
            self._client = side
            self._name()
            self._content.learn_client(side)

    def _client_side(self) -> int:
        """Return the side that is, or is presumed to be, the client."""
        if self._client is not None:
            return self._client
        low, high = (endpoint & _PORT_MASK for endpoint in self.endpoints)
        return int(low < high)

    def _name(self) -> None:
        """Put the names of the ends into the connection, and see whether the user named a port."""
        client = self._client_side()
        connection = self.connection
        text_of = self._around.addresses.endpoint_text
        connection.client = text_of(self.endpoints[client])
        connection.broker = text_of(self.endpoints[1 - client])
        ends = f"{connection.client}-{connection.broker}"
        connection.connection_id = f"tcp-{ends}-{connection.first_ns}"
        self._content.learn_port(self.endpoints[1 - client] & _PORT_MASK)
        if not self._around.ports:
            return
        named = [endpoint & _PORT_MASK in self._around.ports for endpoint in self.endpoints]
        if any(named):
            is_known = self._client is not None or all(named)
            self._content.forced_client = client if is_known else named.index(False)

    def _direction_name(self, side: int) -> str:
        return "request" if side == self._client_side() else "response"

    def note_gap(self, reassembly: Reassembly, size: int, moment: Moment, reason: str) -> None:
        """Report bytes that the capture lacks."""
        side = int(reassembly is self._reassemblies[1])
        self._ending.lose(side, moment.time_ns)
        gap = Gap(
            connection=self.connection,
            direction=self._direction_name(side),
            time_ns=moment.time_ns,
            offset=reassembly.offset,
            size=size,
            reason=reason,
        )
        self.connection.gaps += 1
        self.connection.gap_bytes += size
        if self._content.is_decided:
            self._around.gaps.append(gap)
        else:
            self._early_gaps.append((side, gap))

    def note_skip(self, direction: str, skip: Skip) -> None:
        """Report bytes that no frame could be made of."""
        client = self._client_side()
        if skip.why == TLS_INSTEAD:  # those bytes are known to hold no frame
            if direction == "response":
                self.connection.tls_problem = BROKER_SPEAKS_TLS
                self.connection.tls_fault = TlsFault.TLS_PORT
                if skip.offset <= LENGTH_BYTES:  # nothing is missing: all of them are TLS
                    return
        else:
            side = client if direction == "request" else 1 - client
            self._ending.misread(side, skip.time_ns)
        self.connection.not_understood += 1
        self.connection.not_understood_bytes += skip.size
        self._around.gaps.append(skip.gap(self.connection, direction))


def _new_tracker() -> "TcpTracker":
    from kdiag.pcap.tcp.tracker import TcpTracker  # noqa: PLC0415 - 24 ms to load; few need it

    return TcpTracker()
