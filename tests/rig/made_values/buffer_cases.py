"""Paths and runs, as over a round trip of 20 ms, for tests of what is made of them."""

from kdiag.diagnosis.buffers.facts import (
    LEFT_TO_KERNEL,
    BrokerConfig,
    BrokerPath,
    KernelLimits,
    LoadDirection,
    LoadKind,
    ProofRun,
)
from kdiag.net.tcp.tcp_info import SocketFacts

MS = 1_000_000
KIB = 1 << 10
MIB = 1 << 20
GBIT = 1_000_000_000
KERNEL = LEFT_TO_KERNEL
LIMITS = KernelLimits(
    wmem_max=4 * MIB,
    rmem_max=4 * MIB,
    tcp_wmem=(4096, 16384, 4 * MIB),
    tcp_rmem=(4096, 131072, 32 * MIB),
)
FACTS = SocketFacts(
    send_buffer_bytes=87040,
    receive_buffer_bytes=131072,
    congestion_control="cubic",
    rtt_ns=21 * MS,
    min_rtt_ns=20 * MS,
    send_mss=1448,
    send_window_scale=7,
    receive_window_scale=7,
    retransmits=0,
)


def make_path(
    rtt_ms: float = 20, *, send: int | None = 102400, receive: int | None = 102400
) -> BrokerPath:
    """Return the path to broker 1, whose buffers are set so."""
    return BrokerPath(
        node_id=1,
        address="far:9092",
        rtt_ns=round(rtt_ms * MS),
        request_rtt_ns=round(rtt_ms * MS * 1.1),
        least_request_rtt_ns=round(rtt_ms * MS * 1.05),
        facts=FACTS,
        config=BrokerConfig(send, receive, 1048588),
    )


def make_run(  # noqa: PLR0913 - a parameter for each fact
    direction: LoadDirection,
    size_bytes: int,
    mb_per_s: float,
    *,
    window_bytes: int | None = None,
    load: LoadKind = LoadKind.FULL,
    retransmits: int = 0,
    throttled_ns: int = 0,
) -> ProofRun:
    """Return a run of a second."""
    kept = 128 * KIB if size_bytes == KERNEL else 2 * size_bytes
    facts = FACTS._replace(
        send_buffer_bytes=kept,
        receive_buffer_bytes=kept,
        peer_window_bytes=window_bytes,
        receive_window_bytes=window_bytes,
        retransmits=retransmits,
    )
    moved_bytes = round(mb_per_s * 1_000_000)
    return ProofRun(
        direction,
        load,
        size_bytes,
        moved_bytes,
        1_000_000_000,
        moved_bytes,
        24 * MIB,
        facts,
        throttled_ns,
    )
