from collections import defaultdict
from functools import partial

import pyarrow as pa
import pytest
from pyarrow import compute

from folders import CAPTURES
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.pipeline.rows.group_rows import events_in, events_of, first_fetches, tabulate_groups
from kdiag.wire import api_keys
from spark_runs.pipeline_parts import Tables, comparable, decoded, in_one_process, told_of

CAPTURE = CAPTURES / "rebalance.pcap"


@pytest.fixture(scope="module")
def frames() -> list[pa.RecordBatch]:
    """Return the frames of a capture with a group."""
    return decoded([CAPTURE], 3, 1 << 14)["frames"]


@pytest.mark.thorough
def test_the_rows_of_a_group_are_those_of_one_process(
    frames: list[pa.RecordBatch],
) -> None:
    """Of sightings and of frames, with the capture that holds the packet of the cause."""
    told_rows = [batch for part in told_of(frames).values() for batch in part]
    for events in (events_of(told_rows, TopicNames()), events_in(frames, TopicNames())):
        tables: Tables = defaultdict(list)
        tabulate_groups(
            events,
            frames,
            partial(add, tables),
            lambda packet: f"holds {packet}",
        )
        require_expected(tables)


def add(tables: Tables, name: str, batch: pa.RecordBatch) -> None:
    """Add rows to those of a table."""
    tables[name].append(batch)


def require_expected(tables: Tables) -> None:
    """Require the rows that one process makes."""
    expected = in_one_process([CAPTURE])
    rows = pa.Table.from_batches(tables["rebalances"]).to_pylist()

    for table in ("rebalances", "members"):
        assert comparable(tables[table]) == comparable(expected[table]) != []
    for row in rows:
        packet = row["packet"]
        assert row["capture_file"] == (None if packet is None else f"holds {packet}")


def test_the_first_fetch_behind_a_moment_is_found_in_the_columns(
    frames: list[pa.RecordBatch],
) -> None:
    """Of this client alone; behind the last one there is none."""
    whole = pa.Table.from_batches(frames)
    fetches = whole.filter(compute.equal(whole["api_key"], api_keys.FETCH)).to_pylist()
    client_id = fetches[0]["client_id"]
    points = sorted(
        (row["request_last_byte_ns"], row["request_first_packet"])
        for row in fetches
        if row["client_id"] == client_id
    )
    key: tuple[str | None, str | None] = (client_id, "127.0.0.1")
    moments = [0, points[1][0], points[-1][0] + 1]
    syncs = {key: moments, ("nobody", "127.0.0.1"): [0]}

    assert first_fetches(frames, syncs) == {(key, 0): points[0], (key, moments[1]): points[1]}
