import errno
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdiag.net.tls.transport import TlsTransport
from kdiag.net.transport import EndOfStreamError, PlaintextTransport, Transport
from secure_ends.memory_transport import MemoryTransport


def test_every_transport_has_what_a_channel_asks_for() -> None:
    """A class that lacks a member of the protocol is none; the types are mypy's to check."""
    members = {name for name in vars(Transport) if not name.startswith("_")}
    for cls in (PlaintextTransport, TlsTransport, MemoryTransport):
        missing = members - set(dir(cls)) - {"peer", "has_bytes_buffered"}
        assert missing == set()


def test_the_end_of_a_stream_is_a_broken_connection() -> None:
    """Whoever handles those handles it too."""
    assert issubclass(EndOfStreamError, OSError)


class _Pair:
    """A transport, and the socket at its other end."""

    def __init__(self) -> None:
        ours, self.other = socket.socketpair()
        ours.settimeout(0)
        self.transport = PlaintextTransport(ours, "broker:9092")


@pytest.fixture
def pair() -> Iterator[_Pair]:
    """Return a transport and its other end."""
    pair = _Pair()
    yield pair
    pair.transport.close()
    pair.other.close()


def test_what_is_written_crosses_the_socket_as_it_is(pair: _Pair) -> None:
    """Nothing is added, nothing is held back."""
    assert pair.transport.write(memoryview(b"question")) == 8
    assert pair.transport.flush()
    assert pair.other.recv(100) == b"question"
    pair.other.send(b"answer")
    buffer = bytearray(10)
    assert pair.transport.read_into(memoryview(buffer)) == 6
    assert buffer == b"answer\0\0\0\0"


def test_nothing_to_read_is_no_bytes_and_the_end_is_an_error(pair: _Pair) -> None:
    """A peer that is silent is not one that has left."""
    buffer = memoryview(bytearray(10))
    assert pair.transport.read_into(buffer) == 0
    pair.other.send(b"last")
    pair.other.close()
    assert pair.transport.read_into(buffer) == 4
    assert pair.transport.read_into(buffer[:0]) == 0
    with pytest.raises(EndOfStreamError, match="broker:9092 has closed"):
        pair.transport.read_into(buffer)


def test_a_full_socket_takes_a_part_and_then_nothing(pair: _Pair) -> None:
    """The rest can be written once the peer has read."""
    data = memoryview(bytes(10_000_000))
    taken = pair.transport.write(data)
    assert 0 < taken < len(data)
    while count := pair.transport.write(data):
        taken += count
    while taken:
        taken -= len(pair.other.recv(1 << 20))
    assert pair.transport.write(data[:1]) == 1


def test_a_broken_connection_is_an_os_error(pair: _Pair) -> None:
    """Writing to a peer that has left fails."""
    pair.other.close()
    with pytest.raises(BrokenPipeError):
        pair.transport.write(memoryview(b"question"))


def test_plaintext_is_always_ready_and_hides_nothing(pair: _Pair) -> None:
    """There is no handshake and no buffer of its own."""
    transport = pair.transport
    transport.handshake()
    transport.finish_connect()
    hidden = (transport.has_pending_writes, transport.has_bytes_buffered, transport.wants_write)

    assert transport.is_ready
    assert hidden == (False, False, False)
    assert repr(transport) == "<PlaintextTransport to broker:9092>"


def test_a_failed_connect_says_how() -> None:
    """The error has the system's number and text, and names the peer."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        address = listener.getsockname()
    with socket.socket() as sock:
        sock.settimeout(0)
        sock.connect_ex(address)
        with pytest.raises(ConnectionRefusedError, match="Connection refused") as caught:
            PlaintextTransport(sock, "broker:9092").finish_connect()

    assert (caught.value.errno, caught.value.filename) == (errno.ECONNREFUSED, "broker:9092")


def test_a_closed_transport_has_no_socket(pair: _Pair) -> None:
    """Closing it twice closes it once."""
    assert pair.transport.fileno() >= 0
    pair.transport.close()
    pair.transport.close()
    assert pair.transport.fileno() == -1


def test_bytes_of_a_file_go_to_the_socket(pair: _Pair, tmp_path: Path) -> None:
    """From a position on; a socket that is full takes none, and a file that is cut is an error."""
    path = tmp_path / "log"
    path.write_bytes(b"behind the first five")
    with path.open("rb") as file:
        assert pair.transport.transfer_from(file.fileno(), 5, 9) == 9
        assert pair.other.recv(100) == b"d the fir"
        with pytest.raises(OSError, match="ends before byte 21"):
            pair.transport.transfer_from(file.fileno(), 21, 1)
        while pair.transport.write(memoryview(bytes(1 << 16))):
            pass
        assert pair.transport.transfer_from(file.fileno(), 0, 4) == 0
