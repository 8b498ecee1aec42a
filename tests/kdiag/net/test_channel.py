import itertools

import pytest

from kdiag.clock import ManualClock
from kdiag.errors import AuthenticationError, Layer
from kdiag.net.authenticator import NoAuthenticator
from kdiag.net.channel import Channel, ChannelState, MuteEvent, MuteState, next_mute_state
from kdiag.net.memory_pool import UNLIMITED, SimpleMemoryPool
from kdiag.net.receive import NetworkReceive
from kdiag.net.send import NetworkSend
from secure_ends.memory_transport import MemoryTransport
from tiers.cases import for_each

FRAME = b"\0\0\0\x04body"
SECOND_NS = 1_000_000_000


class _ExpiringAuthenticator(NoAuthenticator):
    """An authenticator whose session lasts until 100, and that notes what it is handed."""

    def __init__(self) -> None:
        self.reauthenticate_at_ns = 100
        self.handed: list[NetworkReceive | None] = []

    def reauthenticate(self, receive: NetworkReceive | None = None) -> None:
        self.handed.append(receive)


class _RefusedTransport(MemoryTransport):
    """A transport whose peer refuses us, whatever is done."""

    def read_into(self, buffer: memoryview) -> int:
        raise AuthenticationError(self.peer, Layer.TLS, f"no certificate, {len(buffer)} bytes")

    def write(self, data: memoryview) -> int:
        raise AuthenticationError(self.peer, Layer.TLS, f"no certificate, {len(data)} bytes")


def connected(transport: MemoryTransport, clock: ManualClock | None = None) -> Channel:
    """Return a connected channel whose session lasts until 100."""
    channel = Channel("1", transport, _ExpiringAuthenticator(), clock or ManualClock())
    channel.finish_connect()
    return channel


def handed(channel: Channel) -> list[NetworkReceive | None]:
    """Return what the authenticator got when it began again."""
    assert isinstance(channel.authenticator, _ExpiringAuthenticator)
    return channel.authenticator.handed


def test_a_channel_sends_one_frame_at_a_time() -> None:
    """A second one is refused until the first is completed, which may take several writes."""
    transport = MemoryTransport()
    channel, send = connected(transport), NetworkSend("1", [b"body"])
    channel.set_send(send)
    assert (channel.has_send, channel.wants_write) == (True, True)
    with pytest.raises(RuntimeError, match="0 of 8 bytes"):
        channel.set_send(NetworkSend("1", [b"other"]))
    for room in (0, 3, 2):
        transport.room = room
        assert channel.write() == room
        assert channel.maybe_complete_send() is None
    transport.room = 9
    assert channel.write() == 3
    assert channel.maybe_complete_send() is send
    assert channel.maybe_complete_send() is None
    assert (channel.has_send, channel.wants_write) == (False, False)
    assert transport.written == FRAME


def test_a_channel_receives_one_frame_at_a_time() -> None:
    """A frame may take several reads; after it the next one begins."""
    transport = MemoryTransport()
    channel, counts = connected(transport), list[int]()
    for chunk in (b"", FRAME[:2], FRAME[2:5], FRAME[5:] + FRAME):
        assert channel.maybe_complete_receive() is None
        transport.incoming += chunk
        counts.append(channel.read(100, UNLIMITED))
    first = channel.maybe_complete_receive()
    assert first is not None
    assert (counts, first.payload, first.channel_id) == ([0, 2, 3, 3], b"body", "1")
    assert channel.maybe_complete_receive() is None
    channel.read(100, UNLIMITED)
    second = channel.maybe_complete_receive()
    assert second is not None
    assert second is not first


def test_a_channel_is_not_ready_before_it_is_connected() -> None:
    """A transport without handshake is, but nothing can be sent on it yet."""
    channel = Channel("1", MemoryTransport(), NoAuthenticator(), ManualClock())
    assert (channel.is_ready, channel.wants_write) == (False, True)
    assert channel.state is ChannelState.NOT_CONNECTED
    channel.finish_connect()
    assert (channel.is_ready, channel.wants_write, str(channel.state)) == (True, False, "READY")


def test_a_frame_without_memory_mutes_its_channel() -> None:
    """It waits for memory until the pool has some and it is un-muted."""
    pool, transport = SimpleMemoryPool(4, 4), MemoryTransport(FRAME)
    channel = connected(transport)
    assert pool.try_allocate(4)
    assert not channel.waits_for_memory
    assert channel.read(100, pool) == 4
    assert (channel.is_muted, channel.waits_for_memory) == (True, True)
    pool.release(4)
    assert channel.maybe_unmute()
    assert channel.read(100, pool) == 4
    assert (channel.is_muted, channel.waits_for_memory) == (False, False)


def test_only_a_channel_that_waits_for_nothing_is_unmuted() -> None:
    """Muting twice is muting once, un-muting what is not muted does nothing."""
    channel = connected(MemoryTransport())
    assert channel.maybe_unmute()
    channel.mute()
    channel.handle_mute_event(MuteEvent.REQUEST_RECEIVED)
    channel.mute()
    assert not channel.maybe_unmute()
    assert channel.mute_state is MuteState.MUTED_AND_RESPONSE_PENDING
    channel.handle_mute_event(MuteEvent.RESPONSE_SENT)
    assert channel.maybe_unmute()
    with pytest.raises(ValueError, match="RESPONSE_SENT cannot happen"):
        channel.handle_mute_event(MuteEvent.RESPONSE_SENT)


def test_a_refusal_after_the_handshake_is_one() -> None:
    """In TLS 1.3 the peer looks at our certificate only then; reading and writing tell of it."""
    for is_read in (True, False):
        channel = connected(_RefusedTransport())
        channel.set_send(NetworkSend("1", [b""]))
        with pytest.raises(AuthenticationError, match="no certificate"):
            _ = channel.read(100, UNLIMITED) if is_read else channel.write()
        assert channel.state is ChannelState.AUTHENTICATION_FAILED


def test_closing_a_channel_gives_back_the_memory_of_half_a_frame() -> None:
    """And closes its transport."""
    pool, transport = SimpleMemoryPool(10, 10), MemoryTransport(FRAME[:6])
    channel = connected(transport)
    channel.read(100, pool)
    assert pool.available_bytes == 6
    channel.close()
    channel.close()
    assert (pool.available_bytes, transport.is_closed) == (10, True)


def test_a_client_begins_again_when_it_is_time_and_it_has_something_to_send() -> None:
    """Not before, not without a send, not while it is muted."""
    clock = ManualClock()
    channel = connected(MemoryTransport(), clock)
    clock.advance(99)
    channel.set_send(NetworkSend("1", [b"body"]))
    assert not channel.maybe_begin_client_reauthentication()
    clock.advance(1)
    channel.mute()
    assert not channel.maybe_begin_client_reauthentication()
    channel.maybe_unmute()
    assert channel.maybe_begin_client_reauthentication()
    assert handed(channel) == [None]


def test_a_client_does_not_begin_again_within_a_frame() -> None:
    """What was written in part is written to its end first."""
    clock, transport = ManualClock(), MemoryTransport()
    channel = connected(transport, clock)
    clock.advance(100)
    assert not channel.maybe_begin_client_reauthentication()
    channel.set_send(NetworkSend("1", [b"body"]))
    transport.room = 5
    channel.write()
    assert not channel.maybe_begin_client_reauthentication()
    transport.room = None
    channel.write()
    channel.maybe_complete_send()
    channel.set_send(NetworkSend("1", [b"next"]))
    assert channel.maybe_begin_client_reauthentication()


def test_half_a_frame_goes_to_the_authenticator() -> None:
    """It goes on reading where the channel has stopped, and the channel begins a new frame."""
    clock, transport = ManualClock(), MemoryTransport(FRAME[:6])
    channel = connected(transport, clock)
    channel.read(100, UNLIMITED)
    clock.advance(100)
    channel.set_send(NetworkSend("1", [b"next"]))
    assert channel.maybe_begin_client_reauthentication()
    (receive,) = handed(channel)
    assert receive is not None
    transport.incoming += FRAME[6:] + FRAME
    receive.read_from(transport, clock)
    channel.read(100, UNLIMITED)
    assert receive.payload == b"body"
    assert channel.maybe_complete_receive() is not None


def test_a_server_lets_a_client_begin_again_once_a_second() -> None:
    """The request that asks for it goes to the authenticator; too soon it is told no."""
    clock, request = ManualClock(), NetworkReceive("1")
    channel = connected(MemoryTransport(), clock)
    assert channel.maybe_begin_server_reauthentication(request)
    clock.advance(SECOND_NS - 1)
    assert not channel.maybe_begin_server_reauthentication(request)
    clock.advance(1)
    assert channel.maybe_begin_server_reauthentication(request)
    assert handed(channel) == [request, request]


def test_a_server_does_not_begin_again_before_it_has_begun() -> None:
    """A channel that is not ready has nothing to renew."""
    channel = Channel("1", MemoryTransport(), NoAuthenticator(), ManualClock())
    with pytest.raises(RuntimeError, match="is not ready"):
        channel.maybe_begin_server_reauthentication(NetworkReceive("1"))


VALID = {
    (MuteState.MUTED, MuteEvent.REQUEST_RECEIVED),
    (MuteState.MUTED_AND_RESPONSE_PENDING, MuteEvent.RESPONSE_SENT),
    (MuteState.MUTED_AND_RESPONSE_PENDING, MuteEvent.THROTTLE_STARTED),
    (MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING, MuteEvent.RESPONSE_SENT),
    (MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING, MuteEvent.THROTTLE_ENDED),
    (MuteState.MUTED_AND_THROTTLED, MuteEvent.THROTTLE_ENDED),
}


def follow(*events: MuteEvent) -> MuteState:
    """Return the state of a muted channel after some events."""
    state = MuteState.MUTED
    for event in events:
        state = next_mute_state(state, event)
    return state


def test_a_request_is_worked_on_until_its_response_is_sent() -> None:
    """Then the channel is only muted, and can be un-muted."""
    received = follow(MuteEvent.REQUEST_RECEIVED)

    assert received is MuteState.MUTED_AND_RESPONSE_PENDING
    assert next_mute_state(received, MuteEvent.RESPONSE_SENT) is MuteState.MUTED


def test_a_throttled_request_ends_with_both_response_and_throttle() -> None:
    """In whatever order the response is sent and the throttle ends."""
    throttled = (MuteEvent.REQUEST_RECEIVED, MuteEvent.THROTTLE_STARTED)
    sent, ended = MuteEvent.RESPONSE_SENT, MuteEvent.THROTTLE_ENDED

    assert follow(*throttled, sent) is MuteState.MUTED_AND_THROTTLED
    assert follow(*throttled, ended) is MuteState.MUTED_AND_RESPONSE_PENDING
    assert follow(*throttled, sent, ended) is MuteState.MUTED
    assert follow(*throttled, ended, sent) is MuteState.MUTED


@for_each(("state", "event"), sorted(set(itertools.product(MuteState, MuteEvent)) - VALID, key=str))
def test_no_other_event_can_happen(state: MuteState, event: MuteEvent) -> None:
    """The error names the event and the state."""
    with pytest.raises(ValueError, match=f"{event.name} cannot happen to .* {state.name}$"):
        next_mute_state(state, event)
