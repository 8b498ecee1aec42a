import socket
import time
from collections.abc import Callable

import pytest

from client_ends.echo_server import PLAINTEXT, SETTINGS, Loopback
from kdiag.clock import ManualClock
from kdiag.net.authenticator import Authenticator, NoAuthenticator
from kdiag.net.channel import Channel, MuteEvent
from kdiag.net.memory_pool import UNLIMITED, SimpleMemoryPool
from kdiag.net.receive import NetworkReceive
from kdiag.net.selector.metrics import SelectorMetrics
from kdiag.net.selector.reads import SelectorReads
from kdiag.net.selector.selector import CloseMode
from kdiag.net.transport import PlaintextTransport, Transport
from secure_ends.memory_transport import MemoryTransport

MakeLoopback = Callable[..., Loopback]
FRAME_BYTES = 900
_LONG_S = 10


def test_a_muted_channel_gives_nothing_until_it_is_unmuted(loopback: Loopback) -> None:
    """The frames of other channels come meanwhile."""
    for channel_id in "ab":
        loopback.connect(channel_id)
    loopback.client.selector.mute("b")
    loopback.send("a", b"1")
    loopback.send("b", b"2")
    loopback.poll_until(lambda: loopback.client.receives)
    loopback.poll_until(lambda: len(loopback.server.sends) == 2)
    for _ in range(3):
        loopback.client.poll()
    assert loopback.client.payloads == [b"1"]
    loopback.client.selector.unmute("b")
    loopback.poll_until(lambda: loopback.client.payloads == [b"1", b"2"])


def test_all_channels_can_be_muted_and_unmuted_at_once(loopback: Loopback) -> None:
    """As a broker does it that has no memory for more requests."""
    for channel_id in "ab":
        loopback.connect(channel_id)
    loopback.server.selector.mute_all()
    loopback.send("a", b"1")
    loopback.send("b", b"2")
    for _ in range(3):
        loopback.server.poll()
    assert loopback.server.receives == []
    loopback.server.selector.unmute_all()
    loopback.poll_until(lambda: sorted(loopback.client.payloads) == [b"1", b"2"])


def test_a_channel_gives_one_frame_in_a_poll(loopback: Loopback) -> None:
    """Though more have arrived, together: requests of one connection stay in order."""
    server_id = loopback.connect("1")
    loopback.server.is_echoing = False
    loopback.server.selector.mute(server_id)
    loopback.send("1", *(b"%d" % number for number in range(5)))
    loopback.server.selector.unmute(server_id)
    for number in range(5):
        loopback.poll_until(lambda: loopback.server.selector.completed_receives)
        assert len(loopback.server.receives) == number + 1
        loopback.server.selector.clear_completed_receives()

    assert loopback.server.payloads == [b"0", b"1", b"2", b"3", b"4"]


def test_bytes_that_tls_holds_are_read_without_waiting(loopback: Loopback) -> None:
    """The system knows nothing of them, but polls return at once until all frames are out."""
    server_id = loopback.connect("1")
    loopback.server.is_echoing = False
    loopback.server.selector.mute(server_id)
    loopback.send("1", *(b"%d" % number for number in range(5)))
    loopback.client.selector.close_channel("1")
    loopback.server.selector.unmute(server_id)
    began_s = time.monotonic()
    while not loopback.server.disconnected:
        loopback.server.poll(_LONG_S * 10**9)

    assert time.monotonic() - began_s < _LONG_S
    assert loopback.server.payloads == [b"0", b"1", b"2", b"3", b"4"]


def test_a_server_unmutes_a_channel_only_when_it_waits_for_nothing(loopback: Loopback) -> None:
    """A response that is due, or a throttle, keeps the channel muted."""
    server_id = loopback.connect("1")
    selector = loopback.server.selector
    channel = selector.channel(server_id)
    assert channel is not None
    selector.mute(server_id)
    channel.handle_mute_event(MuteEvent.REQUEST_RECEIVED)
    selector.unmute(server_id)
    assert channel.is_muted
    channel.handle_mute_event(MuteEvent.RESPONSE_SENT)
    selector.unmute(server_id)
    assert not channel.is_muted


def test_frames_without_memory_wait_until_there_is_some(make_loopback: MakeLoopback) -> None:
    """Of two frames that fill the pool each, the second comes once the first is closed."""
    pool = SimpleMemoryPool(FRAME_BYTES, FRAME_BYTES)
    loopback = make_loopback(server=SETTINGS._replace(pool=pool))
    server = loopback.server
    server.closes_receives = server.is_echoing = False
    ids = [loopback.connect(channel_id) for channel_id in "ab"]
    for channel_id in "ab":
        loopback.client.send(channel_id, bytes(FRAME_BYTES))
    loopback.poll_until(lambda: any(channel.is_muted for channel in server.selector.channels))
    server.poll()
    assert (len(server.receives), pool.available_bytes) == (1, 0)
    server.receives[0].close()
    assert pool.available_bytes == FRAME_BYTES
    began_s = time.monotonic()
    server.poll(_LONG_S * 10**9)
    assert time.monotonic() - began_s < _LONG_S
    loopback.poll_until(lambda: len(server.receives) == 2)

    assert {receive.channel_id for receive in server.receives} == set(ids)
    server.receives[1].close()
    assert pool.available_bytes == FRAME_BYTES


def test_memory_does_not_unmute_what_was_muted_on_purpose(make_loopback: MakeLoopback) -> None:
    """A channel that waits for memory and was then muted waits to be un-muted."""
    pool = SimpleMemoryPool(FRAME_BYTES, FRAME_BYTES)
    loopback = make_loopback(server=SETTINGS._replace(pool=pool))
    server_id = loopback.connect("1")
    channel = loopback.server.selector.channel(server_id)
    assert channel is not None
    assert pool.try_allocate(FRAME_BYTES)
    loopback.send("1", bytes(FRAME_BYTES))
    loopback.poll_until(lambda: channel.is_muted)
    loopback.server.selector.mute(server_id)
    pool.release(FRAME_BYTES)
    for _ in range(3):
        loopback.server.poll()
    assert (loopback.server.receives, channel.is_muted) == ([], True)
    loopback.server.selector.unmute(server_id)
    loopback.poll_until(lambda: loopback.server.receives)


def test_a_frame_that_waits_for_memory_is_lost_with_its_channel(
    make_loopback: MakeLoopback,
) -> None:
    """A graceful close hands out what can be read; the memory of half a frame is given back."""
    pool = SimpleMemoryPool(FRAME_BYTES, FRAME_BYTES)
    loopback = make_loopback(server=SETTINGS._replace(pool=pool))
    server_id = loopback.connect("1")
    channel = loopback.client.selector.channel("1")
    assert channel is not None
    channel.transport.write(memoryview(FRAME_BYTES.to_bytes(4) + b"part"))
    loopback.poll_until(lambda: pool.is_out_of_memory)
    loopback.server.selector.close_channel(server_id, CloseMode.GRACEFUL)

    assert pool.available_bytes == FRAME_BYTES


class _StuckTransport(PlaintextTransport):
    """A transport that holds bytes of which nothing can be made yet, and counts who asks."""

    has_bytes_buffered = True
    reads = 0

    def read_into(self, buffer: memoryview) -> int:
        assert buffer
        self.reads += 1
        return 0


def _stuck(sock: socket.socket, peer: str, _host: str) -> Transport:
    return _StuckTransport(sock, peer)


@pytest.mark.parametrize("was_muted", [False, True])
def test_bytes_that_nothing_can_be_done_with_keep_nobody_busy(*, was_muted: bool) -> None:
    """A channel with such bytes is asked once a poll, and the next poll waits."""
    with Loopback(PLAINTEXT._replace(client=_stuck)) as loopback:
        loopback.connect("1")
        selector = loopback.client.selector
        if was_muted:
            selector.mute("1")
            selector.unmute("1")
        transport = selector.channels[0].transport
        assert isinstance(transport, _StuckTransport)
        asked = transport.reads
        loopback.client.poll()
        assert transport.reads == asked + 1
        assert not selector._reads.can_drain
        loopback.client.poll()
        assert transport.reads == asked + 2
        selector.mute("1")
        loopback.client.poll()
        assert transport.reads == asked + 2


def test_while_memory_is_short_another_channel_is_the_first_each_time() -> None:
    """Otherwise the same channels could take all the memory there is."""
    pool, metrics = SimpleMemoryPool(1000, 1000), SelectorMetrics()
    reads = SelectorReads(FRAME_BYTES, pool, metrics)
    ready = {"a": 1, "b": 2, "c": 3}
    orders = []
    for taken in (0, 901, 0, 0):
        if taken:
            assert pool.try_allocate(taken)
        orders.append("".join(channel_id for channel_id, _ in reads.in_turn(ready)))
        metrics.select_count += 1

    assert orders == ["abc", "bca", "cab", "abc"]
    assert reads.in_turn({}) == []


class _LateAuthenticator(NoAuthenticator):
    """An authenticator that has kept two answers to earlier requests."""

    def __init__(self) -> None:
        self._responses = [NetworkReceive("1"), NetworkReceive("1")]

    def poll_response(self) -> NetworkReceive | None:
        return self._responses.pop(0) if self._responses else None


def connected(transport: Transport, authenticator: Authenticator | None = None) -> Channel:
    """Return a channel that is connected."""
    channel = Channel("1", transport, authenticator or NoAuthenticator(), ManualClock())
    channel.finish_connect()
    return channel


def test_what_an_authenticator_has_kept_comes_before_the_next_frame() -> None:
    """One a poll; the next poll does not wait while there may be more."""
    reads, counts = SelectorReads(FRAME_BYTES, UNLIMITED, SelectorMetrics()), list[int]()
    channel = connected(MemoryTransport(bytes(4)), _LateAuthenticator())
    for _ in range(4):
        reads.begin_poll()
        reads.pop_buffered({})
        reads.read(channel, is_readable=True)
        counts.append(len(reads.completed))
        if counts == [1]:
            assert reads.can_drain

    assert counts == [1, 1, 1, 0]


class _HoldingTransport(MemoryTransport):
    """A transport that holds all that has come, unseen by the system."""

    @property
    def has_bytes_buffered(self) -> bool:
        return bool(self.incoming)


def test_a_muted_channel_is_not_read_whatever_it_holds() -> None:
    """Not even when it is ready to write; nor does anybody hurry because of it."""
    reads, transport = (
        SelectorReads(FRAME_BYTES, UNLIMITED, SelectorMetrics()),
        _HoldingTransport(bytes(4)),
    )
    channel, drains = connected(transport), list[bool]()
    for change in (reads.mute, reads.unmute, reads.mute):
        change(channel)
        drains.append(reads.can_drain)
    reads.read(channel, is_readable=True)

    assert drains == [False, True, False]
    assert (reads.completed, transport.read_sizes) == ([], [])


def test_partial_receives_are_counted() -> None:
    """Bytes count when they come, receives when they are whole."""
    metrics, transport = SelectorMetrics(), MemoryTransport(b"\0\0\0\4ab")
    reads, channel = SelectorReads(FRAME_BYTES, UNLIMITED, metrics), connected(transport)
    reads.read(channel, is_readable=True)
    assert (metrics.bytes_received, metrics.receives, reads.completed) == (6, 0, [])
    transport.incoming += b"cd"
    reads.read(channel, is_readable=True)
    assert (metrics.bytes_received, metrics.receives) == (8, 1)
    assert [receive.payload for receive in reads.completed] == [b"abcd"]
