from collections.abc import Callable

import pytest

from kdiag.clock import NS_PER_S, ManualClock
from kdiag.errors import ConfigError
from kdiag.lab.fault.fault_book import FaultBook, covers
from kdiag.lab.fault.fault_file import MOST_FAULTS
from kdiag.lab.fault.fault_plan import FaultCall
from kdiag.lab.fault.grammar import parse_fault
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchTopic
from kdiag.wire.api.heartbeat import HeartbeatRequest

MakeCall = Callable[..., FaultCall]


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that stands still."""
    return ManualClock()


@pytest.fixture
def book(clock: ManualClock) -> FaultBook:
    """Return a book without faults."""
    return FaultBook(clock)


def fires(book: FaultBook, call: FaultCall, count: int) -> list[int]:
    """Return which of some equal requests a fault happens to."""
    return [number for number in range(1, count + 1) if book.plan(call).planned]


@pytest.mark.parametrize(
    ("text", "is_covered"),
    [
        ("delay=1s", True),
        ("Fetch delay=1s", True),
        ("Produce,Fetch delay=1s", True),
        ("Produce delay=1s", False),
        ("version=4-12 delay=1s", True),
        ("version=13+ delay=1s", False),
        ("node=1 connection=3 delay=1s", True),
        ("node=2 delay=1s", False),
        ("connection=4 delay=1s", False),
        ("client_id=app-* delay=1s", True),
        ("client_id=x* delay=1s", False),
        ("topic=ord* partition=1 delay=1s", True),
        ("topic=ord* partition=2 delay=1s", False),
        ("partition=1 delay=1s", True),
        ("topic=x delay=1s", False),
        ("group=g delay=1s", False),
    ],
)
def test_all_filters_must_let_a_request_through(
    call_of: MakeCall, text: str, *, is_covered: bool
) -> None:
    """Each by itself."""
    topic = FetchTopic(topic="orders", partitions=[FetchPartition(partition=1)])
    call = call_of(FetchRequest(topics=[topic]), 12, connection="3")
    assert covers(parse_fault(text).match, call) == is_covered


@pytest.mark.parametrize(
    ("text", "fired"),
    [
        ("nth=2 delay=1s", [2]),
        ("nth=3-4 delay=1s", [3, 4]),
        ("every=3 delay=1s", [3, 6]),
        ("times=2 delay=1s", [1, 2]),
        ("nth=2+ times=1 delay=1s", [2]),
        ("p=0 delay=1s", []),
    ],
)
def test_calls_are_counted(book: FaultBook, call_of: MakeCall, text: str, fired: list[int]) -> None:
    """Of those that the filters let through."""
    fault = book.add(parse_fault(text))
    assert fires(book, call_of(FetchRequest()), 6) == fired
    (listed,) = book.listed()
    assert (listed.fault_id, listed.seen_count) == (fault.fault_id, 6)
    assert listed.fired_count == len(fired)


def test_chance_repeats_with_its_seed(call_of: MakeCall) -> None:
    """The same seed, the same requests."""
    found = []
    for seed in (1, 1, 2):
        book = FaultBook(ManualClock())
        book.add(parse_fault(f"p=0.5 seed={seed} delay=1ms jitter=1ms"))
        found.append(fires(book, call_of(FetchRequest()), 40))
    assert found[0] == found[1] != found[2]
    assert 5 < len(found[0]) < 35


def test_a_fault_has_its_time(book: FaultBook, clock: ManualClock, call_of: MakeCall) -> None:
    """Since it was added."""
    book.add(parse_fault("after=2s for=3s delay=1s"))
    call = call_of(FetchRequest())
    seconds = []
    for second in range(8):
        seconds += [second] if book.plan(call).planned else []
        clock.advance(NS_PER_S)
    assert seconds == [2, 3, 4]


def test_a_situation_lasts_and_is_counted(
    book: FaultBook, clock: ManualClock, call_of: MakeCall
) -> None:
    """Other requests are concerned until it is over."""
    book.add(parse_fault("Fetch nth=1 storm=2s"))
    heartbeat = call_of(HeartbeatRequest(group_id="g"))
    assert not book.plan(heartbeat).planned
    book.plan(call_of(FetchRequest()))
    assert book.plan(heartbeat).first("error") == "NOT_COORDINATOR"
    assert len(book.moved_groups()) == 1
    clock.advance(2 * NS_PER_S)
    assert not book.plan(heartbeat).planned
    assert book.moved_groups() == []
    (listed,) = book.listed()
    assert (listed.fired_count, listed.situation_count) == (1, 1)


def test_faults_are_removed(book: FaultBook, call_of: MakeCall) -> None:
    """By number, or all of them."""
    first, second = (book.add(parse_fault(f"delay={each}s")) for each in (1, 2))
    book.count_passed(second.rule.match)
    removed = book.remove(second.fault_id)
    assert removed is not None
    assert removed.passed_count == 1
    assert book.remove(second.fault_id) is None
    assert [each.fault_id for each in book.listed()] == [first.fault_id]
    assert (book.clear(), len(book)) == (1, 0)
    assert not book.plan(call_of(FetchRequest())).planned


def test_there_are_not_too_many(book: FaultBook) -> None:
    """A program that adds them for ever is told."""
    rule = parse_fault("delay=1s")
    for _ in range(MOST_FAULTS):
        book.add(rule)
    with pytest.raises(ConfigError, match="remove some"):
        book.add(rule)
