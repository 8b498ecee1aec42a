from typing import TYPE_CHECKING

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kdiag.report.arrow import arrow_schema
from kdiag.report.tables.catalog import TABLES
from kdiag.report.tables.latency_counts import LatencyCounts, shift_of
from recordings.capture_tables import tables_of_items
from recordings.exchange_maker import make_heartbeat

if TYPE_CHECKING:
    import pyarrow as pa

MOST_NS = 1 << 62
LATENCIES = st.integers(0, MOST_NS)


def bounds(latency_ns: int) -> tuple[int, int]:
    """Return the bounds of the bucket of a latency."""
    (shift,) = shift_of(np.array([latency_ns], np.int64)).tolist()
    from_ns = latency_ns >> shift << shift
    return from_ns, from_ns + (1 << shift)


@given(LATENCIES)
def test_a_bucket_holds_its_latencies_and_is_narrow(latency_ns: int) -> None:
    """So its middle is at most 1/128 off."""
    from_ns, below_ns = bounds(latency_ns)

    assert from_ns <= latency_ns < below_ns
    assert below_ns - from_ns == 1 or (below_ns - from_ns) * 64 <= from_ns


@given(LATENCIES)
def test_buckets_follow_each_other_without_gaps(latency_ns: int) -> None:
    """Whoever counts finds the same buckets: they add up."""
    from_ns, below_ns = bounds(latency_ns)

    assert bounds(from_ns) == bounds(below_ns - 1) == (from_ns, below_ns)
    assert bounds(below_ns)[0] == below_ns


def test_what_has_no_latency_is_not_counted() -> None:
    """It was not answered, or by the clock before it was asked."""
    tables = tables_of_items(make_heartbeat(None), make_heartbeat(-1), make_heartbeat(0))

    assert tables["exchanges"].num_rows == 3
    assert tables["latency_minutes"].column("answers").to_pylist() == [1]


def test_counts_are_emitted_before_there_are_too_many() -> None:
    """They add up, whichever rows they are in."""
    heartbeats = map(make_heartbeat, range(0, 100 << 20, 1 << 20))
    (exchanges,) = tables_of_items(*heartbeats)["exchanges"].to_batches()
    rows: list[pa.RecordBatch] = []
    schema = arrow_schema(TABLES["latency_minutes"])
    counts = LatencyCounts(schema, lambda _, batch: rows.append(batch), max_rows=30)
    for _ in range(3):
        counts.add(exchanges)
    early = [batch.num_rows for batch in rows]
    counts.flush()
    counts.flush()

    assert early == [30, 30, 30, 10], "after the second time"
    assert {batch.schema for batch in rows} == {schema}
    assert sum(sum(batch.column("answers").to_pylist()) for batch in rows) == 300
