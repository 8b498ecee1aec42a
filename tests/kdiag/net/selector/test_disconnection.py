import time

import pytest

from client_ends.echo_server import Loopback
from kdiag.errors import Layer
from kdiag.net.channel import ChannelState
from kdiag.net.receive import InvalidReceiveError
from kdiag.net.selector.disconnection import CloseMode, Disconnection

FRAMES = [b"0", bytes(200_000), b"2"]


@pytest.fixture
def server_id(loopback: Loopback) -> str:
    """Return a muted channel of the server, to which the client has sent three frames."""
    server_id = loopback.connect("1")
    loopback.server.is_echoing = False
    loopback.server.selector.mute(server_id)
    loopback.send("1", *FRAMES)
    return server_id


def end_of(loopback: Loopback, server_id: str) -> Disconnection:
    """Poll the server until it tells that a channel has ended, and return how."""
    loopback.poll_until(lambda: loopback.server.disconnected)
    return loopback.server.disconnected[server_id]


def test_a_graceful_close_hands_out_what_has_arrived(loopback: Loopback, server_id: str) -> None:
    """One frame a poll, large ones too, then it is told; meanwhile the channel is closing."""
    selector = loopback.server.selector
    selector.close_channel(server_id, CloseMode.GRACEFUL)
    loopback.server.poll()
    assert (loopback.server.receives, loopback.server.disconnected) == ([], {})
    assert selector.channel(server_id) is None
    assert selector.closing_channel(server_id) is not None
    selector.unmute(server_id)
    polls = []
    while not loopback.server.disconnected:
        loopback.server.poll()
        polls.append([receive.payload for receive in selector.completed_receives])

    assert polls == [[frame] for frame in FRAMES] + [[]]
    assert loopback.server.disconnected[server_id][:2] == (ChannelState.READY, None)
    assert selector.closing_channel(server_id) is None


def test_a_closing_channel_gives_its_frames_without_waiting(loopback: Loopback) -> None:
    """Also those that TLS holds already, and if it is muted meanwhile."""
    server, server_id = loopback.server, loopback.connect("1")
    server.is_echoing = False
    server.selector.mute(server_id)
    loopback.send("1", b"0", b"1", b"2")
    server.selector.unmute(server_id)
    loopback.poll_until(lambda: server.receives)
    server.selector.mute(server_id)
    server.selector.close_channel(server_id, CloseMode.GRACEFUL)
    server.selector.unmute(server_id)
    began_s = time.monotonic()
    while not server.disconnected:
        server.poll(10 * 10**9)

    assert time.monotonic() - began_s < 10
    assert server.payloads == [b"0", b"1", b"2"]


def test_a_partial_receive_does_not_delay_a_graceful_close(loopback: Loopback) -> None:
    """What is not whole will not be: nothing is waited for."""
    server_id = loopback.connect("1")
    with memoryview(b"\0\0\0\x09part") as part:
        channel = loopback.client.selector.channel("1")
        assert channel is not None
        assert channel.transport.write(part) == len(part)
    metrics = loopback.server.selector.metrics
    loopback.poll_until(lambda: metrics.bytes_received == 8)
    loopback.server.selector.close_channel(server_id, CloseMode.GRACEFUL)

    assert loopback.server.selector.closing_channel(server_id) is None
    assert loopback.server.selector.disconnected[server_id].state is ChannelState.READY


def test_a_send_to_a_closing_channel_ends_it(loopback: Loopback, server_id: str) -> None:
    """It raises nothing, but the rest of what has arrived is not handed out any more."""
    selector = loopback.server.selector
    selector.close_channel(server_id, CloseMode.GRACEFUL)
    loopback.server.send(server_id, b"too late")
    loopback.server.poll()

    assert loopback.server.receives == []
    assert list(loopback.server.disconnected) == [server_id]
    assert selector.closing_channel(server_id) is None


@pytest.mark.parametrize("was_closing", [False, True])
@pytest.mark.parametrize("mode", [CloseMode.NOTIFY_ONLY, CloseMode.DISCARD_NO_NOTIFY])
def test_other_closes_hand_out_nothing(
    loopback: Loopback, server_id: str, mode: CloseMode, *, was_closing: bool
) -> None:
    """A channel ends at once, also one that is closing; `disconnected` tells it or not."""
    selector = loopback.server.selector
    channel = selector.channel(server_id)
    assert channel is not None
    if was_closing:
        selector.close_channel(server_id, CloseMode.GRACEFUL)
    selector.close_channel(server_id, mode)

    assert list(selector.disconnected) == ([server_id] if mode is CloseMode.NOTIFY_ONLY else [])
    assert channel.transport.fileno() == -1
    assert selector.closing_channel(server_id) is None
    loopback.server.poll()
    assert loopback.server.receives == []


def test_a_channel_that_was_closed_from_here_says_so(loopback: Loopback, server_id: str) -> None:
    """Nobody is told of it, but whoever still holds it can see."""
    channel = loopback.server.selector.channel(server_id)
    assert channel is not None
    loopback.server.selector.close_channel(server_id)

    assert channel.state is ChannelState.LOCAL_CLOSE


def test_closing_gracefully_twice_changes_nothing(loopback: Loopback, server_id: str) -> None:
    """A closing channel goes on handing out what has arrived."""
    for _ in range(2):
        loopback.server.selector.close_channel(server_id, CloseMode.GRACEFUL)

    assert loopback.server.selector.closing_channel(server_id) is not None


def test_what_arrived_before_the_peer_left_is_handed_out(
    loopback: Loopback, server_id: str
) -> None:
    """Frames come before the end of the stream, one a poll."""
    loopback.client.selector.close_channel("1")
    loopback.server.selector.unmute(server_id)
    end = end_of(loopback, server_id)

    assert loopback.server.payloads == FRAMES
    assert end.state is ChannelState.READY
    assert isinstance(end.error, OSError)


def test_a_length_that_is_none_ends_the_channel_with_what_was_there(loopback: Loopback) -> None:
    """The error names the layer and shows what was read."""
    server_id = loopback.connect("1")
    channel = loopback.client.selector.channel("1")
    assert channel is not None
    channel.transport.write(memoryview(b"GET / HTTP/1.1\r\n"))
    end = end_of(loopback, server_id)

    assert isinstance(end.error, InvalidReceiveError)
    assert end.error.layer is Layer.KAFKA
    assert "a web client asked" in end.error.why
