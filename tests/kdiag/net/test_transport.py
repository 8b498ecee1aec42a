from kdiag.net.plaintext import PlaintextTransport
from kdiag.net.tls.transport import TlsTransport
from kdiag.net.transport import EndOfStreamError, Transport
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
