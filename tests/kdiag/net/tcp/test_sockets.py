import errno
import socket
from contextlib import closing

import pytest

from client_ends.echo_server import Loopback
from kdiag.net.address import Address
from kdiag.net.tcp.sockets import (
    configure,
    ends_of,
    finish_connect,
    hang_up,
    peer_of,
    start_connect,
)

KIB = 1024


def options(sock: socket.socket) -> tuple[bool, bool, bool]:
    """Return whether a socket is non-blocking, has TCP_NODELAY and SO_KEEPALIVE."""
    return (
        sock.gettimeout() == 0,
        sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY) != 0,
        sock.getsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE) != 0,
    )


def test_a_socket_is_set_as_kafka_sets_it() -> None:
    """It never blocks, sends at once, and notices a peer that is gone."""
    with socket.socket() as sock:
        before = sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
        configure(sock)

        assert options(sock) == (True, True, True)
        assert sock.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF) == before


def test_buffer_sizes_are_set_if_they_are_given() -> None:
    """Linux keeps twice of what was asked for, for its own use."""
    with socket.socket() as sock:
        configure(sock, send_buffer_bytes=64 * KIB, receive_buffer_bytes=32 * KIB)
        sizes = [
            sock.getsockopt(socket.SOL_SOCKET, option)
            for option in (socket.SO_SNDBUF, socket.SO_RCVBUF)
        ]

    assert sizes in ([64 * KIB, 32 * KIB], [128 * KIB, 64 * KIB])


def test_both_ends_of_a_connection_are_set(loopback: Loopback) -> None:
    """That which connects and that which was accepted."""
    loopback.connect("1")
    for end in (loopback.client, loopback.server):
        (channel,) = end.selector.channels
        with socket.fromfd(channel.transport.fileno(), socket.AF_INET, socket.SOCK_STREAM) as sock:
            assert options(sock)[1:] == (True, True)
            assert not sock.getblocking() or sock.gettimeout() is None


def test_a_local_socket_is_no_internet_socket() -> None:
    """It has neither TCP_NODELAY nor a port."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        configure(ours)
        assert peer_of(ours) == ("local", 0)


def test_the_peer_of_a_connected_socket_is_known() -> None:
    """IPv6 has more than host and port, of which those two are told."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        with socket.create_connection(address) as sock:
            assert peer_of(sock) == address


def test_a_connect_that_cannot_begin_says_why() -> None:
    """The error has number and text of the system, and names the broker."""
    broadcast = Address("everybody", 9092, "255.255.255.255", socket.AF_INET)
    with socket.socket() as sock:
        configure(sock)
        with pytest.raises(OSError, match=r".+") as caught:
            start_connect(sock, broadcast)

    assert caught.value.errno in {errno.ENETUNREACH, errno.EACCES}
    assert caught.value.filename == "everybody:9092"


def test_a_connect_may_be_over_at_once_or_later(loopback: Loopback) -> None:
    """Where nothing has to be agreed on with the peer it is over: datagrams, some local sockets."""
    with socket.socket() as stream, socket.socket(type=socket.SOCK_DGRAM) as datagrams:
        stream.settimeout(0)
        assert not start_connect(stream, loopback.address)
        assert start_connect(datagrams, loopback.address)


def test_a_connect_that_has_failed_says_why() -> None:
    """The error has number and text of the system, and names the broker; it is told once."""
    with socket.socket() as silent, socket.socket() as sock:
        silent.bind(("127.0.0.1", 0))
        sock.settimeout(0)
        sock.connect_ex(silent.getsockname())
        with pytest.raises(ConnectionRefusedError) as caught:
            finish_connect(sock, "broker:9092")
        finish_connect(sock, "broker:9092")

    assert caught.value.filename == "broker:9092"


@pytest.mark.parametrize(
    ("family", "host"), [(socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")]
)
def test_a_connection_has_two_named_ends(family: socket.AddressFamily, host: str) -> None:
    """Each end calls itself what the other calls it, and the socket stays open."""
    with (
        closing(socket.create_server((host, 0), family=family)) as server,
        closing(socket.create_connection(server.getsockname()[:2])) as client,
        closing(server.accept()[0]) as accepted,
    ):
        local, peer = ends_of(client.fileno())
        assert ends_of(accepted.fileno()) == (peer, local)
        assert peer.endswith(f":{server.getsockname()[1]}")
        assert peer.startswith(f"[{host}]:" if ":" in host else f"{host}:")
        client.sendall(b"x")
        assert accepted.recv(1) == b"x"


def test_an_unconnected_socket_has_no_ends() -> None:
    """There is nobody at the other end to be named."""
    with socket.socket() as unconnected, pytest.raises(OSError, match="not connected"):
        ends_of(unconnected.fileno())


def test_whoever_waits_for_bytes_is_woken_by_a_hang_up() -> None:
    """Both ends read the end of the stream; a second hang-up does nothing."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        hang_up(ours)
        hang_up(ours)
        assert (ours.recv(1), theirs.recv(1)) == (b"", b"")
