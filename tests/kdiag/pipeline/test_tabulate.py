import pyarrow as pa
import pytest

from folders import CAPTURES
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.pipeline.tabulate import (
    NAMES,
    SESSIONS,
    add_names,
    follow_sessions,
    name_bytes,
    read_names,
    read_sessions,
    tabulate,
    topic_names,
)
from kdiag.report.arrow import TableBatches
from spark_runs.pipeline_parts import decoded


def test_sessions_are_followed_from_their_first_fetch_on() -> None:
    """Incremental fetches read what the session remembers."""
    outcome = decoded([CAPTURES / "transaction.pcap"], 1, 1 << 20)
    batches = list(follow_sessions(outcome["fetches"]))
    sessions = read_sessions(batches)

    assert {batch.schema for batch in batches} == {SESSIONS}
    assert sessions
    assert all(partition >= 0 for each in sessions.values() for _, partition in each)
    assert list(follow_sessions([])) == []


def test_of_several_names_for_one_topic_the_first_counts() -> None:
    """Whichever part found it, and whatever bytes it has."""
    rows = [("a", b"late", 9), ("a", b"f\xffrst", 2), ("b", b"other", 5)]
    columns = zip(*rows, strict=True)
    arrays = [pa.array(each, field.type) for each, field in zip(columns, NAMES, strict=True)]
    names = read_names([pa.RecordBatch.from_arrays(arrays, schema=NAMES)])
    add_names(names, {"b": (4, b"earlier"), "c": (1, b"new")})

    assert names == {"a": (2, b"f\xffrst"), "b": (4, b"earlier"), "c": (1, b"new")}
    text = topic_names({each: name for each, (_, name) in names.items()}).known
    assert text["a"] == "f\udcffrst"
    assert name_bytes(text)["a"] == b"f\xffrst"


@pytest.mark.thorough
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
