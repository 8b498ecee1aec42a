"""How a connection began and ended, as evidence: why was a request not answered?

An end of the connection is proof only where the capture has all bytes: so first it is asked what
was lost, then who closed first. FIN and RST count in their order, and so does what came before
them; a broker that resets a connection which its client has closed is not at fault.

    the broker never seen, acknowledgments move     responses not captured at all
    responses lost since the request                answer not captured
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
_REPLACED: Final = frozenset({"reused", "jump"})


class Ending:
    """The evidence about one connection; side 0 is the lower endpoint, 1 the higher one.

    Attributes:
        is_half_seen: whether no packet of one of the ends was seen so far.
    """

    __slots__ = (
        "_acknowledged",
        "_closer",
        "_closing_ns",
        "_has_ack",
        "_is_reset",
        "_lost_ns",
        "_seen",
        "_syn_ns",
        "_syns",
        "is_half_seen",
    )

    def __init__(self) -> None:
        self.is_half_seen = True
        self._seen = 0
        self._acknowledged: list[set[int]] = [set(), set()]
        self._has_ack = [False, False]
        self._syns = [0, 0]
        self._syn_ns = 0
        self._lost_ns: list[int | None] = [None, None]
        self._closer: int | None = None
        self._closing_ns = 0
        self._is_reset = False

    def see(self, side: int, acknowledgment: int | None) -> None:
        """Note a packet of an end, and what it acknowledges, while the other was not seen."""
        self._seen |= 1 << side
        self.is_half_seen = self._seen != _BOTH
        if acknowledgment is not None:
            self._has_ack[side] = True
            if len(self._acknowledged[side]) <= 1:  # two numbers show that they move
                self._acknowledged[side].add(acknowledgment)

    def add(self, row: SegmentRow) -> None:
        """Note a packet; of FINs and RSTs the first one counts."""
        self.see(row.side, row.acknowledgment if row.flags & ACK else None)
        if row.flags & SYN:
            self._syns[row.side] += 1
            self._syn_ns = self._syn_ns or row.time_ns
        if row.flags & (FIN | RST) and self._closer is None:
            self._closer, self._closing_ns = row.side, row.time_ns
            self._is_reset = row.flags & RST > 0

    def forget_end(self) -> None:
        """Forget a RST that proved to be forged."""
        self._closer = None

    def lose(self, side: int, time_ns: int) -> None:
        """Note that bytes of a direction were lost."""
        self._lost_ns[side] = max(self._lost_ns[side] or 0, time_ns)

    @property
    def awaits_answer(self) -> bool:
        """Return whether a SYN was not answered so far, so that time makes a difference."""
        return any(self._syns) and self.is_half_seen and not any(self._has_ack)

    def describe(self, connection: Connection, client: int, now_ns: int) -> None:
        """Put into a connection without bytes that it was never made, and who closed any other.

        Args:
            connection: to describe.
            client: its side.
            now_ns: when the capture ended, or what came after the connection.
        """
        connection.syns = self._syns[client]
        broker_rst = self._closer == 1 - client and self._is_reset
        if self._closer is not None:
            connection.closed_by = "client" if self._closer == client else "broker"
            connection.closed_ns = self._closing_ns
        if (
            connection.protocol is not Protocol.EMPTY
            or not self._syns[client]
            or self._syns[1 - client]
        ):
            return
        if broker_rst and not self._has_ack[client]:
            connection.close_reason = REFUSED
        elif self.awaits_answer:
            is_repeated = self._syns[client] > 1
            if is_repeated or now_ns - self._syn_ns >= _ENOUGH_NS:
                connection.close_reason = NO_ANSWER

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
        if is_unseen and (is_tail_lost or len(self._acknowledged[client]) > 1):
            return UnansweredReason.RESPONSES_NOT_CAPTURED
        lost_ns = self._lost_ns[1 - client]
        if is_tail_lost or (lost_ns is not None and lost_ns >= exchange.request.first_byte_ns):
            return UnansweredReason.ANSWER_NOT_CAPTURED
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
        """Return whether bytes of requests were lost."""
        return self._lost_ns[client] is not None
