import errno
import socket
import time
from collections.abc import Callable

import pytest

from client_ends.echo_server import PLAINTEXT, SETTINGS, Loopback, Recorder, Security, poll_until
from kdiag.clock import ManualClock
from kdiag.errors import ConfigError, Layer
from kdiag.net.address import Address
from kdiag.net.channel import Channel, ChannelState, Disconnection
from kdiag.net.receive import InvalidReceiveError
from kdiag.net.selector.selector import NEVER, CloseMode, Selector, SelectorSettings
from kdiag.net.send import NetworkSend
from kdiag.net.transport import EndOfStreamError, PlaintextTransport, Transport

MakeLoopback = Callable[..., Loopback]
BUFFER_BYTES = 16 * 1024


@pytest.mark.thorough
def test_each_connection_keeps_its_order(loopback: Loopback) -> None:
    """Five connections with 200 requests each get every answer in the order of the questions."""
    questions = {channel_id: [b"%d" % n for n in range(200)] for channel_id in "abcde"}
    answers: dict[str, list[bytes]] = {channel_id: [] for channel_id in questions}
    for channel_id in questions:
        loopback.connect(channel_id)
        loopback.client.send(channel_id, b"0")
    while answers != questions:
        loopback.poll_until(lambda: loopback.client.receives)
        for receive in loopback.client.receives:
            answer = answers[receive.channel_id]
            answer.append(receive.payload)
            if len(answer) < len(questions[receive.channel_id]):
                loopback.client.send(receive.channel_id, questions[receive.channel_id][len(answer)])
        loopback.client.receives.clear()

    assert not loopback.client.disconnected
    assert not loopback.server.disconnected


@pytest.mark.parametrize("size", [0, 1, 10 * BUFFER_BYTES, 1_000_000])
def test_a_frame_of_any_size_arrives_whole(make_loopback: MakeLoopback, size: int) -> None:
    """An empty frame is valid, and one larger than the sockets' buffers takes several polls."""
    settings = SETTINGS._replace(send_buffer_bytes=BUFFER_BYTES, receive_buffer_bytes=BUFFER_BYTES)
    loopback = make_loopback(client=settings)
    loopback.connect("1")
    frame = bytes(n % 251 for n in range(size))
    loopback.client.send("1", frame[:7], frame[7:])
    loopback.poll_until(lambda: loopback.client.receives)

    assert loopback.client.payloads == [frame]
    assert len(loopback.client.sends) == 1


@pytest.mark.thorough
def test_large_frames_follow_each_other(loopback: Loopback) -> None:
    """Fifty frames of 512 KB go there and back on one connection."""
    loopback.connect("1")
    frame = bytes(512 * 1024)
    for number in range(50):
        loopback.client.send("1", b"%2d" % number, frame)
        loopback.poll_until(lambda: loopback.client.receives)
        assert loopback.client.receives.pop().payload == b"%2d" % number + frame


def test_a_closed_connection_can_be_replaced_under_its_id(loopback: Loopback) -> None:
    """What the server closes is in `disconnected` once; then its id is free, and not muted."""
    server_id = loopback.connect("1")
    loopback.server.selector.close_channel(server_id)
    loopback.poll_until(lambda: loopback.client.disconnected)
    end = loopback.client.disconnected.pop("1")

    assert (end.state, type(end.error)) == (ChannelState.READY, EndOfStreamError)
    assert end.peer == loopback.address.peer
    assert loopback.client.selector.channel("1") is None
    assert loopback.server.disconnected == {}
    loopback.client.poll()
    assert loopback.client.selector.disconnected == {}
    loopback.connect("1")
    loopback.client.selector.mute("1")
    loopback.client.selector.close_channel("1")
    loopback.connect("1")
    loopback.client.send("1", b"again")
    loopback.poll_until(lambda: loopback.client.payloads == [b"again"])


def test_a_closed_port_is_told_with_its_errno(loopback: Loopback) -> None:
    """A refused connection was never connected, and says that it was refused."""
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
    loopback.client.selector.connect("1", loopback.address._replace(port=port))
    loopback.poll_until(lambda: loopback.client.disconnected)
    end = loopback.client.disconnected["1"]

    assert loopback.client.connected == []
    assert end.state is ChannelState.NOT_CONNECTED
    assert isinstance(end.error, ConnectionRefusedError)
    assert end.error.errno == errno.ECONNREFUSED
    assert "Connection refused" in str(end.error)
    assert loopback.client.selector.metrics.connections_created == 0


@pytest.mark.parametrize("ip", ["no address", "255.255.255.255"])
def test_a_connect_that_fails_at_once_leaves_nothing(loopback: Loopback, ip: str) -> None:
    """The error is raised, no channel is there, and the id is free."""
    address = Address("bad", 9092, ip, socket.AF_INET)
    with pytest.raises(OSError, match=r".+"):
        loopback.client.selector.connect("1", address)

    assert loopback.client.selector.channels == []
    loopback.connect("1")


def test_an_id_is_of_one_channel_only(loopback: Loopback) -> None:
    """Neither `connect` nor `register` takes an id that is in use, even by one that is closing."""
    server_id = loopback.connect("1")
    with pytest.raises(ValueError, match="the id 1 is open"):
        loopback.client.selector.connect("1", loopback.address)
    ours, theirs = socket.socketpair()
    with ours, theirs, pytest.raises(ValueError, match=f"the id {server_id} is open"):
        loopback.server.selector.register(server_id, ours)
    loopback.server.selector.mute(server_id)
    loopback.server.selector.close_channel(server_id, CloseMode.GRACEFUL)
    with ours, theirs, pytest.raises(ValueError, match=f"the id {server_id} is being closed"):
        loopback.server.selector.register(server_id, ours)


def test_a_channel_that_cannot_be_made_leaves_nothing() -> None:
    """The socket is closed, the id is free, and what was wrong is raised."""

    def make_transport(_sock: socket.socket, _peer: str, _host: str) -> Transport:
        raise ConfigError("ssl.truststore.location", "test", "it is not there")

    with Loopback(Security("broken", make_transport, make_transport)) as loopback:
        ours, theirs = socket.socketpair()
        with theirs, pytest.raises(ConfigError, match="it is not there"):
            loopback.server.selector.register("1", ours)
        assert ours.fileno() == -1
        with pytest.raises(ConfigError):
            loopback.client.selector.connect("1", loopback.address)
        assert loopback.server.selector.channels == loopback.client.selector.channels == []


def test_a_peer_that_left_before_it_was_registered_is_an_os_error(loopback: Loopback) -> None:
    """An accepted socket that is no longer connected is closed, not kept."""
    lonely = socket.socket()
    with pytest.raises(OSError, match="not connected"):
        loopback.server.selector.register("x", lonely)

    assert lonely.fileno() == -1
    assert loopback.server.selector.channels == []


class ImmediateSelector(Selector):
    """A selector whose connects are over at once, as the system may do it for loopback."""

    @staticmethod
    def _start_connect(sock: socket.socket, address: Address) -> bool:
        sock.settimeout(None)
        sock.connect((address.ip, address.port))
        sock.settimeout(0)
        return True


def test_an_immediate_connect_is_told_by_the_next_poll_without_waiting() -> None:
    """A poll without end returns at once, and tells of the connection once."""
    clock = ManualClock()
    with Loopback(PLAINTEXT) as loopback:
        make = loopback.client.selector._make_channel
        selector = ImmediateSelector(clock, make_channel=make, settings=SETTINGS)
        selector.connect("1", loopback.address)
        selector.connect("2", loopback.address)
        selector.close_channel("2")
        selector.poll(None)
        assert selector.connected == ["1"]
        selector.poll(0)
        assert selector.connected == []
        selector.close()


def test_connected_and_lost_within_one_poll_is_only_lost() -> None:
    """A channel that connects and fails at once is in `disconnected`, not in `connected`."""

    class RefusingTransport(PlaintextTransport):
        is_ready = False

        def handshake(self) -> None:
            raise ConnectionResetError(errno.ECONNRESET, "reset")

    def make_transport(sock: socket.socket, peer: str, _host: str) -> Transport:
        return RefusingTransport(sock, peer)

    with Loopback(PLAINTEXT._replace(client=make_transport)) as loopback:
        loopback.client.selector.connect("1", loopback.address)
        loopback.poll_until(lambda: loopback.client.disconnected)
        assert loopback.client.connected == []
        assert loopback.client.disconnected["1"].state is ChannelState.AUTHENTICATE


def test_closing_the_selector_closes_every_channel_though_one_fails() -> None:
    """The failure comes out after all the sockets are closed."""

    class StubbornTransport(PlaintextTransport):
        def close(self) -> None:
            super().close()
            raise RuntimeError(f"cannot close {self.peer}")

    def make_transport(sock: socket.socket, peer: str, _host: str) -> Transport:
        is_stubborn = len(made) == 1
        made.append(
            StubbornTransport(sock, peer) if is_stubborn else PlaintextTransport(sock, peer)
        )
        return made[-1]

    made: list[Transport] = []
    clock = ManualClock()
    client = Recorder(clock, make_transport)
    with Loopback(PLAINTEXT) as loopback:
        for channel_id in "abc":
            client.selector.connect(channel_id, loopback.address)
        poll_until(lambda: len(client.connected) == 3, client, loopback.server)
        client.selector.set_client_software("a", "kdiag", "1")
        with pytest.raises(RuntimeError, match="cannot close localhost"):
            client.selector.close()

    assert [transport.fileno() for transport in made] == [-1, -1, -1]
    metrics = client.selector.metrics
    assert metrics.connections_closed == metrics.connections_created == 3
    assert metrics.connections_by_client == {}


def test_channels_may_be_closed_while_their_receives_are_gone_through(loopback: Loopback) -> None:
    """Closing a channel leaves the lists of the poll as they are."""
    ids = [loopback.connect(channel_id) for channel_id in "abc"]
    loopback.server.is_echoing = False
    loopback.server.selector.mute_all()
    for channel_id in "abc":
        loopback.client.send(channel_id, b"question")
    loopback.poll_until(lambda: len(loopback.client.sends) == len(ids))
    loopback.server.selector.unmute_all()
    closed: list[str] = []
    while closed != ids:
        loopback.server.poll(1_000_000)
        for receive in loopback.server.selector.completed_receives:
            loopback.server.selector.close_channel(receive.channel_id)
            closed.append(receive.channel_id)
        closed.sort()

    assert loopback.server.selector.channels == []


def test_wakeup_ends_a_poll_that_waits_for_nothing(loopback: Loopback) -> None:
    """A poll without end, and nothing to wait for, returns once and after it was woken up."""
    loopback.client.selector.wakeup()
    loopback.client.selector.wakeup()
    loopback.client.selector.poll(None)
    loopback.client.selector.wakeup()
    loopback.client.selector.poll(None)


def test_a_negative_timeout_is_refused(loopback: Loopback) -> None:
    """No timeout is less than none."""
    with pytest.raises(ValueError, match="-1 ns is negative"):
        loopback.client.selector.poll(-1)


def test_the_channel_that_is_least_needed_is_closing_or_idle(loopback: Loopback) -> None:
    """One that is being closed anyway comes first, then the one that was idle for longest."""
    server = loopback.server.selector
    assert server.lowest_priority_channel() is None
    first, second = loopback.connect("a"), loopback.connect("b")
    loopback.client.send("a", b"question")
    loopback.poll_until(lambda: loopback.client.receives)
    assert server.lowest_priority_channel() is server.channel(second)
    server.mute(first)
    server.close_channel(first, CloseMode.GRACEFUL)
    assert server.lowest_priority_channel() is server.closing_channel(first)
    server.close_channel(first)
    server.close_channel(second)
    assert server.lowest_priority_channel() is None


def test_an_unknown_channel_is_named(loopback: Loopback) -> None:
    """What is done to a channel that is not there says so; closing it does nothing."""
    selector = loopback.client.selector
    acts: tuple[Callable[[], None], ...] = (
        lambda: selector.send(NetworkSend("x", [b""])),
        lambda: selector.mute("x"),
        lambda: selector.unmute("x"),
        lambda: selector.set_client_software("x", "kdiag", "1"),
    )
    for act in acts:
        with pytest.raises(ValueError, match="no channel has the id x"):
            act()
    selector.close_channel("x")
    assert not selector.is_channel_ready("x")


def test_results_stand_until_the_next_poll_or_until_they_are_cleared(loopback: Loopback) -> None:
    """A server may drop sends and receives earlier, and then get the next frame no earlier."""
    loopback.connect("1")
    loopback.client.send("1", b"question")
    selector = loopback.client.selector
    loopback.poll_until(lambda: selector.completed_sends)
    selector.clear_completed_sends()
    assert selector.completed_sends == []
    loopback.poll_until(lambda: selector.completed_receives)
    receive = selector.completed_receives[0]
    assert receive.payload == b"question"
    selector.clear_completed_receives()
    assert selector.completed_receives == []


def test_a_selector_tells_what_it_holds(loopback: Loopback) -> None:
    """Its repr counts channels, a channel's names peer and state."""
    loopback.connect("1")
    channel = loopback.client.selector.channel("1")

    assert repr(loopback.client.selector) == "<Selector of 1 channels, 0 closing>"
    assert repr(channel) == f"<Channel 1 to {loopback.address.peer}: READY>"
    assert isinstance(channel, Channel)


# Settings


def test_by_default_idle_connections_are_kept_and_frames_may_have_100_mib() -> None:
    """The latter is Kafka's `socket.request.max.bytes`."""
    settings = SelectorSettings()

    assert settings.max_idle_ns == NEVER
    assert settings.max_receive_bytes == 104_857_600


def test_the_largest_frame_is_what_is_set() -> None:
    """One byte more ends the connection."""
    settings = SelectorSettings(max_idle_ns=NEVER, max_receive_bytes=10)
    with Loopback(PLAINTEXT, server=settings) as loopback:
        loopback.connect("1")
        loopback.send("1", bytes(10), bytes(11))
        loopback.poll_until(lambda: loopback.server.disconnected)

        assert loopback.server.payloads == [bytes(10)]
        assert isinstance(loopback.server.disconnected["1"].error, InvalidReceiveError)


# How channels are closed

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
