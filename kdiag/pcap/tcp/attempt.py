"""Connections that are no more than a SYN: a flood of them must not cost what connections cost.

What a connection needs to read bytes takes 2 kB, and a scan or a flood begins 100,000 a second. So
the first packets are kept as they are, until one comes that is no SYN; then the connection is made
and is given them, as if it had been there from the start.

    SYN               kept
    SYN again         kept
    SYN-ACK           kept
    ACK, RST, bytes   the connection is made of the four

An attempt that is never more is made into a connection for the moment of its end alone.
"""

from collections.abc import Callable
from typing import Final, Generic, NamedTuple, Protocol, TypeVar

from kdiag.exchange.model import Connection
from kdiag.pcap.kafka.frame_cutter import Start
from kdiag.pcap.tcp.reassembly import Moment
from kdiag.pcap.tcp.segments import Segments
from kdiag.pcap.tcp.silence import SilencedConnection
from kdiag.pcap.tcp.sorted_batch import ACK, FIN, NO_PAYLOAD, RST, SYN, SegmentRow
from kdiag.wire.frame import Frame

ATTEMPT_BYTES: Final = 1_000
"""What an attempt takes, with its places in the decoder's tables; measured."""

_MAX_ROWS: Final = 4
_NO_FRAME: Final = Frame(b"", 0, 0, 0)
_NO_SEGMENTS: Final = Segments.hole(0, 0, 0)


class Made(Protocol):
    """A connection that an attempt becomes."""

    @property
    def ended(self) -> SilencedConnection:
        """Return what is to be remembered of it."""
        ...

    def add_row(self, row: SegmentRow, segments: Segments) -> bool:
        """Handle a packet."""
        ...

    def conclude(self, moment: Moment, reason: str) -> None:
        """Announce its end."""
        ...


AnyMade = TypeVar("AnyMade", bound=Made)
Around = TypeVar("Around")
Ends = tuple[int, int]


def may_begin(row: SegmentRow) -> bool:
    """Return whether a first packet is no more than a SYN."""
    return row.flags & (SYN | ACK | FIN | RST) == SYN and row.payload == NO_PAYLOAD


def undescribed(row: SegmentRow) -> Connection:
    """Return a connection of which no more is known than its first packet."""
    return Connection(
        number=0,
        connection_id="",
        client="",
        broker="",
        first_ns=row.time_ns,
        last_ns=row.time_ns,
        first_packet=row.packet,
    )


class Attempt(Generic[Around, AnyMade]):
    """The first packets between two ends.

    Attributes:
        connection: its description, which the connection will share.
        endpoints: its ends by number, the lower one first.
        first_packet: number of its first packet.
        closed_ns, may_end_early, held_bytes, overlap_mismatches, strays: as of a connection.
    """

    __slots__ = ("_around", "_make", "_rows", "connection", "endpoints", "first_packet")

    closed_ns: Final = None
    may_end_early: Final = True
    held_bytes: Final = ATTEMPT_BYTES
    overlap_mismatches: Final = 0
    strays: Final = 0

    def __init__(
        self,
        make: Callable[[Around, Ends, SegmentRow, Connection], AnyMade],
        around: Around,
        endpoints: Ends,
        row: SegmentRow,
    ) -> None:
        """Begin with a SYN.

        Args:
            make: makes the connection of the next three, and its description.
            around: what all connections share.
            endpoints: its ends.
            row: the SYN.
        """
        self.connection = undescribed(row)
        self.endpoints = endpoints
        self.first_packet = row.packet
        self._make, self._around = make, around
        self._rows: tuple[SegmentRow, ...] = (row,)

    @property
    def last_ns(self) -> int:
        """Return the time of its last packet."""
        return max(row.time_ns for row in self._rows)

    @property
    def ended(self) -> SilencedConnection:
        """Return what is to be remembered of it when it is ended by idleness."""
        return self.begin().ended

    def add(self, row: SegmentRow, idle_ns: int) -> bool:
        """Keep a packet that is a SYN of the same attempt, or its answer; return whether it is."""
        first = self._rows[0]
        is_answer = bool(row.flags & ACK)
        if (
            not row.flags & SYN
            or row.flags & (FIN | RST)
            or row.payload != NO_PAYLOAD
            or len(self._rows) == _MAX_ROWS
            or (row.side == first.side) is is_answer
            or row.time_ns - self.last_ns > idle_ns
        ):
            return False
        same = next((each for each in self._rows if each.side == row.side), row)
        if same.sequence != row.sequence:
            return False
        self._rows += (row,)
        self.connection.last_ns = max(self.connection.last_ns, row.time_ns)
        return True

    def begin(self) -> AnyMade:
        """Return the connection, with the packets so far."""
        made = self._make(self._around, self.endpoints, self._rows[0], self.connection)
        for row in self._rows:
            made.add_row(row, _NO_SEGMENTS)
        return made

    def conclude(self, moment: Moment, reason: str, announcements: list[Start]) -> None:
        """End the attempt when its turn comes: it becomes a connection for no longer than that."""
        announcements.append(
            (moment.packet, _AttemptEnd(self, moment, reason, announcements), _NO_FRAME)
        )


class _AttemptEnd(NamedTuple, Generic[Around, AnyMade]):
    """The turn of an attempt's end."""

    attempt: Attempt[Around, AnyMade]
    moment: Moment
    reason: str
    announcements: list[Start]

    def begin(self, frame: Frame, /) -> None:
        """Make the connection, and have it end now."""
        self.attempt.begin().conclude(self.moment, self.reason)
        _, turn, _ = self.announcements.pop()
        turn.begin(frame)


def made_at(
    flows: dict[Ends, AnyMade | Attempt[Around, AnyMade]], endpoints: Ends
) -> AnyMade | None:
    """Return the connection between two ends; an attempt is made into one, in its place."""
    flow = flows.get(endpoints)
    if isinstance(flow, Attempt):
        flow = flows[endpoints] = flow.begin()
    return flow
