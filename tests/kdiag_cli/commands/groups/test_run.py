import json
from typing import Any

import pytest

from kdiag.probe.groups import survey
from kdiag.wire.api.list_groups import ListGroupsResponse
from kdiag.wire.error_code import CODE_BY_NAME
from programs.kdiag_program import Done, kdiag
from scripted_kafka.group_cluster import GroupCluster


def run(cluster: GroupCluster, *arguments: str) -> Done:
    """Run the command."""
    return kdiag("groups", "-b", cluster.bootstrap, "--timeout", "20s", *arguments)


def document(done: Done) -> dict[str, Any]:
    """Return the document that was printed."""
    found: dict[str, Any] = json.loads(done.out)
    return found


def test_all_groups_are_a_table(cluster: GroupCluster) -> None:
    """With a line for each."""
    done = run(cluster)
    header, *rows = [line.split("\t") for line in done.out.splitlines()]
    assert header[:3] == ["GROUP", "TYPE", "STATE"]
    assert [row[0] for row in rows] == ["billing", "left", "next"]
    assert dict(zip(header, rows[0], strict=True))["LAG"] == "2"
    assert done.code == 0
    assert "KD3406" in done.err


@pytest.mark.thorough
def test_named_groups_are_told_whole(cluster: GroupCluster) -> None:
    """Members and partitions."""
    told = document(run(cluster, "billing", "-o", "json"))
    (group,) = told["data"]
    assert [each["client_id"] for each in group["member_list"]] == ["M-1", "M-2"]
    assert [each["lag"] for each in group["partition_list"]] == [0, 2]
    text = run(cluster, "billing", "next").out
    assert "billing: classic group, Stable; coordinator 1" in text
    assert "\nnext: consumer group, Stable; coordinator 1" in text


def test_a_name_that_is_not_there_is_an_error(cluster: GroupCluster) -> None:
    """Others are told."""
    done = run(cluster, "billing", "nobody", "-o", "json")
    told = document(done)
    assert done.code == 1
    assert [each["group"] for each in told["data"]] == ["billing"]
    assert [each["id"] for each in told["findings"]] == ["KD3401"]


def test_a_broker_that_does_not_list_its_groups_makes_the_result_partial(
    cluster: GroupCluster,
) -> None:
    """Its groups may be missing."""
    loading = CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"]
    cluster.brokers[2].on("ListGroups", ListGroupsResponse(error_code=loading))
    done = run(cluster, "--match", "b*", "-o", "json")
    assert done.code == 8
    assert [each["id"] for each in document(done)["findings"]] == ["KD3413"]


@pytest.mark.thorough
def test_only_groups_beyond_the_bar_are_shown(cluster: GroupCluster) -> None:
    """What is wrong with others does not count."""
    done = run(cluster, "--lag-above", "2", "-o", "json")
    told = document(done)
    assert [each["group"] for each in told["data"]] == ["left"]
    assert {each["id"] for each in told["findings"]} == {"KD3406", "KD3412"}
    assert done.code == 1
    nothing = run(cluster, "--lag-above", "3")
    assert (nothing.code, nothing.out.count("\n")) == (0, 1)


@pytest.mark.thorough
def test_a_plugin_says_the_worst(cluster: GroupCluster) -> None:
    """With figures for graphs."""
    done = run(cluster, "--nagios", "--type", "consumer", "--lag-above", "0")
    assert (done.code, done.out[:28]) == (0, "KAFKA OK - 0 groups, 0 recor")
    late = run(cluster, "--nagios", "--match", "l*", "--lag-above", "2")
    assert late.code == 2
    assert late.out.startswith(
        "KAFKA CRITICAL - KD3412 group left is 3 records behind, more than 2"
    )
    assert " | groups=1 lag=3 lag_age=" in late.out


def test_a_limit_of_its_own_is_no_failure(
    cluster: GroupCluster, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It is said, and the exit code is 0."""
    monkeypatch.setattr(survey, "TIMED_PARTITIONS", 1)
    done = run(cluster)
    assert done.code == 0
    assert "lag in time is shown for the 1 partitions with the most lag, of 2; " in done.err
