from collections.abc import Callable

from client_ends.echo_server import SETTINGS, Loopback, Recorder
from kdiag.clock import NS_PER_S, ManualClock
from kdiag.net.authenticator import NoAuthenticator
from kdiag.net.channel import Channel, ChannelState
from kdiag.net.receive import NetworkReceive
from kdiag.net.selector.frame_deadlines import PROGRESS_BYTES, FrameDeadlines
from secure_ends.memory_transport import MemoryTransport
from tiers.cases import for_each

MakeLoopback = Callable[..., Loopback]
LIMIT_NS = 30 * NS_PER_S
TIMED = SETTINGS._replace(max_frame_ns=LIMIT_NS)
CLAIM = (100 << 20).to_bytes(4)
FRAME = b"\0\0\0\4body"


def write(loopback: Loopback, data: bytes) -> None:
    """Write bytes as a client that keeps to no frame, and let the server read them."""
    channel = loopback.client.selector.channel("1")
    assert channel is not None
    channel.transport.write(memoryview(data))
    read_bytes = loopback.server.selector.metrics.bytes_received
    loopback.poll_until(
        lambda: loopback.server.selector.metrics.bytes_received == read_bytes + len(data)
    )


def settle(server: Recorder, clock: ManualClock, seconds: int) -> list[str]:
    """Let a time pass, and return which channels have ended by then."""
    clock.advance(seconds * NS_PER_S)
    server.poll()
    server.poll()
    return list(server.disconnected)


@for_each("begun", [CLAIM + b"\0\0\0\x09", CLAIM, b"\0", CLAIM + bytes(70_000)])
def test_a_frame_that_stops_ends_its_connection(begun: bytes, make_loopback: MakeLoopback) -> None:
    """Wherever it stops; the error says how much has come."""
    loopback = make_loopback(server=TIMED)
    server_id = loopback.connect("1")
    write(loopback, begun)
    assert settle(loopback.server, loopback.clock, 29) == []
    assert settle(loopback.server, loopback.clock, 2) == [server_id]
    end = loopback.server.disconnected[server_id]
    assert end.state is ChannelState.EXPIRED
    assert f"{len(begun) - 4 if len(begun) > 4 else len(begun) % 4} of " in str(end.error)


def test_bytes_that_drip_are_no_progress(make_loopback: MakeLoopback) -> None:
    """A byte each ten seconds keeps no frame alive."""
    loopback = make_loopback(server=TIMED)
    server_id = loopback.connect("1")
    write(loopback, CLAIM)
    for _ in range(2):
        assert settle(loopback.server, loopback.clock, 10) == []
        write(loopback, b"x")
    assert settle(loopback.server, loopback.clock, 11) == [server_id]


@for_each("sent", [FRAME, b"", FRAME * 3])
def test_a_connection_between_frames_stays(sent: bytes, make_loopback: MakeLoopback) -> None:
    """Whether it has sent whole frames or nothing: that is what the idle limit is for."""
    loopback = make_loopback(server=TIMED)
    loopback.connect("1")
    if sent:
        write(loopback, sent)
    assert settle(loopback.server, loopback.clock, 3_600) == []


def test_a_selector_without_a_deadline_waits_for_ever(make_loopback: MakeLoopback) -> None:
    """As Kafka does, and a client of kdiag, whose requests have deadlines of their own."""
    loopback = make_loopback()
    loopback.connect("1")
    write(loopback, CLAIM)
    assert settle(loopback.server, loopback.clock, 86_400) == []


def observed(deadlines: FrameDeadlines, channel: Channel, data: bytes, now_ns: int) -> None:
    """Let a channel read data, and the deadlines see it."""
    transport = channel.transport
    assert isinstance(transport, MemoryTransport)
    transport.incoming += data
    receive = channel.receive or NetworkReceive("1")
    channel._receive = receive
    while receive.read_from(transport, ManualClock()):
        pass
    deadlines.observe(channel, now_ns)


def channel_of(begun: bytes, deadlines: FrameDeadlines) -> Channel:
    """Return a channel that has read the beginning of a frame at time 0."""
    channel = Channel("1", MemoryTransport(), NoAuthenticator(), ManualClock())
    channel.finish_connect()
    observed(deadlines, channel, begun, 0)
    return channel


def test_a_large_frame_over_a_slow_line_comes_to_its_end() -> None:
    """Half a megabyte within the limit begins it anew, a byte less does not."""
    deadlines = FrameDeadlines(LIMIT_NS)
    channel = channel_of(CLAIM, deadlines)
    observed(deadlines, channel, bytes(PROGRESS_BYTES), LIMIT_NS - 1)
    observed(deadlines, channel, bytes(PROGRESS_BYTES - 1), 2 * LIMIT_NS - 2)
    assert deadlines.pop_overdue(2 * LIMIT_NS - 2, ()) == []
    assert deadlines.pop_overdue(3 * LIMIT_NS, ()) == [channel]
    assert deadlines.pop_overdue(4 * LIMIT_NS, ()) == []


def test_time_in_which_a_channel_is_muted_on_purpose_does_not_count() -> None:
    """A relay does not read a client whose broker is slow: that is not the client's fault."""
    deadlines = FrameDeadlines(LIMIT_NS)
    channel = channel_of(CLAIM, deadlines)
    assert deadlines.pop_overdue(LIMIT_NS, {"1"}) == []
    assert deadlines.pop_overdue(2 * LIMIT_NS - 1, ()) == []
    assert deadlines.pop_overdue(2 * LIMIT_NS + NS_PER_S, ()) == [channel]


class _LoginAuthenticator(NoAuthenticator):
    """An authenticator in the midst of a frame."""

    is_complete = False

    def __init__(self) -> None:
        self.receive = NetworkReceive("1")
        self.receive.read_from(MemoryTransport(FRAME[:6]), ManualClock())


def test_a_frame_of_the_login_has_the_same_deadline() -> None:
    """Who has not proved who he is must not hold a connection longer than others."""
    deadlines = FrameDeadlines(LIMIT_NS)
    channel = Channel("1", MemoryTransport(), _LoginAuthenticator(), ManualClock())
    channel.finish_connect()
    deadlines.observe(channel, 0)
    assert deadlines.pop_overdue(LIMIT_NS, ()) == [channel]
    assert "2 of 4 bytes" in str(channel.error)
