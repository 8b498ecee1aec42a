import errno
import socket

import pytest

from client_ends.echo_server import PLAINTEXT, Loopback
from kdiag.clock import ManualClock
from kdiag.net.authenticator import NoAuthenticator
from kdiag.net.channel import Channel, ChannelState
from kdiag.net.selector.metrics import SelectorMetrics
from kdiag.net.selector.writes import SelectorWrites
from kdiag.net.send import NetworkSend
from kdiag.net.transport import PlaintextTransport, Transport
from secure_ends.memory_transport import MemoryTransport


def test_a_second_send_ends_the_channel(loopback: Loopback) -> None:
    """The mistake is raised, the channel is closed, and the next poll tells that a send failed."""
    loopback.connect("1")
    loopback.client.send("1", b"first")
    with pytest.raises(RuntimeError, match=r"still has <NetworkSend to 1: 0 of 9 bytes> to write"):
        loopback.client.send("1", b"second")
    assert loopback.client.selector.channel("1") is None
    assert loopback.client.selector.disconnected == {}
    loopback.client.poll()
    end = loopback.client.disconnected["1"]

    assert (end.state, type(end.error)) == (ChannelState.FAILED_SEND, RuntimeError)
    loopback.client.poll()
    assert loopback.client.selector.disconnected == {}


@pytest.mark.thorough
def test_what_the_peer_does_not_read_waits(loopback: Loopback) -> None:
    """Bytes count when the system takes them, sends when it has them all."""
    server_id = loopback.connect("1")
    loopback.server.selector.mute(server_id)
    metrics, size = loopback.client.selector.metrics, 30_000_000
    loopback.client.send("1", bytes(size))
    last = -1
    while metrics.bytes_sent != last:
        last = metrics.bytes_sent
        for _ in range(20):
            loopback.client.poll(100_000)
    assert 0 < metrics.bytes_sent < size
    assert (metrics.sends, loopback.client.sends) == (0, [])
    loopback.server.selector.unmute(server_id)
    loopback.poll_until(lambda: loopback.client.sends)

    assert (metrics.sends, metrics.bytes_sent) == (1, size + 4)
    loopback.poll_until(lambda: loopback.client.receives)
    assert (metrics.receives, metrics.bytes_received) == (1, size + 4)
    assert loopback.server.selector.metrics.bytes_received == size + 4


class _FailingTransport(PlaintextTransport):
    """A transport that reads, but fails to write from some time on."""

    is_failing = False

    def write(self, data: memoryview) -> int:
        if self.is_failing:
            raise BrokenPipeError(errno.EPIPE, "Broken pipe")
        return super().write(data)


def _failing(sock: socket.socket, peer: str, _host: str) -> Transport:
    return _FailingTransport(sock, peer)


def test_a_send_that_fails_ends_the_channel_at_once() -> None:
    """What has arrived after it is not handed out any more, and the error is told."""
    with Loopback(PLAINTEXT._replace(client=_failing)) as loopback:
        loopback.connect("1")
        loopback.client.selector.mute("1")
        loopback.send("1", b"question")
        loopback.poll_until(lambda: loopback.server.sends)
        transport = loopback.client.selector.channels[0].transport
        assert isinstance(transport, _FailingTransport)
        transport.is_failing = True
        loopback.client.send("1", b"another")
        loopback.poll_until(lambda: loopback.client.disconnected)
        end = loopback.client.disconnected["1"]

        assert (end.state, type(end.error)) == (ChannelState.READY, BrokenPipeError)
        assert loopback.client.receives == []


class _HoldingTransport(PlaintextTransport):
    """A transport that holds bytes of its own back until it is flushed, as TLS may do."""

    has_pending_writes = False

    @property
    def wants_write(self) -> bool:  # type: ignore[override]
        return self.has_pending_writes

    def flush(self) -> bool:
        self.has_pending_writes = False
        return True


def _holding(sock: socket.socket, peer: str, _host: str) -> Transport:
    return _HoldingTransport(sock, peer)


def test_what_a_transport_has_to_say_is_sent_without_a_send() -> None:
    """A poll flushes it once the socket takes bytes."""
    with Loopback(PLAINTEXT._replace(client=_holding)) as loopback:
        loopback.connect("1")
        transport = loopback.client.selector.channels[0].transport
        assert isinstance(transport, _HoldingTransport)
        transport.has_pending_writes = True
        loopback.client.selector.unmute("1")
        loopback.poll_until(lambda: not transport.has_pending_writes)


def test_a_send_completes_with_no_byte_written() -> None:
    """The transport took everything before; now the last of it went out."""
    metrics, transport = SelectorMetrics(), MemoryTransport()
    writes = SelectorWrites(metrics)
    channel = Channel("1", transport, NoAuthenticator(), ManualClock())
    channel.finish_connect()
    send = NetworkSend("1", [b"body"])
    writes.send(channel, send)
    transport.holds_back = True
    writes.write(channel)
    assert (metrics.bytes_sent, metrics.sends, writes.completed) == (8, 0, [])
    transport.holds_back = False
    writes.write(channel)
    assert (metrics.bytes_sent, metrics.sends, writes.completed) == (8, 1, [send])
    assert not channel.has_send
