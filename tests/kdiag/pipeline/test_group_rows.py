from collections import defaultdict

import pyarrow as pa
import pytest
from pyarrow import compute

from folders import CAPTURES
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.pipeline.group_rows import (
    OF_ALL,
    GroupFrames,
    divide_groups,
    first_fetches,
    of_part,
    tabulate_groups,
)
from kdiag.pipeline.rows.frames import FRAMES
from kdiag.wire import api_keys
from spark_runs.pipeline_parts import Tables, comparable, decoded, in_one_process

CAPTURE = CAPTURES / "rebalance.pcap"
PARTS = 2


@pytest.fixture(scope="module")
def frames() -> list[pa.RecordBatch]:
    """Return the frames of a capture with a group."""
    return decoded([CAPTURE], 3, 1 << 14)["frames"]


def test_frames_of_groups_are_divided_by_groups(frames: list[pa.RecordBatch]) -> None:
    """A group is in one part; what names none is for all, and fetches are left out."""
    divided: Tables = defaultdict(list)
    divide_groups(frames, PARTS, lambda name, batch: divided[name].append(batch))
    keys = {
        name: set(pa.Table.from_batches(rows)["api_key"].to_pylist())
        for name, rows in divided.items()
    }

    assert len(keys.keys() - {OF_ALL}) == 1
    (part,) = keys.keys() - {OF_ALL}
    assert part in {of_part(number) for number in range(PARTS)}
    assert {api_keys.JOIN_GROUP, api_keys.SYNC_GROUP, api_keys.FIND_COORDINATOR} <= keys[part]
    assert keys[OF_ALL] == {api_keys.API_VERSIONS, api_keys.METADATA}
    assert all(each.schema == FRAMES for rows in divided.values() for each in rows)


def test_the_rows_of_a_group_are_those_of_one_process(frames: list[pa.RecordBatch]) -> None:
    """With the capture that holds the packet of the cause."""
    tables: Tables = defaultdict(list)
    tabulate_groups(
        GroupFrames(frames, frames),
        TopicNames(),
        lambda name, batch: tables[name].append(batch),
        lambda packet: f"holds {packet}",
    )
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
