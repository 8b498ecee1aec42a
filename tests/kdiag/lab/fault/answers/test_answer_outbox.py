import socket
from collections.abc import Callable, Iterator

import pytest

from kdiag.clock import NS_PER_MS, NS_PER_S, ManualClock
from kdiag.lab.fault.answers.answer_outbox import HOLD_NS, AnswerOutbox, LeavingAnswer
from kdiag.lab.fault.answers.frame_steps import framed
from kdiag.lab.fault.fault_plan import FaultCall, FaultPlan, PlannedEffect
from kdiag.lab.fault.grammar import parse_fault
from kdiag.lab.timer.system_timer import SystemTimer
from kdiag.net.selector.selector import DEFAULT_SETTINGS, Selector
from kdiag.net.send import RawSend
from kdiag.net.server.processor import plaintext_channels
from kdiag.wire.api.heartbeat import HeartbeatRequest


class OneConnection:
    """An outbox with one connection, and its other end.

    Attributes:
        done: the answers that have left, by their bytes.
        ended: the connections that were closed.
    """

    def __init__(self, call: FaultCall) -> None:
        self.clock = ManualClock()
        listening = socket.create_server(("127.0.0.1", 0))
        self.peer = socket.create_connection(listening.getsockname())
        accepted, _ = listening.accept()
        listening.close()
        self.peer.settimeout(0)
        self.selector = Selector(
            self.clock, make_channel=plaintext_channels(self.clock), settings=DEFAULT_SETTINGS
        )
        accepted.settimeout(0)
        self.selector.register("1", accepted)
        self._timer = SystemTimer(self.clock)
        self.ended: list[str] = []
        self.done: list[bytes] = []
        self.outbox = AnswerOutbox(self.selector, self._timer, self.ended.append)
        self._call = call

    def put(self, payload: bytes, text: str = "") -> None:
        """Have an answer leave."""
        rules = [parse_fault(text)] if text else []
        plan = FaultPlan(
            self._call, tuple(PlannedEffect(each.match, each.effect) for each in rules)
        )
        self.outbox.put(LeavingAnswer("1", plan, payload, lambda: self.done.append(payload)))

    def pump(self, ns: int = 0) -> list[bytes]:
        """Let time pass, and return what came, write by write."""
        self.clock.advance(ns)
        came = []
        is_moving = True
        while is_moving:
            is_moving = self._timer.advance() > 0
            self.selector.poll(0)
            for send in self.selector.completed_sends:
                assert isinstance(send, RawSend)
                came.append(self.peer.recv(1 << 16))
                send.on_completed()
            is_moving |= bool(self.selector.completed_sends)
        return came


@pytest.fixture
def one(call_of: Callable[..., FaultCall]) -> Iterator[OneConnection]:
    """Return a connection."""
    made = OneConnection(call_of(HeartbeatRequest()))
    yield made
    made.selector.close()
    made.peer.close()


def test_an_answer_leaves(one: OneConnection) -> None:
    """And nothing is left of it."""
    one.put(b"a")
    assert one.outbox.is_busy("1")
    assert one.pump() == [framed(b"a")]
    assert (one.done, one.outbox.is_busy("1")) == ([b"a"], False)


def test_a_delay_holds_up_what_follows(one: OneConnection) -> None:
    """Answers keep their order."""
    one.put(b"a", "delay=100ms")
    one.put(b"b")
    assert one.pump(99 * NS_PER_MS) == []
    assert one.outbox.queued_count("1") == 1
    assert one.pump(2 * NS_PER_MS) == [framed(b"a"), framed(b"b")]
    assert one.done == [b"a", b"b"]


def test_a_bandwidth_takes_its_time(one: OneConnection) -> None:
    """Slice by slice."""
    one.put(bytes(96), "bandwidth=1kB/s")
    came = [len(b"".join(one.pump(20 * NS_PER_MS))) for _ in range(6)]
    assert sum(came) == 100
    assert max(came) == 20


def test_answers_leave_in_one_write(one: OneConnection) -> None:
    """The first counts as answered, so that the second request is read."""
    one.put(b"a", "coalesce=2")
    assert (one.pump(), one.done) == ([], [b"a"])
    one.put(b"b", "coalesce=2")
    assert one.pump() == [framed(b"a") + framed(b"b")]
    assert one.done == [b"a", b"b"]


def test_answers_leave_in_reverse_order(one: OneConnection) -> None:
    """In a write each."""
    one.put(b"a", "reorder=2")
    one.put(b"b", "reorder=2")
    assert one.pump() == [framed(b"b"), framed(b"a")]
    assert one.done == [b"a", b"b"]


def test_a_held_answer_does_not_wait_for_ever(one: OneConnection) -> None:
    """Nor is it overtaken by one that is not held."""
    one.put(b"a", "reorder=2")
    assert one.pump(HOLD_NS - NS_PER_MS) == []
    assert one.pump(2 * NS_PER_MS) == [framed(b"a")]
    one.put(b"b", "coalesce=3")
    one.put(b"c")
    assert one.pump() == [framed(b"b"), framed(b"c")]
    assert one.done == [b"a", b"b", b"c"]
    assert not one.outbox.is_busy("1")


def test_a_connection_falls_silent(one: OneConnection) -> None:
    """In the middle of an answer, and for good."""
    one.put(b"abc", "stall=5")
    one.put(b"d")
    assert one.pump() == [framed(b"abc")[:5]]
    assert one.pump(NS_PER_S) == []
    assert one.outbox.is_silent("1")
    one.put(b"e")
    assert (one.pump(), one.done) == ([], [])


def test_a_connection_is_closed(one: OneConnection) -> None:
    """Once the bytes before have left."""
    one.put(b"abc", "close=middle")
    assert one.pump() == [framed(b"abc")[:3]]
    assert (one.ended, one.done) == (["1"], [])
    assert not one.outbox.is_busy("1")


def test_a_throttle_holds_up_the_next_request(one: OneConnection) -> None:
    """The answer itself leaves at once (KIP-219)."""
    one.put(b"a", "throttle=1s")
    assert one.pump() == [framed(b"a")]
    assert one.done == []
    one.pump(NS_PER_S)
    assert one.done == [b"a"]


def test_a_connection_that_has_ended_is_forgotten(one: OneConnection) -> None:
    """Whether that was heard of or not."""
    one.put(b"a", "delay=1s")
    one.outbox.forget("1")
    assert one.pump(NS_PER_S) == []
    one.put(b"b", "delay=1s")
    one.selector.close_channel("1")
    assert (one.pump(NS_PER_S), one.outbox.is_busy("1")) == ([], False)
