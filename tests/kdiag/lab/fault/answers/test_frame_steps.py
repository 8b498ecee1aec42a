from collections.abc import Callable

import pytest

from kdiag.clock import NS_PER_MS
from kdiag.lab.fault.answers.frame_steps import AnswerEnd, framed, leave_by
from kdiag.lab.fault.fault_plan import FaultCall, FaultPlan, PlannedEffect
from kdiag.lab.fault.grammar import parse_fault
from kdiag.wire.api.heartbeat import HeartbeatRequest

PAYLOAD = bytes(range(100))


@pytest.fixture
def leave(
    call_of: Callable[..., FaultCall],
) -> Callable[[str], tuple[list[bytes], list[int], AnswerEnd]]:
    """Return a function that returns writes, pauses and the end of an answer."""

    def make(text: str) -> tuple[list[bytes], list[int], AnswerEnd]:
        rule = parse_fault(text)
        planned = (PlannedEffect(rule.match, rule.effect),)
        departure = leave_by(FaultPlan(call_of(HeartbeatRequest()), planned), PAYLOAD)
        steps = [*departure.steps]
        return [each.data for each in steps], [each.wait_ns for each in steps], departure.ending

    return make


Leave = Callable[[str], tuple[list[bytes], list[int], AnswerEnd]]


@pytest.mark.parametrize(
    ("text", "data", "ending"),
    [
        ("delay=1s", framed(PAYLOAD), AnswerEnd.DONE),
        ("close=before", b"", AnswerEnd.CLOSE),
        ("close=middle", framed(PAYLOAD)[:52], AnswerEnd.CLOSE),
        ("close=after", framed(PAYLOAD), AnswerEnd.CLOSE),
        ("stall=3", framed(PAYLOAD)[:3], AnswerEnd.SILENCE),
        ("drop=answer", b"", AnswerEnd.SILENCE),
        ("truncate=10", framed(PAYLOAD[:10]), AnswerEnd.DONE),
        ("truncate=1000", framed(PAYLOAD), AnswerEnd.DONE),
        ("corrupt=0", framed(b"\xff" + PAYLOAD[1:]), AnswerEnd.DONE),
        ("corrupt=-1", framed(PAYLOAD[:-1] + bytes([99 ^ 255])), AnswerEnd.DONE),
        ("corrupt=100", framed(PAYLOAD), AnswerEnd.DONE),
        ("corrupt=-101", framed(PAYLOAD), AnswerEnd.DONE),
        ("corrupt=0 truncate=1", framed(b"\xff"), AnswerEnd.DONE),
    ],
)
def test_bytes_leave_as_far_as_they_should(
    leave: Leave, text: str, data: bytes, ending: AnswerEnd
) -> None:
    """In one write."""
    assert leave(text) == ([data] if data else [], [0] if data else [], ending)


def test_writes_are_split(leave: Leave) -> None:
    """Without a pause."""
    data, pauses, _ = leave("split=40")
    assert ([*map(len, data)], pauses) == ([40, 40, 24], [0, 0, 0])
    assert b"".join(data) == framed(PAYLOAD)


def test_a_bandwidth_is_kept_by_pauses(leave: Leave) -> None:
    """Of 20 ms, or as long as a byte takes."""
    data, pauses, _ = leave("bandwidth=2kB/s")
    assert [*map(len, data)] == [40, 40, 24]
    assert pauses == [20 * NS_PER_MS] * 3
    data, pauses, _ = leave("bandwidth=10B/s")
    assert (len(data), pauses[0]) == (104, 100 * NS_PER_MS)
