"""One TCP connection in a capture: two directions, what they carry, when it ends.

Both directions go to an `Opening` until that has told the protocol. Then each gets a consumer for
the rest:

    Kafka    a `FrameStream`, both feeding one `Pairing`
    TLS      a `HelloReader`, for the name and the version
    other    nothing: the bytes are counted
"""

from collections.abc import Callable
from typing import Final, NamedTuple
from typing import Protocol as Protocol_

from kdiag.pcap.conversation import Announcements, Conversation
from kdiag.pcap.detect import is_bare_token
from kdiag.pcap.flow_rows import ACK, FIN, LEFT_OUT, NONE_SEEN, RST, SYN, FlowRows, Row
from kdiag.pcap.frame_stream import FrameLimits, FrameStream
from kdiag.pcap.opening import Opening, OpeningSide, Verdict
from kdiag.pcap.pairing import Pairing, Run
from kdiag.pcap.segments import Segments
from kdiag.pcap.stream import Direction, Moment
from kdiag.pcap.tls_hello import HelloReader
from kdiag.wire.connection import Connection, Gap, Protocol
from kdiag.wire.frame import Frame

LINGER_NS: Final = 1_000_000_000
"""How long after its end packets still belong to a connection."""

_MODULUS: Final = 1 << 32
_PORT_MASK: Final = 0xFFFF
_NO_FRAME: Final = Frame(b"", 0, 0, 0)
_MIDSTREAM: Final = "the capture starts in the middle of the connection"


class Surroundings(NamedTuple):
    """What a connection shares with the others of its run.

    Attributes:
        frame_limits: what bounds frames and searches.
        max_waiting_bytes: how much may wait for bytes that come out of order, per direction.
        run: numbers the exchanges and takes those that are complete.
        frames: where frames are announced.
        gaps: where gaps go.
        ended: where connections go after their last exchange.
        ports: those that carry Kafka whatever the bytes look like.
        endpoint_text: turns an endpoint into `ip:port`.
    """

    frame_limits: FrameLimits
    max_waiting_bytes: int
    run: Run
    frames: Announcements
    gaps: list[Gap]
    ended: list[Connection]
    ports: frozenset[int]
    endpoint_text: Callable[[int], str]


class Unresolved(Protocol_):
    """What may hold bytes that start a frame not announced yet."""

    def unresolved_packet(self, oldest: int) -> int | None:
        """Return the first packet, from `oldest` on, that brought such bytes."""
        ...


class Ignored:
    """Takes bytes that nobody reads."""

    def take(self, segments: Segments, first: int, last: int, known: int = 0) -> None:
        """Pass over the bytes."""


class Flow:
    """A connection, from its first packet in the capture to its last.

    Attributes:
        connection: what is told of it.
        endpoints: its ends by number, the lower one first.
        first_packet: number of its first packet.
        is_plain: whether payloads in order may be taken as whole stretches.
        closed_ns: when it ended, by RST or by FINs of both ends; None while it is open.
    """

    def __init__(self, around: Surroundings, endpoints: tuple[int, int], row: Row) -> None:
        """Begin with the first packet between two endpoints, the lower one first."""
        self.first_packet = row.packet
        self.is_plain = False
        self.closed_ns: int | None = None
        self._around = around
        self.endpoints = endpoints
        self._first_side = row.side
        self._opening: Opening | None = Opening(around.frame_limits, has_syn=bool(row.flags & SYN))
        self._conversation: Conversation | None = None
        self._hellos: tuple[HelloReader, HelloReader] | None = None
        self._client: int | None = None
        self._early_gaps: list[tuple[int, Gap]] = []
        self._directions = tuple(
            Direction(side, self._note_gap, around.max_waiting_bytes)
            for side in self._opening.sides
        )
        self.connection = Connection(
            number=0,
            connection_id="",
            client="",
            broker="",
            first_ns=row.time_ns,
            last_ns=row.time_ns,
        )
        self._name()

    @property
    def linger_until_ns(self) -> int:
        """Return until when packets belong to the closed connection."""
        assert self.closed_ns is not None
        return self.closed_ns + LINGER_NS

    @property
    def overlap_mismatches(self) -> int:
        """Return how many segments contradicted bytes that came before."""
        return sum(direction.overlap_mismatches for direction in self._directions)

    def unresolved_packet(self, oldest: int) -> int | None:
        """Return the first packet, from `oldest` on, that may start a frame not announced yet."""
        parts: list[Unresolved] = [*self._directions]
        if self._opening is not None:
            parts += self._opening.sides
        elif self._conversation is not None:
            parts += self._conversation.requests, self._conversation.responses
        found = (part.unresolved_packet(oldest) for part in parts)
        return min((packet for packet in found if packet is not None), default=None)

    def is_over(self, time_ns: int) -> bool:
        """Return whether packets of this time belong to the connection no more."""
        return self.closed_ns is not None and time_ns > self.linger_until_ns

    def is_reused_by(self, row: Row) -> bool:
        """Return whether a row opens another connection between the same endpoints."""
        if not row.flags & SYN:
            return False
        mine, other = self._directions[row.side], self._directions[1 - row.side]
        if mine.first_sequence is not None:
            return row.sequence != mine.first_sequence
        if mine.offset == 0 and mine.next_sequence == (row.sequence + 1) % _MODULUS:
            return False  # what the other end acknowledged told its number before
        is_midstream = other.first_sequence is None and other.next_sequence is not None
        return mine.next_sequence is not None or (is_midstream and not row.flags & ACK)

    def take_stretches(self, rows: FlowRows, segments: Segments) -> bool:
        """Take whole stretches of both directions; return False if they do not come next."""
        for half, direction in zip(rows.halves, self._directions, strict=True):
            if half.first < half.last and half.sequence != direction.next_sequence:
                return False
        now = Moment(segments.packet[-1], rows.last_ns) if segments.packet else Moment(0, 0)
        for half, direction in zip(rows.halves, self._directions, strict=True):
            direction.duplicates += half.duplicates
            if half.first < half.last:
                direction.take_stretch(segments, half.first, half.last)
        for side, half in enumerate(rows.halves):
            if half.acknowledged != NONE_SEEN:
                self._directions[1 - side].acknowledge(half.acknowledged, now)
        self.connection.last_ns = max(self.connection.last_ns, rows.last_ns)
        self._reconsider()
        return True

    def take_row(self, row: Row, segments: Segments) -> None:
        """Take one packet, whatever it is."""
        self.connection.last_ns = max(self.connection.last_ns, row.time_ns)
        mine, other = self._directions[row.side], self._directions[1 - row.side]
        moment = Moment(row.packet, row.time_ns)
        sequence = row.sequence
        if row.flags & SYN:
            mine.synchronize(sequence)
            self._learn_client(1 - row.side if row.flags & ACK else row.side)
            sequence = (sequence + 1) % _MODULUS
        if row.flags & RST:
            self._close("rst", row.time_ns)
        else:
            if row.flags & ACK:
                if mine.first_sequence is not None:
                    other.expect(row.acknowledgment)
                other.acknowledge(row.acknowledgment, moment)
            if row.payload >= 0:
                mine.take_segment(segments, row.payload, sequence)
            elif row.payload == LEFT_OUT:
                mine.duplicates += 1
            if row.flags & FIN:
                mine.end((sequence + row.size) % _MODULUS)
        if all(direction.is_finished for direction in self._directions):
            self._close("fin", row.time_ns)
        if self._opening is not None:
            self._decide(self._opening, row.packet)
        self._reconsider()

    def finish(self, moment: Moment, reason: str) -> None:
        """End the connection: hand over what there is of its last frames.

        Args:
            moment: the last packet of the capture so far.
            reason: why, in the words of `Connection.close_reason`; not used if it was closed.
        """
        for direction in self._directions:
            direction.finish(moment, f"nothing came after it: {reason}")
        if self._opening is not None:
            self._decide(self._opening, moment.packet, is_over=True)
        if self._conversation is not None:
            self._conversation.finish()
        if self.connection.close_reason is None:
            self.connection.close_reason = reason
        self._around.frames.starts.append((moment.packet, self._end, _NO_FRAME))

    def _end(self, _: Frame) -> None:
        """Hand over the connection, after its last exchange."""
        if self._conversation is not None:
            self._conversation.pairing.finish()
        asks, answers = self._directions
        if self._client_side():
            asks, answers = answers, asks
        connection = self.connection
        connection.request_bytes = asks.offset - asks.gap_bytes
        connection.response_bytes = answers.offset - answers.gap_bytes
        connection.duplicates = asks.duplicates + answers.duplicates
        for hello in (each.hello for each in self._hellos or ()):
            if hello is not None:
                connection.sni = hello.server_name if hello.is_client else connection.sni
                if connection.tls_version is None or not hello.is_client:
                    connection.tls_version = hello.version
        self._around.ended.append(connection)

    def _close(self, reason: str, time_ns: int) -> None:
        """Note that the connection has ended; packets may still come."""
        if self.closed_ns is None:
            self.closed_ns = time_ns
            self.connection.close_reason = reason

    def _reconsider(self) -> None:
        """Find out whether whole stretches may be taken from now on."""
        conversation = self._conversation
        self.is_plain = (
            self._opening is None
            and self.closed_ns is None
            and not (conversation is not None and conversation.is_searching)
            and all(each.is_straight for each in self._directions)
        )

    def _decide(self, opening: Opening, known: int, *, is_over: bool = False) -> None:
        """Give both directions their consumers once the protocol is known."""
        verdict = self._forced(opening) or opening.verdict(is_over=is_over)
        if verdict is None:
            return
        self._opening = None
        self.connection.protocol = verdict.protocol
        if verdict.client is not None:
            self._learn_client(verdict.client)
        if verdict.protocol is Protocol.KAFKA:
            self._converse(opening, known)
        elif verdict.protocol is Protocol.TLS:
            self._hellos = HelloReader(), HelloReader()
            for direction, side, hello in zip(
                self._directions, opening.sides, self._hellos, strict=True
            ):
                direction.consumer = hello
                _feed(hello, side, known)
        else:
            for direction in self._directions:
                direction.consumer = Ignored()
        for sender, gap in self._early_gaps:
            gap.direction = self._direction_name(sender)
            self._around.gaps.append(gap)
        self._early_gaps.clear()

    def _forced(self, opening: Opening) -> Verdict | None:
        """Return the verdict for a port that the user named, once there are bytes."""
        named = [endpoint & _PORT_MASK in self._around.ports for endpoint in self.endpoints]
        if not any(named) or not any(side.total_bytes for side in opening.sides):
            return None
        if opening.client is not None:
            return Verdict(Protocol.KAFKA, opening.client)
        return Verdict(Protocol.KAFKA, named.index(False)) if not all(named) else None

    def _converse(self, opening: Opening, known: int) -> None:
        """Give both directions to a conversation, beginning with what was kept."""
        client = self._client_side()
        first_bytes, _ = opening.sides[client].first_bytes()
        around = self._around
        pairing = Pairing(around.run, self.connection, is_sasl=is_bare_token(first_bytes))
        conversation = Conversation(pairing, around.frames, around.frame_limits, self._note_skip)
        self._conversation = conversation
        for side, stream in ((client, conversation.requests), (1 - client, conversation.responses)):
            kept = opening.sides[side]
            stream.skip(kept.skipped_bytes, kept.unread_bytes, _MIDSTREAM)
            if not kept.has_frame_start:
                stream.search(_MIDSTREAM)
            self._directions[side].consumer = stream
            _feed(stream, kept, known)

    def _learn_client(self, side: int) -> None:
        """Note which side is the client, unless that is known."""
        if self._client is None:
            self._client = side
            self._name()
        if self._opening is not None:
            self._opening.client = self._client

    def _client_side(self) -> int:
        """Return the side that is the client, or is taken for it: the one with the higher port."""
        if self._client is not None:
            return self._client
        low, high = (endpoint & _PORT_MASK for endpoint in self.endpoints)
        return int(low < high)

    def _name(self) -> None:
        """Put the ends' names into the connection."""
        client = self._client_side()
        connection = self.connection
        connection.client = self._around.endpoint_text(self.endpoints[client])
        connection.broker = self._around.endpoint_text(self.endpoints[1 - client])
        ends = f"{connection.client}-{connection.broker}"
        connection.connection_id = f"tcp-{ends}-{connection.first_ns}"

    def _direction_name(self, side: int) -> str:
        return "request" if side == self._client_side() else "response"

    def _note_gap(self, direction: Direction, size: int, moment: Moment, reason: str) -> None:
        """Report bytes that the capture lacks."""
        side = int(direction is self._directions[1])
        gap = Gap(
            connection=self.connection,
            direction=self._direction_name(side),
            time_ns=moment.time_ns,
            offset=direction.offset,
            size=size,
            reason=reason,
        )
        self.connection.gaps += 1
        self.connection.gap_bytes += size
        if self._opening is not None:
            self._early_gaps.append((side, gap))
        else:
            self._around.gaps.append(gap)

    def _note_skip(self, direction: str, offset: int, size: int, reason: str) -> None:
        """Report bytes that no frame could be made of."""
        self._around.gaps.append(
            Gap(
                connection=self.connection,
                direction=direction,
                time_ns=self.connection.last_ns,
                offset=offset,
                size=size,
                reason=reason,
            )
        )
        self.connection.gaps += 1
        self.connection.gap_bytes += size


def _feed(consumer: FrameStream | HelloReader, side: OpeningSide, known: int) -> None:
    """Give a consumer what was kept of a direction."""
    pieces = side.kept()
    if pieces:
        consumer.take(Segments.of_pieces(pieces), 0, len(pieces), known)
