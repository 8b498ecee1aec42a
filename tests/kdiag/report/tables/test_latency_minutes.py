from hypothesis import given
from hypothesis import strategies as st

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.report.tables.exchanges import facts_of
from kdiag.report.tables.latency_minutes import (
    LATENCY_MINUTES,
    MINUTE_NS,
    LatencyBucket,
    bucket_of,
    latency_row,
)
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from recordings.exchange_maker import START_NS, make_exchange

MOST_NS = 1 << 62


def bucket(latency_ns: int | None) -> LatencyBucket | None:
    """Return the bucket of a heartbeat that took so long."""
    response = None if latency_ns is None else HeartbeatResponse()
    exchange = make_exchange(HeartbeatRequest(), response, version=4)
    if latency_ns is not None:
        assert exchange.response is not None
        exchange.response.first_byte_ns = START_NS + latency_ns
    return bucket_of(facts_of(Dissection(exchange), TopicNames()))


def bounds(latency_ns: int) -> tuple[int, int]:
    """Return the bounds of the bucket of a latency."""
    found = bucket(latency_ns)
    assert found is not None
    return found.from_ns, found.below_ns


@given(st.integers(0, MOST_NS))
def test_a_bucket_holds_its_latencies_and_is_narrow(latency_ns: int) -> None:
    """So its middle is at most 1/128 off."""
    from_ns, below_ns = bounds(latency_ns)

    assert from_ns <= latency_ns < below_ns
    assert below_ns - from_ns == 1 or (below_ns - from_ns) * 64 <= from_ns


@given(st.integers(0, MOST_NS))
def test_buckets_follow_each_other_without_gaps(latency_ns: int) -> None:
    """Whoever counts finds the same buckets: they add up."""
    from_ns, below_ns = bounds(latency_ns)

    assert bounds(from_ns) == bounds(below_ns - 1) == (from_ns, below_ns)
    assert bounds(below_ns)[0] == below_ns


def test_a_row_says_what_answers_have_in_common() -> None:
    """The minute in which they began, who asked whom for what, and the bounds."""
    found = bucket(1_000_000)
    assert found is not None
    names = [column.name for column in LATENCY_MINUTES.columns]
    row = dict(zip(names, latency_row(found, 7), strict=True))

    assert row["time_ns"] == START_NS // MINUTE_NS * MINUTE_NS == row["time"] * 1000
    assert (row["api"], row["api_key"], row["answers"]) == ("Heartbeat", 12, 7)
    assert (row["from_ns"], row["below_ns"]) == (999_424, 1_007_616)
    assert (
        row["client_host"] in make_exchange(HeartbeatRequest(), None, version=4).connection.client
    )


def test_what_was_not_answered_is_not_counted() -> None:
    """It has no latency."""
    assert bucket(None) is None
