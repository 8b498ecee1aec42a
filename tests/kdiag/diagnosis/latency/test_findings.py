from collections.abc import Sequence

import pytest

from kdiag.diagnosis.latency.findings import JudgedSeries, NodeLatency, find
from kdiag.diagnosis.latency.split import LatencySplit
from kdiag.diagnosis.latency.stalls import Stall, StallPlace

MS = 1_000_000
QUICK = JudgedSeries("produce acks=1", LatencySplit(queued_ns=MS, broker_ns=2 * MS), [], {})


@pytest.mark.parametrize(
    ("place", "rule"), [(StallPlace.ANSWER, "KD7001"), (StallPlace.BROKER, "KD7002")]
)
def test_a_stall_is_found_where_it_is(place: StallPlace, rule: str) -> None:
    """Of answers in two pieces we are sure; elsewhere a cluster is all there is."""
    (finding,) = find([QUICK._replace(stalls=[Stall(place, 40, 12, 0.124)])])
    assert finding.id == rule
    assert finding.title.startswith("12 % of")
    assert "produce acks=1" in finding.title
    assert finding.evidence["stall_ms"] == 40


def test_what_one_stall_explains_is_told_once() -> None:
    """A cluster at the broker says nothing new beside answers in two pieces."""
    stalls = [Stall(place, 40, 12, 0.12) for place in StallPlace]
    assert [each.id for each in find([QUICK._replace(stalls=stalls)])] == ["KD7001"]
    other = Stall(StallPlace.BROKER, 200, 12, 0.12)
    found = find([QUICK._replace(stalls=[stalls[0], other])])
    assert [each.id for each in found] == ["KD7001", "KD7002"]


def test_a_stall_of_several_kinds_is_told_once_with_all_of_them() -> None:
    """With its part of all their answers; where answers stall, a broker is not suspected."""
    first = QUICK._replace(what="a", stalls=[Stall(StallPlace.ANSWER, 40, 10, 0.1)])
    second = QUICK._replace(what="b", stalls=[Stall(StallPlace.ANSWER, 40, 100, 1.0)])
    third = QUICK._replace(what="c", stalls=[Stall(StallPlace.BROKER, 40, 10, 0.1)])
    (finding,) = find([third, first, second])
    assert finding.title == "55 % of the answers to a, b come in two pieces, 40 ms apart"
    assert finding.evidence["count"] == 110


def test_a_fetch_that_is_late_for_a_stall_is_no_finding_of_its_own() -> None:
    """The consumer asks again as soon as it has the answer."""
    median = LatencySplit(asking_ns=16 * MS, receiving_ns=41 * MS)
    series = QUICK._replace(median=median, stalls=[Stall(StallPlace.ANSWER, 40, 12, 1.0)])
    assert [each.id for each in find([series])] == ["KD7001"]


@pytest.mark.parametrize(
    ("median", "is_found"),
    [
        (LatencySplit(queued_ns=8 * MS, broker_ns=2 * MS), True),
        (LatencySplit(queued_ns=4 * MS), False),
        (LatencySplit(queued_ns=8 * MS, broker_ns=20 * MS), False),
    ],
    ids=["queued", "quick", "broker"],
)
def test_a_rate_that_is_not_kept_is_found(median: LatencySplit, *, is_found: bool) -> None:
    """Most of the median is waiting to be sent, and it is no trifle."""
    assert [each.id for each in find([QUICK._replace(median=median)])] == ["KD7003"] * is_found


@pytest.mark.parametrize(("asking_ms", "is_found"), [(16, True), (4, False), (6, False)])
def test_records_that_wait_for_the_next_fetch_are_found(asking_ms: int, *, is_found: bool) -> None:
    """A quarter of the median, and no trifle."""
    median = LatencySplit(path_ns=20 * MS, asking_ns=asking_ms * MS)
    assert [each.id for each in find([QUICK._replace(median=median)])] == ["KD7005"] * is_found


def test_a_broker_that_is_slower_than_the_others_is_found() -> None:
    """By its mean, which is told beside that of the others."""
    slow = NodeLatency(50, LatencySplit(path_ns=MS, broker_ns=8 * MS))
    quick = NodeLatency(50, LatencySplit(path_ns=MS, broker_ns=2 * MS))
    (finding,) = find([QUICK._replace(nodes={1: quick, 2: slow, 3: quick})])
    assert finding.id == "KD7004"
    assert finding.title == (
        "broker 2 takes 9.0 ms for produce acks=1 on average, the others 3.0 ms"
    )
    assert "takes 1.0 ms" in finding.fix


def test_brokers_that_are_alike_are_not_found() -> None:
    """Nor is one alone, nor one with a handful of latencies."""
    quick = NodeLatency(50, LatencySplit(broker_ns=2 * MS))
    rare = NodeLatency(5, LatencySplit(broker_ns=50 * MS))
    assert list(find([QUICK._replace(nodes={1: quick, 2: quick})])) == []
    assert list(find([QUICK._replace(nodes={1: quick, 2: rare})])) == []
    assert list(find([QUICK._replace(nodes={1: quick})])) == []


SLOW_NS = [560 * MS, 574 * MS, 590 * MS, 610 * MS, 1_000 * MS]
QUICK_NS = [each * MS for each in range(10, 22)]
PATH = LatencySplit(path_ns=MS)


def ranked(*samples: Sequence[int], mean: LatencySplit = PATH) -> list[str]:
    """Return what is found where consumers ask late, with samples of brokers."""
    nodes = {
        number: NodeLatency(len(sample), mean, sample)
        for number, sample in enumerate(samples, start=1)
    }
    median = LatencySplit(path_ns=20 * MS, asking_ns=16 * MS)
    return [each.id for each in find([QUICK._replace(median=median, nodes=nodes)])]


def test_few_late_answers_of_a_broker_are_enough() -> None:
    """Ranks decide; that the consumer asks late is no finding beside it."""
    assert ranked(QUICK_NS, QUICK_NS, SLOW_NS) == ["KD4403"]
    assert ranked(QUICK_NS, QUICK_NS, [5_000 * MS] * 5) == ["KD4403"]


@pytest.mark.parametrize(
    ("samples", "mean"),
    [
        ((QUICK_NS, QUICK_NS, SLOW_NS[:2]), PATH),
        ((SLOW_NS, SLOW_NS, SLOW_NS), PATH),
        ((QUICK_NS, QUICK_NS, [45 * MS] * 5), PATH),
        ((QUICK_NS, QUICK_NS, SLOW_NS), LatencySplit()),
    ],
    ids=["chance", "all are slow", "no trifle, but near", "the way there is not known"],
)
def test_what_may_be_chance_or_distance_is_not_slow(
    samples: Sequence[Sequence[int]], mean: LatencySplit
) -> None:
    """Nor what is as slow elsewhere."""
    assert ranked(*samples, mean=mean) == ["KD7005"]
