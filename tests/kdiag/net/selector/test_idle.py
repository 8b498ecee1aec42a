from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from client_ends.echo_server import SETTINGS, Loopback
from kdiag.net.channel import ChannelState
from kdiag.net.selector.idle import IdleExpiry
from kdiag.net.selector.selector import NEVER

MakeLoopback = Callable[..., Loopback]
IDLE = SETTINGS._replace(max_idle_ns=10)


def test_the_connection_that_was_unused_for_longest_expires_first() -> None:
    """With a limit of 10, `a` used at 0 and `b` at 4 expire at 11 and at 15, one at a time."""
    idle = IdleExpiry(10, now_ns=0)
    idle.touch("a", 0)
    idle.touch("b", 4)
    assert idle.expired(10) is None
    assert (idle.expired(11), idle.least_recently_used) == ("a", "a")
    idle.remove("a")
    assert idle.expired(14) is None
    assert idle.expired(15) == "b"


def test_use_puts_expiry_off() -> None:
    """A connection expires once nobody used it for longer than the limit."""
    idle = IdleExpiry(10, now_ns=0)
    idle.touch("a", 0)
    idle.touch("b", 1)
    idle.touch("a", 5)
    assert idle.least_recently_used == "b"
    idle.remove("b")
    idle.remove("unknown")
    assert [idle.expired(now_ns) for now_ns in (11, 15, 16)] == [None, None, "a"]


@pytest.mark.parametrize("max_idle_ns", [NEVER, 10])
def test_nothing_expires_where_nothing_is_or_where_there_is_no_limit(max_idle_ns: int) -> None:
    """A negative limit keeps connections for ever; without connections there is none to name."""
    idle = IdleExpiry(max_idle_ns, now_ns=0)
    if max_idle_ns == NEVER:
        idle.touch("a", 0)

    assert idle.expired(1 << 60) is None


@given(
    uses=st.lists(st.tuples(st.sampled_from("abc"), st.integers(0, 9)), min_size=1),
    later=st.integers(0, 40),
)
def test_whoever_expires_was_idle_for_longer_than_the_limit(
    uses: list[tuple[str, int]], later: int
) -> None:
    """No connection expires too early, and none that is older stays."""
    now_ns, last_ns = 0, dict[str, int]()
    idle = IdleExpiry(10, now_ns)
    for channel_id, wait_ns in uses:
        now_ns += wait_ns
        idle.touch(channel_id, now_ns)
        last_ns[channel_id] = now_ns
    now_ns += later
    idle.expired(now_ns)
    expired = idle.expired(now_ns)

    oldest = min(last_ns, key=lambda channel_id: last_ns[channel_id])
    is_idle = now_ns - last_ns[oldest] > 10
    assert (expired is not None) == is_idle
    assert expired is None or last_ns[expired] == last_ns[oldest]


def test_an_idle_connection_is_closed_and_told(make_loopback: MakeLoopback) -> None:
    """Though no socket is ready, a poll after the limit closes it as expired, without error."""
    loopback = make_loopback(client=IDLE)
    loopback.connect("1")
    loopback.client.poll()
    assert loopback.client.disconnected == {}
    loopback.clock.advance(11)
    loopback.client.poll()
    end = loopback.client.disconnected["1"]

    assert (end.state, end.error) == (ChannelState.EXPIRED, None)
    loopback.poll_until(lambda: loopback.server.disconnected)


def test_one_connection_expires_in_a_poll(make_loopback: MakeLoopback) -> None:
    """The others follow in the polls to come, the one that was unused for longest first."""
    loopback = make_loopback(client=IDLE)
    for channel_id in "abc":
        loopback.connect(channel_id)
    loopback.clock.advance(1)
    loopback.client.send("a", b"question")
    loopback.poll_until(lambda: loopback.client.receives)
    loopback.clock.advance(30)
    expired = []
    for _ in range(4):
        loopback.client.poll()
        expired.append(list(loopback.client.selector.disconnected))

    assert expired == [["b"], ["c"], ["a"], []]


@pytest.mark.parametrize("is_peer_gone", [False, True])
def test_a_muted_connection_expires_with_what_was_not_read(
    make_loopback: MakeLoopback, *, is_peer_gone: bool
) -> None:
    """Unread frames keep no connection that nobody reads, whether the peer is there or gone."""
    loopback = make_loopback(server=IDLE)
    server_id = loopback.connect("1")
    loopback.server.selector.mute(server_id)
    loopback.send("1", b"0", b"1", b"2")
    if is_peer_gone:
        loopback.client.selector.close_channel("1")
    loopback.clock.advance(11)
    loopback.server.poll()

    assert loopback.server.receives == []
    assert loopback.server.disconnected[server_id].state is ChannelState.EXPIRED


def test_a_connection_does_not_expire_while_it_is_read(make_loopback: MakeLoopback) -> None:
    """One frame a poll, however much time passes between: it is in use until there is no more."""
    loopback = make_loopback(server=IDLE)
    server_id = loopback.connect("1")
    loopback.server.is_echoing = False
    loopback.server.selector.mute(server_id)
    loopback.send("1", b"0", b"1", b"2")
    loopback.server.selector.unmute(server_id)
    for number in range(3):
        loopback.clock.advance(11)
        while len(loopback.server.receives) == number:
            loopback.server.poll(1_000_000)
        assert loopback.server.disconnected == {}
    loopback.clock.advance(11)
    loopback.server.poll()

    assert loopback.server.payloads == [b"0", b"1", b"2"]
    assert loopback.server.disconnected[server_id].state is ChannelState.EXPIRED
