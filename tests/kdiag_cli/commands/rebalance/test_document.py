import json
from pathlib import Path
from typing import Any

import pytest

from group_stories.recorded_groups import histories_of_capture, recorded_group
from kdiag_cli.commands.rebalance.document import document, iso_text


@pytest.fixture(name="group")
def _group(tmp_path: Path) -> dict[str, Any]:
    """Return the document of a group, as it comes back from JSON."""
    (history,) = histories_of_capture(recorded_group("reb_crash_confluent").capture, tmp_path)
    found: dict[str, Any] = json.loads(json.dumps(document(history)))
    return found


def test_a_group_has_its_shape(group: dict[str, Any]) -> None:
    """As the contract of the output has it."""
    keys = ["group", "type", "cluster", "protocol_type", "source", "rebalances", "members"]
    assert list(group) == keys
    assert group["cluster"] is None, "the only one of its capture"
    assert (group["group"], group["type"]) == ("grp-crash", "classic")
    assert (group["protocol_type"], group["source"]) == ("consumer", "capture")


def test_a_rebalance_has_its_shape(group: dict[str, Any]) -> None:
    """Causes, phases, the slowest and what moved."""
    second = group["rebalances"][1]

    assert list(second) == [
        "generation",
        "previous",
        "started",
        "ended",
        "duration_ms",
        "cause",
        "causes",
        "confidence",
        "reason",
        "evidence",
        "member_count",
        "phases",
        "slowest",
        "moved",
    ]
    assert (second["generation"], second["previous"], second["member_count"]) == (2, 1, 2)
    assert (second["cause"], second["confidence"]) == ("member_joined", "certain")
    assert second["evidence"][0]["kind"] == "packet"
    assert second["started"].endswith("Z")
    assert second["slowest"]["wait_ms"] > 0
    assert (second["moved"]["count"], second["moved"]["of"]) == (2, 4)
    assert {*second["moved"]["partitions"][0]} == {"topic", "partition", "from", "to"}


def test_phases_are_in_milliseconds(group: dict[str, Any]) -> None:
    """What was not seen is null."""
    for phases in group["rebalances"][1]["phases"]:
        assert phases["join_ms"] > 0
        assert phases["sync_ms"] > 0
        assert {"find_coordinator_ms", "first_heartbeat_ms", "first_fetch_ms"} <= phases.keys()


def test_members_are_told_once(group: dict[str, Any]) -> None:
    """With all their generations."""
    generations = {each["member_id"][:7]: each["generations"] for each in group["members"]}

    assert len(group["members"]) == 2
    assert generations == {"rdkafka": [1, 2]} | generations
    assert all(each["client_host"] == "127.0.0.1" for each in group["members"])


def test_one_generation_can_be_chosen(tmp_path: Path) -> None:
    """The members are told nevertheless."""
    (history,) = histories_of_capture(recorded_group("reb_crash_confluent").capture, tmp_path)
    chosen = document(history, 3)

    assert [each["generation"] for each in chosen["rebalances"]] == [3]
    assert len(chosen["members"]) == 2


def test_moments_have_nanoseconds() -> None:
    """In UTC; what is not known is null."""
    assert iso_text(1_795_257_647_555_000_001) == "2026-11-21T10:40:47.555000001Z"
    assert iso_text(None) is None
