"""The facts of a path to a broker, and of the runs that tried buffers on it: plain values."""

from enum import StrEnum
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.tcp.limit import SHORT_PATH_NS
from kdiag.errors import KdiagError
from kdiag.net.tcp.sockets import SYSTEM_DEFAULT
from kdiag.net.tcp.tcp_info import SocketFacts

LEFT_TO_KERNEL: Final = SYSTEM_DEFAULT
"""The size of a buffer that nobody sets; Linux lets it grow with the path."""

BYTES_PER_MB: Final = 1_000_000

_BITS: Final = 8


class LoadDirection(StrEnum):
    """The direction of the records."""

    PRODUCE = "produce"
    FETCH = "fetch"


class LoadKind(StrEnum):
    """How much a run keeps in flight."""

    FULL = "full"
    """More than any buffer holds: buffers or the path are the limit."""
    DEFAULTS = "client_defaults"
    """The defaults of clients: 5 batches of 16 KiB, or one fetch of 1 MiB."""


class KernelLimits(NamedTuple):
    """The limits of this machine's kernel, in bytes; None for those that are not known.

    Attributes:
        wmem_max, rmem_max: the largest buffers that a program can set (`net.core`).
        tcp_wmem, tcp_rmem: least, initial and largest size of the kernel's own (`net.ipv4`).
    """

    wmem_max: int | None = None
    rmem_max: int | None = None
    tcp_wmem: tuple[int, int, int] | None = None
    tcp_rmem: tuple[int, int, int] | None = None

    def send_bytes(self, setting: int | None) -> int | None:
        """Return the effective send buffer of a setting, in the size that a program sets."""
        return _effective(setting, self.wmem_max, self.tcp_wmem)

    def receive_bytes(self, setting: int | None) -> int | None:
        """Return the effective receive buffer of a setting, in the size that a program sets."""
        return _effective(setting, self.rmem_max, self.tcp_rmem)


class BrokerConfig(NamedTuple):
    """The settings of a broker; None for those that it does not describe.

    Attributes:
        send_buffer_bytes, receive_buffer_bytes: `socket.send.buffer.bytes` and
            `socket.receive.buffer.bytes`.
        message_max_bytes: `message.max.bytes`.
        why_unknown: why it does not describe them; None if it does.
    """

    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    message_max_bytes: int | None = None
    why_unknown: str | None = None


class BrokerPath(NamedTuple):
    """The path to one broker.

    Attributes:
        node_id: the broker.
        address: its advertised address, `host:port`.
        rtt_ns: the least round trip of TCP, or the given one; None if not known.
        request_rtt_ns: the median time of small requests, from the last byte to the first of the
            response.
        least_request_rtt_ns: the least of these times.
        facts: the system's facts of a nearly idle connection.
        config: the settings of the broker.
        error: why it could not be reached.
    """

    node_id: int
    address: str
    rtt_ns: int | None = None
    request_rtt_ns: int | None = None
    least_request_rtt_ns: int | None = None
    facts: SocketFacts | None = None
    config: BrokerConfig = BrokerConfig()
    error: KdiagError | None = None

    @property
    def is_short(self) -> bool:
        """Return whether it is so short that buffers make no difference."""
        return self.rtt_ns is not None and self.rtt_ns < SHORT_PATH_NS

    def bdp_bytes(self, bits_per_s: int) -> int | None:
        """Return the bytes in flight at a rate: the bandwidth-delay product."""
        if self.rtt_ns is None:
            return None
        return bits_per_s * self.rtt_ns // _BITS // NS_PER_S


class ProofRun(NamedTuple):
    """One run of a proof, on a connection of its own.

    Attributes:
        direction: the direction of the records.
        load: how much it kept in flight.
        size_bytes: the size that SO_SNDBUF and SO_RCVBUF were set to, or `LEFT_TO_KERNEL`.
        moved_bytes: the payload of TCP that arrived during the measurement.
        time_ns: the duration of the measurement.
        total_bytes: the payload since the connection began.
        load_bytes: the bytes that it kept in flight, as far as there were records.
        facts: the system's facts of the connection at the end.
        throttled_ns: how long a quota of the broker held the connection.
    """

    direction: LoadDirection
    load: LoadKind
    size_bytes: int
    moved_bytes: int
    time_ns: int
    total_bytes: int
    load_bytes: int
    facts: SocketFacts
    throttled_ns: int = 0

    @property
    def mb_per_s(self) -> float:
        """Return the rate in 10**6 bytes per second."""
        return self.moved_bytes * 1_000 / self.time_ns if self.time_ns else 0.0


def _effective(
    setting: int | None, most: int | None, tuned: tuple[int, int, int] | None
) -> int | None:
    if setting is None:
        return None
    if setting == LEFT_TO_KERNEL:
        # The kernel doubles sizes that are set, but not its own.
        return None if tuned is None else tuned[2] // 2
    return setting if most is None else min(setting, most)
