from typing import Any

import pytest

from folders import CAPTURES
from kdiag.diagnosis.rebalance.events import Event
from kdiag.report.tables.groups import MEMBERS, REBALANCES, group_rows
from recordings.capture_tables import report_rows, tables_of

CAPTURE = CAPTURES / "rebalance.pcap"
NO_EVENTS: tuple[Event, ...] = ()


def rows_of(table: str) -> list[dict[str, Any]]:
    """Return the rows of a table of a capture in which a second member joins and leaves."""
    rows: list[dict[str, Any]] = tables_of([CAPTURE])[table].to_pylist()
    return rows


def test_a_rebalance_is_a_row_with_its_cause() -> None:
    """Who, why, how sure that is, and the packet that shows it."""
    rows = rows_of("rebalances")
    joined = next(row for row in rows if row["cause"] == "member_joined")

    assert [row["generation"] for row in rows] == sorted(row["generation"] for row in rows)
    assert {row["type"] for row in rows} == {"classic"}
    assert joined["confidence"] == "certain"
    assert joined["packet"] > 0
    assert joined["client_host"] == "127.0.0.1"
    assert joined["software"] in {row["software"] for row in rows_of("members")}
    assert joined["cause_kinds"] == [each["cause"] for each in joined["causes"]]
    assert joined["causes"][0]["packets"] == [joined["packet"]]


def test_the_moments_of_a_rebalance_fit() -> None:
    """It begins before it ends, and nobody reads between the first join and the last sync."""
    for row in rows_of("rebalances"):
        if row["started_ns"] is not None and row["ended_ns"] is not None:
            assert row["duration_ns"] == row["ended_ns"] - row["started_ns"]
        synced = [each["synced_ns"] for each in row["phases"] if each["synced_ns"]]
        asked = [each["asked_ns"] for each in row["phases"] if each["asked_ns"]]
        expected = max(synced) - min(asked) if asked and synced else None
        assert row["stopped_ns"] == expected
        assert int(row["time"].timestamp() * 10**6) == row["time_ns"] // 1000


def test_partitions_that_moved_are_listed_with_both_members() -> None:
    """Of as many as were assigned."""
    moved = [row for row in rows_of("rebalances") if row["moved_count"]]

    assert moved
    for row in moved:
        assert row["moved_count"] == len(row["moved"]) <= row["partition_count"]
        assert all(each["source"] != each["target"] for each in row["moved"])


def test_a_member_is_a_row_with_its_generations() -> None:
    """Each that the rebalances name is there."""
    members = {row["member_id"]: row for row in rows_of("members")}
    named = {phase["member_id"] for row in rows_of("rebalances") for phase in row["phases"]}

    assert named <= members.keys()
    for row in members.values():
        assert row["first_ns"] <= row["last_ns"]
        assert row["session_timeout_ns"] is None or row["session_timeout_ns"] > 0
        assert row["generations"] == sorted(set(row["generations"]))


def test_no_groups_make_no_rows() -> None:
    """Their tables are there all the same, under these names."""
    assert list(group_rows(NO_EVENTS)) == []
    assert (REBALANCES.name, MEMBERS.name) == ("rebalances", "members")


@pytest.mark.thorough
def test_the_report_counts_rebalances_by_cause_and_client() -> None:
    """All of them, once; of the slowest members the worst."""
    tables = tables_of([CAPTURE])
    rows = rows_of("rebalances")
    answer = report_rows(tables, "rebalances")
    waits = [row["slowest_wait_ns"] for row in rows if row["slowest_wait_ns"] is not None]

    assert sum(row["rebalances"] for row in answer) == len(rows)
    assert {row["cause"] for row in answer} == {row["cause"] for row in rows}
    assert max(row["slowest_wait_ms"] or 0 for row in answer) == max(waits) // 10**6
    assert report_rows(tables, "rebalances", group="no such%") == []
