"""How a connection began and ended, as evidence: why was a request not answered?

An end of the connection is proof only where the capture has all bytes: so first it is asked what
was lost, then who closed first. FIN and RST count in their order, and so does what came before
them; a broker that resets a connection which its client has closed is not at fault.

    the broker never seen, acknowledgments move     responses not captured at all
    responses lost since the request                answer not captured
    bytes not understood since the request          answer not understood
    later requests answered                         skipped
    RST or FIN of the broker first                  reset, closed without an answer
    FIN or RST of the client first                  client closed first
    none of these                                   in flight when the capture ended

A SYN is refused by a RST, or stays without an answer: then nothing was connected.
"""

from typing import Final

from kdiag.clock import NS_PER_S
from kdiag.exchange.model import Connection, Exchange, Protocol, UnansweredReason
from kdiag.pcap.tcp.sorted_batch import ACK, FIN, RST, SYN, SegmentRow

REFUSED: Final = "refused"
NO_ANSWER: Final = "no answer"

_ENOUGH_NS: Final = NS_PER_S
"""RFC 6298: a SYN is sent again after a second; so long an answer may take."""

_BOTH: Final = 3
_NONE: Final = (0, 0)
_END: Final = FIN | RST
IDLE: Final = "idle"
_REPLACED: Final = frozenset({"reused", "jump", IDLE})


class Ending:
    """The evidence about one connection; side 0 is the lower endpoint, 1 the higher one.

    Attributes:
        is_half_seen: whether no packet of one of the ends was seen so far.
    """

    __slots__ = (
        "_acknowledged",
        "_closer",
        "_closing_ns",
        "_is_reset",
        "_lost_ns",
        "_misread_ns",
        "_moves",
        "_seen",
        "_syn_ns",
        "_syns",
        "is_half_seen",
    )

    def __init__(self) -> None:
        self.is_half_seen = True
        self._seen = 0
        self._acknowledged: int | None = None
        self._moves = False
        self._syns: tuple[int, int] = _NONE
        self._syn_ns = 0
        self._lost_ns: tuple[int, int] = _NONE
        self._misread_ns: tuple[int, int] = _NONE
        self._closer: int | None = None
        self._closing_ns = 0
        self._is_reset = False

    def see(self, side: int, acknowledgment: int | None) -> None:
        """Note a packet of an end, and what it acknowledges, while the other was not seen."""
        self._seen |= 1 << side
        if self._seen == _BOTH:
            self.is_half_seen = False
        elif acknowledgment is not None:
            self._moves = self._moves or self._acknowledged not in {None, acknowledgment}
            self._acknowledged = acknowledgment

    def add(self, row: SegmentRow) -> None:
        """Note a packet; of FINs and RSTs the first one counts."""
        side, flags = row.side, row.flags
        if self.is_half_seen:
            self.see(side, row.acknowledgment if flags & ACK else None)
        if flags & SYN:
            low, high = self._syns
            self._syns = (low, high + 1) if side else (low + 1, high)
            self._syn_ns = self._syn_ns or row.time_ns
        if flags & _END and self._closer is None:
            self._closer, self._closing_ns = side, row.time_ns
            self._is_reset = flags & RST > 0

    def forget_end(self) -> None:
        """Forget a RST that proved to be forged."""
        self._closer = None

    def lose(self, side: int, time_ns: int) -> None:
        """Note that bytes of a direction were lost."""
        self._lost_ns = _with_later(self._lost_ns, side, time_ns)

    def misread(self, side: int, time_ns: int) -> None:
        """Note that bytes of a direction are here and not understood."""
        self._misread_ns = _with_later(self._misread_ns, side, time_ns)

    @property
    def awaits_answer(self) -> bool:
        """Return whether a SYN was not answered so far, so that time makes a difference."""
        return self.is_half_seen and self._syns != _NONE and self._acknowledged is None

    def describe(self, connection: Connection, client: int, now_ns: int) -> None:
        """Put into a connection without bytes that it was never made, and who closed any other.

        Args:
            connection: to describe.
            client: its side.
            now_ns: when the capture ended, or what came after the connection.
        """
        if self._closer is not None:
            connection.closed_by = "client" if self._closer == client else "broker"
            connection.closed_ns = self._closing_ns
        if connection.protocol is not Protocol.EMPTY:
            return
        connection.syns = syns = self._syns[client]
        if not syns or self._syns[1 - client]:
            return
        if self._is_reset and self._closer != client and not self._has_client_ack:
            connection.close_reason = REFUSED
        elif self.awaits_answer and (syns > 1 or now_ns - self._syn_ns >= _ENOUGH_NS):
            connection.close_reason = NO_ANSWER

    @property
    def _has_client_ack(self) -> bool:
        """Return whether an end acknowledged something before the other one was seen."""
        return self._acknowledged is not None

    def reason(
        self, exchange: Exchange, client: int, *, is_tail_lost: bool, is_skipped: bool
    ) -> UnansweredReason:
        """Return why a request was not answered.

        Args:
            exchange: the request.
            client: the client's side.
            is_tail_lost: whether the client acknowledged more responses than the capture has.
            is_skipped: whether later requests were answered.
        """
        assert exchange.request is not None
        is_unseen = self.is_half_seen and not self._seen & (1 << (1 - client))
        if is_unseen and (is_tail_lost or self._moves):
            return UnansweredReason.RESPONSES_NOT_CAPTURED
        if is_tail_lost or self._lost_ns[1 - client] >= exchange.request.first_byte_ns:
            return UnansweredReason.ANSWER_NOT_CAPTURED
        if self._misread_ns[1 - client] >= exchange.request.first_byte_ns:
            return UnansweredReason.ANSWER_NOT_UNDERSTOOD
        if is_skipped:
            return UnansweredReason.SKIPPED
        return self._reason_to_close(exchange.connection, client)

    def _reason_to_close(self, connection: Connection, client: int) -> UnansweredReason:
        """Return why a request was not answered of which nothing was lost."""
        if self._closer == client:
            return UnansweredReason.CLIENT_CLOSED
        if self._closer is not None:
            is_reset = self._is_reset
            return UnansweredReason.BROKER_RESET if is_reset else UnansweredReason.BROKER_CLOSED
        if connection.close_reason in _REPLACED:
            return UnansweredReason.END_NOT_CAPTURED
        return UnansweredReason.IN_FLIGHT

    def lost_requests(self, client: int) -> bool:
        """Return whether bytes of requests were lost, or are not understood."""
        return self._lost_ns[client] > 0 or self._misread_ns[client] > 0


def _with_later(times_ns: tuple[int, int], side: int, time_ns: int) -> tuple[int, int]:
    """Return the times of both sides, that of one side not before another time."""
    low, high = times_ns
    return (low, max(high, time_ns)) if side else (max(low, time_ns), high)
