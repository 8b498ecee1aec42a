"""The facts of TCP on a connection: round trips, losses, windows and waits.

Plain values: the capture decoder fills them in, a diagnosis reads them. All times are those of the
vantage point, the place where packets were recorded: near one end or between the two.

Source: RFC 9293 (TCP), RFC 7323 (window scale), RFC 6298 (timeouts, Karn's rule on round trips).
"""

from enum import StrEnum
from typing import Final

import msgspec

_NEAR_SHARE: Final = 0.1
_SAME_MACHINE_NS: Final = 200_000


class Vantage(StrEnum):
    """The place on the path where packets were recorded."""

    UNKNOWN = "unknown"
    CLIENT = "client"
    BROKER = "broker"
    BETWEEN = "between"
    LOCAL = "local"
    """The path is too short to tell the places apart."""


class WindowScaling(StrEnum):
    """Whether windows may exceed 64 KiB, which both ends must offer in their SYNs."""

    UNKNOWN = "unknown"
    """No SYN was seen."""
    ON = "on"
    CLIENT_ONLY = "client_only"
    BROKER_ONLY = "broker_only"
    OFF = "off"


class Spread(msgspec.Struct, frozen=True):
    """The spread of many values."""

    least: int
    median: int
    p95: int
    most: int


class TcpDirection(msgspec.Struct, kw_only=True):
    """One direction: the sender's segments, the receiver's windows, and the sender's waits.

    The five waits are the times between segments, by the reason that the sender did not send; they
    add up to the time from its first segment to its last.

    Attributes:
        bytes: payload bytes, each counted once.
        segments: segments with payload, retransmissions included.
        first_ns, last_ns: times of the first and the last segment, since 1970; 0 without any.
        retransmits, retransmitted_bytes: retransmitted segments, and their payload.
        timeouts: the retransmits after a silence: the sender waited for its timer.
        out_of_order: segments that others overtook.
        captured_twice: segments that were recorded twice, not sent twice.
        mss: the largest payload of a segment that the receiver accepts.
        window_scale: the shift of the window that the receiver offers, in bits.
        window: the receive window, in bytes; None if the scale is not known.
        zero_windows: how often the receiver closed its window completely.
        stalled_ns: how long it stayed closed.
        ack_rtt_ns: from a segment to its acknowledgement, from the vantage point to the receiver
            and back.
        in_flight: the sent and unacknowledged bytes, after each segment.
        idle_ns: everything was acknowledged: there was nothing to send.
        window_full_ns: the receiver's window was full.
        window_closed_ns: the same, and before it opened the window was less than half of its
            largest: the receiving program left bytes unread.
        recovery_ns: something had been lost.
        held_ns: none of these: bytes were in flight, and the window had room for more.
    """

    bytes: int = 0
    segments: int = 0
    first_ns: int = 0
    last_ns: int = 0
    retransmits: int = 0
    retransmitted_bytes: int = 0
    timeouts: int = 0
    out_of_order: int = 0
    captured_twice: int = 0
    mss: int | None = None
    window_scale: int | None = None
    window: Spread | None = None
    zero_windows: int = 0
    stalled_ns: int = 0
    ack_rtt_ns: Spread | None = None
    in_flight: Spread | None = None
    idle_ns: int = 0
    window_full_ns: int = 0
    window_closed_ns: int = 0
    recovery_ns: int = 0
    held_ns: int = 0


class TcpFacts(msgspec.Struct, kw_only=True):
    """The facts of TCP on one connection.

    Attributes:
        requests: from client to broker.
        responses: from broker to client.
        client_rtt_ns: least round trip from the vantage point to the client; None if not known.
        broker_rtt_ns: the same to the broker.
        has_handshake: whether the SYNs of both ends were seen.
        has_sack: whether both ends offered selective acknowledgements; None if not known.
        has_timestamps: whether both ends offered timestamps; None if not known.
    """

    requests: TcpDirection
    responses: TcpDirection
    client_rtt_ns: int | None = None
    broker_rtt_ns: int | None = None
    has_handshake: bool = False
    has_sack: bool | None = None
    has_timestamps: bool | None = None

    @property
    def rtt_ns(self) -> int | None:
        """Return the least round trip between the ends; None if not known."""
        if self.client_rtt_ns is None or self.broker_rtt_ns is None:
            return None
        return self.client_rtt_ns + self.broker_rtt_ns

    @property
    def retransmits(self) -> int:
        """Return the retransmitted segments of both directions."""
        return self.requests.retransmits + self.responses.retransmits

    @property
    def zero_windows(self) -> int:
        """Return how often either end closed its window."""
        return self.requests.zero_windows + self.responses.zero_windows

    @property
    def stalled_ns(self) -> int:
        """Return how long windows were closed, in both directions together."""
        return self.requests.stalled_ns + self.responses.stalled_ns

    @property
    def vantage(self) -> Vantage:
        """Return the place on the path where packets were recorded."""
        rtt_ns = self.rtt_ns
        if rtt_ns is None or self.client_rtt_ns is None or self.broker_rtt_ns is None:
            return Vantage.UNKNOWN
        if rtt_ns < _SAME_MACHINE_NS:
            return Vantage.LOCAL
        if self.client_rtt_ns < _NEAR_SHARE * rtt_ns:
            return Vantage.CLIENT
        return Vantage.BROKER if self.broker_rtt_ns < _NEAR_SHARE * rtt_ns else Vantage.BETWEEN

    @property
    def window_scaling(self) -> WindowScaling:
        """Return which ends offered to scale their windows."""
        if not self.has_handshake:
            return WindowScaling.UNKNOWN
        is_by_client = self.responses.window_scale is not None
        is_by_broker = self.requests.window_scale is not None
        if is_by_client and is_by_broker:
            return WindowScaling.ON
        if is_by_client or is_by_broker:
            return WindowScaling.CLIENT_ONLY if is_by_client else WindowScaling.BROKER_ONLY
        return WindowScaling.OFF


class WindowStall(msgspec.Struct):
    """How often and how long the receiver of a direction kept its window closed.

    Attributes:
        receiver, sender: `ip:port` of both.
        count: how often.
        closed_ns: all of the time.
        longest_ns: the longest.
        first_ns: when the longest began, since 1970.
    """

    receiver: str
    sender: str
    count: int = 0
    closed_ns: int = 0
    longest_ns: int = 0
    first_ns: int = 0

    def add(self, first_ns: int, last_ns: int) -> None:
        """Add a time."""
        self.count += 1
        self.closed_ns += last_ns - first_ns
        if last_ns - first_ns > self.longest_ns:
            self.longest_ns, self.first_ns = last_ns - first_ns, first_ns
