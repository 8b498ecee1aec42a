from typing import TYPE_CHECKING

from folders import CAPTURES
from kdiag.exchange.topic_names import TopicNames
from kdiag.pipeline.tabulate import SESSIONS, follow_sessions, read_sessions, tabulate
from kdiag.report.arrow import TableBatches
from spark_runs.pipeline_parts import decoded

if TYPE_CHECKING:
    import pyarrow as pa


def test_sessions_are_followed_from_their_first_fetch_on() -> None:
    """Incremental fetches read what the session remembers."""
    outcome = decoded([CAPTURES / "transaction.pcap"], 1, 1 << 20)
    batches = list(follow_sessions(outcome["fetches"]))
    sessions = read_sessions(batches)

    assert {batch.schema for batch in batches} == {SESSIONS}
    assert sessions
    assert all(partition >= 0 for each in sessions.values() for _, partition in each)
    assert list(follow_sessions([])) == []


def test_rows_come_with_names_and_sessions_that_are_given() -> None:
    """Nothing of either is kept between exchanges."""
    outcome = decoded([CAPTURES / "transaction.pcap"], 1, 1 << 20)
    sessions = read_sessions(follow_sessions(outcome["fetches"]))
    number, topics = next(iter(sessions.items()))
    found: dict[str, list[pa.RecordBatch]] = {}
    tables = TableBatches(
        lambda name, batch: found.setdefault(name, []).append(batch),
        TopicNames({topics[0][0]: "a name"}),
    )
    tabulate(outcome["frames"], {number: topics}, tables)
    rows = {row["number"]: row for batch in found["exchanges"] for row in batch.to_pylist()}

    assert "a name" in rows[number]["topics"]
    assert [key for key, row in rows.items() if row["session_topics"]] == [number]
