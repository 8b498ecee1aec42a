from kdiag.diagnosis.latency.fetch_waits import FetchTally, FetchWait
from kdiag.diagnosis.latency.histogram import LatencyHistogram
from kdiag.diagnosis.latency.split import LatencySplit
from kdiag.errors import RequestTimeoutError
from kdiag.probe.latency.results import LatencyResults, NodeShare, SeriesKind


def test_a_warm_up_does_not_count() -> None:
    """By when a request was due, not by when it was answered."""
    results = LatencyResults(counted_from_ns=100)
    series = results.of(SeriesKind.PRODUCE, 1)
    found = []
    for due_ns in (99, 100):
        results.add(series, due_ns, LatencySplit(broker_ns=7), 1)
        found.append(results.has_latencies)
    assert found == [False, True]
    assert series.latencies.count == series.stalls.count == series.nodes[1].count == 1


def test_kinds_stay_in_the_order_in_which_they_came() -> None:
    """Asking again gives the same."""
    results = LatencyResults()
    first = results.of(SeriesKind.PRODUCE, 1)
    results.of(SeriesKind.PRODUCE, 0)
    assert results.of(SeriesKind.PRODUCE, 1) is first
    assert [acks for _, acks in results.series] == [1, 0]


def test_problems_are_counted_by_what_they_say() -> None:
    """The first of each is kept, for the exit code."""
    results = LatencyResults()
    series = results.of(SeriesKind.COMMIT)
    late = RequestTimeoutError("late")
    for problem in (late, RequestTimeoutError("late"), "GROUP_AUTHORIZATION_FAILED"):
        results.fail(problem, series)
    results.fail_fetch("NOT_LEADER_OR_FOLLOWER")
    assert series.errors == {"late": 2, "GROUP_AUTHORIZATION_FAILED": 1}
    assert results.problems["late"] is late
    assert list(results.problems)[1:] == ["GROUP_AUTHORIZATION_FAILED", "NOT_LEADER_OR_FOLLOWER"]
    assert results.has_errors
    assert results.warnings == ["a fetch failed: NOT_LEADER_OR_FOLLOWER"]


def test_fetches_alone_are_latencies_too() -> None:
    """A topic may only be read."""
    tally = FetchTally(FetchWait(1, 500), LatencyHistogram())
    results = LatencyResults(sweep=[tally])
    before = results.has_latencies
    tally.add(LatencySplit(broker_ns=1), 0)
    assert (before, results.has_latencies) == (False, True)


def test_a_warning_is_told_once() -> None:
    """However often it is true."""
    results = LatencyResults()
    results.warn("a")
    results.warn("a")
    assert results.warnings == ["a"]


def test_the_share_of_a_broker_has_a_mean() -> None:
    """Of each part."""
    share = NodeShare()
    assert share.mean == LatencySplit()
    share.add(LatencySplit(broker_ns=2))
    share.add(LatencySplit(broker_ns=4, path_ns=2))
    assert (share.count, share.mean) == (2, LatencySplit(broker_ns=3, path_ns=1))
