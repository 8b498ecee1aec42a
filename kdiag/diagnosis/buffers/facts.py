"""What was measured of the path to a broker, and of the buffers tried on it: plain values."""

from enum import StrEnum
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.tcp.limit import SHORT_PATH_NS
from kdiag.errors import KdiagError
from kdiag.net.tcp import SYSTEM_DEFAULT
from kdiag.net.tcp_info import SocketFacts

LEFT_TO_KERNEL: Final = SYSTEM_DEFAULT
"""The size of a buffer that nobody sets; Linux lets it grow with the path."""

BYTES_PER_MB: Final = 1_000_000

_BITS: Final = 8


class LoadDirection(StrEnum):
    """Which way the records go."""

    PRODUCE = "produce"
    FETCH = "fetch"


class LoadKind(StrEnum):
    """How much a run keeps on its way."""

    FULL = "full"
    """More than any buffer holds, so that buffers or the path are the limit."""
    DEFAULTS = "client_defaults"
    """What clients do unless told otherwise: 5 batches of 16 KiB, or one fetch of 1 MiB."""


class KernelLimits(NamedTuple):
    """What this machine's kernel allows, in bytes; None for what it does not tell.

    Attributes:
        wmem_max, rmem_max: the largest buffers that can be set (`net.core`).
        tcp_wmem, tcp_rmem: least, initial and largest size of those left to it (`net.ipv4`).
    """

    wmem_max: int | None = None
    rmem_max: int | None = None
    tcp_wmem: tuple[int, int, int] | None = None
    tcp_rmem: tuple[int, int, int] | None = None

    def send_bytes(self, setting: int | None) -> int | None:
        """Return the send buffer that a setting gives in the end, as sizes are set."""
        return _effective(setting, self.wmem_max, self.tcp_wmem)

    def receive_bytes(self, setting: int | None) -> int | None:
        """Return the receive buffer that a setting gives in the end, as sizes are set."""
        return _effective(setting, self.rmem_max, self.tcp_rmem)


class BrokerConfig(NamedTuple):
    """What a broker is set to; None for what it does not tell.

    Attributes:
        send_buffer_bytes, receive_buffer_bytes: `socket.send.buffer.bytes` and
            `socket.receive.buffer.bytes`.
        message_max_bytes: `message.max.bytes`.
        why_unknown: why it does not tell; None if it does.
    """

    send_buffer_bytes: int | None = None
    receive_buffer_bytes: int | None = None
    message_max_bytes: int | None = None
    why_unknown: str | None = None


class BrokerPath(NamedTuple):
    """The way to one broker.

    Attributes:
        node_id: the broker.
        address: where it advertises itself, `host:port`.
        rtt_ns: the least round trip of TCP, or that which was given; None if not known.
        request_rtt_ns: the median of small requests, from the last byte to the first of the answer.
        least_request_rtt_ns: the least of them.
        facts: what the system tells of a connection that is hardly used.
        config: what the broker is set to.
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
        """Return whether buffers make no difference on it."""
        return self.rtt_ns is not None and self.rtt_ns < SHORT_PATH_NS

    def bdp_bytes(self, bits_per_s: int) -> int | None:
        """Return how many bytes are on their way at a rate: the bandwidth-delay product."""
        if self.rtt_ns is None:
            return None
        return bits_per_s * self.rtt_ns // _BITS // NS_PER_S


class ProofRun(NamedTuple):
    """One run on a connection of its own.

    Attributes:
        direction: which way the records went.
        load: how much was kept on its way.
        size_bytes: what SO_SNDBUF and SO_RCVBUF were set to, or `LEFT_TO_KERNEL`.
        moved_bytes: payload of TCP that arrived while it was measured.
        time_ns: how long it was measured.
        total_bytes: payload since the connection began.
        load_bytes: how much was kept on its way, as far as there were records.
        facts: what the system told at the end.
        throttled_ns: for how long the broker left the connection alone, by a quota.
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
        # Sizes that are set are doubled, those of the kernel's own are not.
        return None if tuned is None else tuned[2] // 2
    return setting if most is None else min(setting, most)
