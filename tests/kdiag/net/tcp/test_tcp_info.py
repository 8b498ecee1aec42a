import socket
import struct
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from pathlib import Path

import pytest

from delays.delayed_path import Buffers, DelayedPath
from kdiag.net.tcp.tcp_info import SocketFacts, read_socket_facts, with_tcp_info
from tiers.cases import for_each

MS = 1_000_000
KIB = 1024
BUFFERS = SocketFacts(200 * KIB, 100 * KIB)
KERNEL_2_6_BYTES = 104
"""The size of `struct tcp_info` before it first grew."""


@pytest.fixture
def ends() -> Iterator[tuple[socket.socket, socket.socket]]:
    """Yield both ends of a connection over loopback."""
    with closing(socket.create_server(("127.0.0.1", 0))) as server:
        client = socket.create_connection(server.getsockname())
        accepted, _ = server.accept()
    with client, accepted:
        yield client, accepted


def test_a_connection_over_loopback_is_told_in_full(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    """Linux tells everything, and the round trip within one machine takes no millisecond."""
    client, accepted = ends
    client.sendall(bytes(100_000))
    assert len(accepted.recv(100_000, socket.MSG_WAITALL)) == 100_000
    facts = read_socket_facts(client.fileno())

    assert None not in facts._replace(delivery_rate_bytes_per_s=0)
    assert facts.rtt_ns is not None
    assert 0 < facts.rtt_ns < 20 * MS
    assert facts.min_rtt_ns is not None
    assert facts.min_rtt_ns < 5 * MS
    assert facts.acked_bytes is not None
    assert facts.acked_bytes <= 100_001  # the SYN counts
    assert read_socket_facts(accepted.fileno()).received_bytes == 100_000
    assert (facts.has_sack, facts.has_timestamps, facts.retransmits) == (True, True, 0)
    assert facts.congestion_control in {"reno", "cubic", "bbr", "dctcp"}


def test_what_one_end_scales_by_the_other_end_is_told_as_its_peers(
    ends: tuple[socket.socket, socket.socket],
) -> None:
    """The window that one end offers is that which the other may fill."""
    client, accepted = (read_socket_facts(each.fileno()) for each in ends)

    assert client.receive_window_scale == accepted.send_window_scale
    assert client.send_window_scale == accepted.receive_window_scale
    assert client.receive_window_bytes is not None
    assert accepted.peer_window_bytes is not None
    assert 0 < accepted.peer_window_bytes <= 1 << 20


def test_effective_buffers_are_those_that_were_set() -> None:
    """Linux says twice of what was asked for, which nobody would set."""
    with socket.socket() as sock:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 64 * KIB)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 32 * KIB)
        facts = read_socket_facts(sock.fileno())
        assert sock.fileno() >= 0

    assert facts.effective_send_buffer_bytes == 64 * KIB
    assert facts.effective_receive_buffer_bytes == 32 * KIB
    assert facts.rtt_ns is None
    assert facts.min_rtt_ns is None


def test_a_local_socket_has_buffers_alone() -> None:
    """It does not speak TCP."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        facts = read_socket_facts(ours.fileno())

    assert facts == SocketFacts(facts.send_buffer_bytes, facts.receive_buffer_bytes)
    assert facts.send_buffer_bytes > 0


def test_what_is_no_socket_is_refused() -> None:
    """The system's own error says so."""
    with Path("/dev/null").open() as file, pytest.raises(OSError, match="socket"):
        read_socket_facts(file.fileno())


@for_each("size", range(0, 281, 4))
def test_an_older_kernel_tells_what_it_knows(
    ends: tuple[socket.socket, socket.socket], size: int
) -> None:
    """Each fact is there or None, and those that are there are the same."""
    info = ends[0].getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 512)
    whole, part = with_tcp_info(BUFFERS, info), with_tcp_info(BUFFERS, info[:size])

    assert all(few in (None, full) for few, full in zip(part, whole, strict=True))
    assert (part.rtt_ns is not None) == (size >= 72)
    assert (part.retransmits is not None) == (size >= KERNEL_2_6_BYTES)
    assert (part.peer_window_bytes is not None) == (size >= 232)


def test_lost_window_scaling_is_no_scale() -> None:
    """Without the option the scale of zero would look like one that was agreed on."""
    with_scale = struct.pack("=BBBBBBBB", 1, 0, 0, 0, 0, 7, 0x00, 0)
    without = struct.pack("=BBBBBBBB", 1, 0, 0, 0, 0, 3, 0x00, 0)

    assert with_tcp_info(BUFFERS, with_scale).send_window_scale == 0
    assert with_tcp_info(BUFFERS, without).send_window_scale is None
    assert with_tcp_info(BUFFERS, without).receive_window_scale is None


@pytest.mark.bench
def test_the_round_trip_of_a_delayed_link_is_told(
    make_delayed_path: Callable[..., DelayedPath],
) -> None:
    """It is twice the delay of one direction, and a little more."""
    with make_delayed_path("--delay-ms", "10") as path, ExitStack() as stack:
        client, broker = path._connect(Buffers(), stack)
        with client, broker:
            facts = read_socket_facts(client.fileno())

    assert facts.min_rtt_ns is not None
    assert 20 * MS <= facts.min_rtt_ns < 26 * MS


@pytest.mark.real
@pytest.mark.soak
def test_window_scaling_that_is_lost_on_the_way_is_missed_at_both_ends(
    make_delayed_path: Callable[..., DelayedPath],
) -> None:
    """Something between them has taken the offer out of their SYNs."""
    with (
        make_delayed_path("--delay-ms", "1", "--strip-window-scale") as path,
        ExitStack() as stack,
    ):
        client, broker = path._connect(Buffers(), stack)
        with client, broker:
            ends = [read_socket_facts(each.fileno()) for each in (client, broker)]

    assert [(each.send_window_scale, each.receive_window_scale) for each in ends] == [
        (None, None),
        (None, None),
    ]
    assert all(each.send_mss for each in ends)
