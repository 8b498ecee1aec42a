import errno
import os
import selectors
import socket
import ssl
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdiag.net.tls.certificate import read_certificate
from kdiag.net.tls.transport import TlsTransport
from kdiag.net.transport import EndOfStreamError
from secure_ends.tls_sockets import (
    HOST,
    TRUSTING,
    Ends,
    client_side,
    connected,
    connected_by_tcp,
    read_all,
    server_side,
)
from tiers.cases import for_each

VERSIONS = ("TLSv1.2", "TLSv1.3")
LARGE = bytes(range(256)) * (1 << 15)


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """Return each version that is spoken."""
    return str(request.param)


@pytest.fixture
def ends(version: str) -> Iterator[Ends]:
    """Return two ends that have shaken hands."""
    with connected(client_of(version), server_side()) as both:
        both.shake_hands()
        both.client.read_into(room())  # the tickets of TLS 1.3
        yield both


def client_of(version: str) -> ssl.SSLContext:
    """Return a client that speaks one version."""
    return client_side(TRUSTING._replace(enabled_protocols=(version,)))


def room(size: int = 1 << 16) -> memoryview:
    """Return room to read into."""
    return memoryview(bytearray(size))


def read_to_end(transport: TlsTransport) -> bytes:
    """Return all that comes before the end of the stream."""
    data = bytearray()
    buffer = room()
    try:
        while True:
            data += buffer[: transport.read_into(buffer)]
    except EndOfStreamError:
        return bytes(data)


def drain(sock: socket.socket) -> bytes:
    """Return all that has come to a socket."""
    data = b""
    try:
        while chunk := sock.recv(1 << 16):
            data += chunk
    except BlockingIOError:
        pass
    return data


def test_two_ends_know_what_they_agreed_on(ends: Ends, version: str) -> None:
    """Version and cipher suite are the same, and the client has seen the broker's certificate."""
    assert ends.client.version == ends.server.version == version
    assert ends.client.cipher == ends.server.cipher
    assert [read_certificate(der).subject for der in ends.client.certificates()] == ["CN=broker"]
    assert ends.server.certificates() == []
    assert ends.client.fileno() == ends.sockets[0].fileno()


def test_what_is_written_is_read_in_both_directions(ends: Ends) -> None:
    """Bytes arrive as they were."""
    for source, target in ((ends.client, ends.server), (ends.server, ends.client)):
        assert source.write(memoryview(b"hello")) == 5
        assert source.flush()
        assert read_all(target, 5) == b"hello"
        assert target.read_into(room()) == 0


def test_a_transport_is_ready_after_the_handshake_and_not_before() -> None:
    """Until then nothing is read or written, and afterwards a handshake has nothing to do."""
    with connected(client_side(), server_side()) as ends:
        assert not any((ends.client.is_ready, ends.server.is_ready))
        assert (ends.client.read_into(room()), ends.client.write(memoryview(b"early"))) == (0, 0)
        ends.shake_hands()
        ends.client.handshake()
        assert ends.client.read_into(room()) == 0
        assert ends.server.read_into(room()) == 0


def test_in_tls13_the_first_data_ends_the_time_after_the_handshake() -> None:
    """Until data has come, an alert can still mean that the peer refuses us."""
    with connected(client_of("TLSv1.3"), server_side()) as ends:
        ends.shake_hands()
        assert repr(ends.client) == f"<TlsTransport to {HOST}:9093: POST_HANDSHAKE>"
        ends.server.write(memoryview(b"x"))
        read_all(ends.client, 1)
        assert repr(ends.client) == f"<TlsTransport to {HOST}:9093: READY>"


def test_a_network_that_carries_single_bytes_is_slow_but_harmless(version: str) -> None:
    """Handshake and data go through, however small the pieces."""
    client_sock, client_far = socket.socketpair()
    server_sock, server_far = socket.socketpair()
    with client_sock, client_far, server_sock, server_far:
        ends = Ends(client_of(version), server_side(), (client_sock, server_sock))
        ways = ((client_far, server_far, ends.server), (server_far, client_far, ends.client))
        for far in (client_far, server_far):
            far.settimeout(0)
        received = bytearray()
        ends.client.handshake()
        while len(received) < len(b"hello"):
            for source, target, end in ways:
                for byte in drain(source):
                    target.sendall(bytes([byte]))
                    end.handshake()
                    buffer = room()
                    received += buffer[: end.read_into(buffer)]
            if ends.client.is_ready and not received:
                ends.client.write(memoryview(b"hello"))
        assert received == b"hello"


@pytest.mark.thorough
@for_each("buffer_bytes", [4096, 1 << 20])
def test_a_large_write_goes_in_pieces_that_the_socket_takes(ends: Ends, buffer_bytes: int) -> None:
    """What was taken is counted in plaintext, and nothing is lost or doubled."""
    ends.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, buffer_bytes)

    check_large_write(ends)


@pytest.mark.thorough
def test_a_large_write_goes_through_tcp(version: str) -> None:
    """As through any socket."""
    with connected_by_tcp(client_of(version), server_side()) as ends:
        ends.shake_hands()

        check_large_write(ends)


def check_large_write(ends: Ends) -> None:
    """Write more than fits, and read it at the other end."""
    taken, received, was_full = 0, bytearray(), False
    while len(received) < len(LARGE):
        taken += ends.client.write(memoryview(LARGE)[taken:])
        was_full |= ends.client.has_pending_writes and ends.client.wants_write
        buffer = room()
        received += buffer[: ends.server.read_into(buffer)]
    assert (taken, bytes(received)) == (len(LARGE), LARGE)
    assert was_full
    assert not ends.client.has_pending_writes


@pytest.mark.thorough
def test_bytes_of_a_file_are_read_and_encrypted(ends: Ends, tmp_path: Path) -> None:
    """Step by step, as far as the socket takes them; a file that is cut is an error."""
    path = tmp_path / "log"
    path.write_bytes(LARGE)
    received = bytearray()
    sent = 0
    with path.open("rb") as file:
        while len(received) < len(LARGE) - 5:
            if sent < len(LARGE) - 5:
                sent += ends.client.transfer_from(file.fileno(), 5 + sent, len(LARGE) - 5 - sent)
            buffer = room()
            ends.client.flush()
            received += buffer[: ends.server.read_into(buffer)]
        with pytest.raises(OSError, match="ends before byte"):
            ends.client.transfer_from(file.fileno(), len(LARGE), 1)
    assert bytes(received) == LARGE[5:]


def test_nothing_more_is_taken_while_the_socket_is_full(ends: Ends) -> None:
    """What was taken and not sent is sent first."""
    data = memoryview(LARGE)
    taken = ends.client.write(data)
    assert 0 < taken < len(LARGE)

    assert (ends.client.write(data), ends.client.flush()) == (0, False)

    received = 0
    while not ends.client.flush():
        received += ends.server.read_into(room())
    assert len(read_all(ends.server, taken - received)) == taken - received


def test_bytes_are_buffered_while_a_record_is_read_in_parts(ends: Ends) -> None:
    """The selector cannot see them, so the transport says that they are there."""
    ends.client.write(memoryview(b"hello"))

    assert ends.server.read_into(room(2)) == 2
    assert ends.server.has_bytes_buffered
    assert ends.server.read_into(room(2)) == 2
    assert ends.server.has_bytes_buffered
    assert ends.server.read_into(room(2)) == 1
    assert not ends.server.has_bytes_buffered


def test_records_that_wait_behind_a_full_buffer_are_buffered(ends: Ends) -> None:
    """They were read from the socket together with the first."""
    for _ in range(3):
        ends.client.write(memoryview(b"hello"))

    assert ends.server.read_into(room(5)) == 5
    assert ends.server.has_bytes_buffered
    assert read_all(ends.server, 10) == b"hellohello"
    assert not ends.server.has_bytes_buffered


def test_a_part_of_a_record_is_nothing_to_come_back_for(ends: Ends) -> None:
    """A read that made no progress reports no buffered bytes, or the selector would spin."""
    ends.client.write(memoryview(b"hello"))
    record = drain(ends.sockets[1])
    ends.sockets[0].sendall(record[:10])

    assert ends.server.read_into(room()) == 0
    assert ends.server.read_into(room()) == 0
    assert not ends.server.has_bytes_buffered
    ends.sockets[0].sendall(record[10:])
    assert read_all(ends.server, 5) == b"hello"


class Trickle(socket.socket):
    """A socket that always has one more byte to give."""

    data = b""
    reads = 0

    def recv(self, *_: object) -> bytes:
        """Return the next byte."""
        self.reads += 1
        return self.data[self.reads - 1 : self.reads]


def test_a_peer_that_trickles_cannot_keep_a_read_from_ending(ends: Ends) -> None:
    """A read ends with a part of a record, though the socket has more."""
    ends.client.write(memoryview(b"hello"))
    with Trickle(fileno=os.dup(ends.sockets[1].fileno())) as trickle:
        trickle.data = drain(ends.sockets[1])
        ends.server._socket = trickle
        for count in range(1, len(trickle.data)):
            assert (ends.server.read_into(room()), trickle.reads) == (0, count)
        assert ends.server.read_into(room(5)) == 5


def test_data_that_came_with_the_end_of_the_handshake_is_buffered() -> None:
    """The socket is empty by then, so nothing else would tell of it."""
    with connected(client_of("TLSv1.3"), server_side()) as ends:
        ends.client.handshake()
        ends.server.handshake()
        ends.client.handshake()
        ends.client.write(memoryview(b"hello"))
        ends.server.handshake()
        assert ends.server.is_ready
        assert ends.server.has_bytes_buffered
        assert read_all(ends.server, 5) == b"hello"


def test_everything_before_a_close_is_read_even_from_the_same_segment(ends: Ends) -> None:
    """Data and goodbye that come together are read one after the other."""
    ends.client.write(memoryview(b"hello"))
    ends.client.close()

    buffer = room()

    assert ends.server.read_into(buffer) == 5
    for _ in range(2):
        with pytest.raises(EndOfStreamError, match="client:1 has closed the connection"):
            ends.server.read_into(buffer)
    assert not ends.server.has_bytes_buffered


def test_an_end_without_goodbye_is_an_end(ends: Ends) -> None:
    """A socket that was just closed gives what it had, and then its end."""
    ends.client.write(memoryview(b"hello"))
    ends.sockets[0].close()

    assert read_all(ends.server, 5) == b"hello"
    with pytest.raises(EndOfStreamError):
        ends.server.read_into(room())


def test_nothing_is_read_behind_a_goodbye(ends: Ends) -> None:
    """Whatever follows on the socket is not the peer's any more."""
    ends.client.close_writing()
    ends.sockets[0].sendall(b"not TLS at all")

    for _ in range(2):
        with pytest.raises(EndOfStreamError):
            ends.server.read_into(room())


def test_after_half_a_goodbye_the_other_direction_still_works(ends: Ends) -> None:
    """Who has nothing more to say can still listen."""
    ends.client.close_writing()
    with pytest.raises(EndOfStreamError):
        ends.server.read_into(room())

    ends.server.write(memoryview(b"answer"))

    assert read_all(ends.client, 6) == b"answer"


def test_close_does_not_wait_for_writes_that_the_socket_does_not_take(ends: Ends) -> None:
    """The peer gets what had left, no goodbye, and an end."""
    taken = ends.client.write(memoryview(LARGE))
    ends.client.close()
    ends.client.close()

    assert (ends.client.fileno(), ends.client.wants_write) == (-1, False)
    assert 0 < len(read_to_end(ends.server)) <= taken


def test_a_closed_transport_can_neither_read_nor_write(ends: Ends) -> None:
    """It says that it was closed from here."""
    ends.client.close()

    for use in (ends.client.read_into, ends.client.write):
        with pytest.raises(BrokenPipeError, match="was closed from here"):
            use(room())


def test_a_broken_connection_is_an_oserror_when_reading_and_writing(version: str) -> None:
    """What had come before is read all the same."""
    with connected_by_tcp(client_of(version), server_side()) as ends:
        ends.shake_hands()
        ends.server.read_into(room())
        ends.client.read_into(room())
        ends.client.write(memoryview(b"hello"))
        linger = (1).to_bytes(4, "little") + bytes(4)
        ends.sockets[0].setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        ends.sockets[0].close()
        assert read_all(ends.server, 5) == b"hello"
        with pytest.raises(ConnectionResetError):
            ends.server.read_into(room())
        with pytest.raises(BrokenPipeError):
            ends.server.write(memoryview(b"hello"))


def test_what_cannot_be_written_any_more_is_told_when_reading(ends: Ends) -> None:
    """A read sends what waits, and does not hide that it failed."""
    ends.client.write(memoryview(LARGE))
    ends.sockets[1].shutdown(socket.SHUT_RD)

    with pytest.raises(BrokenPipeError):
        ends.client.read_into(room())


def test_a_damaged_record_ends_the_connection_and_the_peer_is_told(ends: Ends) -> None:
    """That is no refusal once data has come, and may be tried again."""
    for source, target in ((ends.client, ends.server), (ends.server, ends.client)):
        source.write(memoryview(b"x"))
        read_all(target, 1)
    ends.client.write(memoryview(b"hello"))
    record = bytearray(drain(ends.sockets[1]))
    record[-1] ^= 1
    ends.sockets[0].sendall(record)

    with pytest.raises(ConnectionAbortedError, match="broke off: decryption failed or bad record"):
        ends.server.read_into(room())

    with pytest.raises(ConnectionAbortedError, match="alert bad record mac"):
        ends.client.read_into(room())


def test_the_outcome_of_a_connect_is_taken() -> None:
    """A refused connection is an OSError with its number; one that succeeded is none."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
        with socket.socket() as sock:
            connect(sock, address).finish_connect()
    with socket.socket() as sock, pytest.raises(ConnectionRefusedError):
        connect(sock, address).finish_connect()


def connect(sock: socket.socket, address: tuple[str, int]) -> TlsTransport:
    """Begin to connect, and return a transport once it is decided."""
    sock.settimeout(0)
    assert sock.connect_ex(address) == errno.EINPROGRESS
    with selectors.DefaultSelector() as selector:
        selector.register(sock, selectors.EVENT_WRITE)
        selector.select()
    return TlsTransport(sock, "peer:1", client_side(), HOST)
