"""`kdiag groups` where brokers refuse, fail or leave out: no number is made of that."""

import json
from collections.abc import Callable
from typing import Any

import pytest

from kdiag.client.fetch.position import PartitionKey
from kdiag.wire.api.describe_transactions import TopicData, TransactionState
from kdiag.wire.api.offset_fetch import OffsetFetchResponseGroup, OffsetFetchResponsePartitions
from kdiag.wire.error_code import CODE_BY_NAME
from programs.kdiag_program import Done, kdiag
from scripted_kafka.group_cluster import GroupCluster
from scripted_kafka.scripted_broker import HOLD
from tiers.attempts import measure_again

DENIED = "TOPIC_AUTHORIZATION_FAILED"
RIGHT = f"{DENIED} (you need DESCRIBE on the topic)"


def run(cluster: GroupCluster, *arguments: str) -> Done:
    """Run the command."""
    return kdiag("groups", "-b", cluster.bootstrap, "--timeout", "20s", *arguments)


def billing(cluster: GroupCluster, *arguments: str) -> tuple[Done, dict[str, Any], list[str]]:
    """Return a run for one group: the run, its document, and its warnings."""
    done = run(cluster, "billing", "-o", "json", *arguments)
    told: dict[str, Any] = json.loads(done.out)
    return done, told["data"][0], told["warnings"]


def refuse_commits(cluster: GroupCluster) -> None:
    """Have OffsetFetch fail for the whole group."""
    code = CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"]
    cluster.commits["billing"] = OffsetFetchResponseGroup("billing", error_code=code)


def refuse_each_commit(cluster: GroupCluster) -> None:
    """Have OffsetFetch fail for each partition."""
    for topic in cluster.commits["billing"].topics:
        topic.partitions = [
            OffsetFetchResponsePartitions(number, -1, error_code=CODE_BY_NAME[DENIED])
            for number in (0, 1)
        ]


def refuse_offsets(cluster: GroupCluster) -> None:
    """Have ListOffsets fail for both partitions, as for a user without DESCRIBE."""
    for log in cluster.logs.values():
        log.error = DENIED


@pytest.mark.parametrize("refuse", [refuse_commits, refuse_each_commit, refuse_offsets])
@pytest.mark.thorough
def test_a_lag_of_which_nothing_is_known_is_no_zero(
    cluster: GroupCluster, refuse: Callable[[GroupCluster], None]
) -> None:
    """Each form says so, with the error and what it is about."""
    refuse(cluster)
    done, group, _ = billing(cluster)
    assert done.code == 8
    assert (group["lag"], group["lag_exact"], group["lag_certainty"]) == (None, False, "unknown")
    error = "COORDINATOR_LOAD_IN_PROGRESS" if refuse is refuse_commits else DENIED
    assert error in group["error"]
    assert {each["lag_certainty"] for each in group["partition_list"]} == {"unknown"}

    plugin = run(cluster, "billing", "--nagios")
    assert plugin.code == 3
    assert plugin.out.startswith("KAFKA UNKNOWN - ")
    assert error in plugin.out
    assert " | groups=1 lag=U lag_age=U" in plugin.out

    header, row = [each.split("\t") for each in run(cluster, "--match", "b*").out.splitlines()]
    assert dict(zip(header, row, strict=True))["LAG"] == "?"
    assert "billing: classic group, Stable; " in (text := run(cluster, "billing").out)
    assert "; lag ?" in text
    metrics = run(cluster, "billing", "-o", "prometheus")
    assert metrics.code == 8
    assert 'kdiag_group_lag_unknown{group="billing"} 1\n' in metrics.out
    assert "kdiag_group_partition_lag{" not in metrics.out


@pytest.mark.thorough
def test_a_lag_of_which_a_part_is_known_is_the_least(cluster: GroupCluster) -> None:
    """The partition that is missing is named once, with who refused it and why."""
    cluster.logs[PartitionKey("orders", 0)].error = DENIED
    done, group, warnings = billing(cluster)
    assert done.code == 8
    assert (group["lag"], group["lag_exact"], group["lag_certainty"]) == (2, False, "at_least")
    assert warnings == [f"the lag of orders[0] in group billing is not known: {RIGHT}"]
    assert [each["lag"] for each in group["partition_list"]] == [None, 2]
    header, row = [each.split("\t") for each in run(cluster, "--match", "b*").out.splitlines()]
    told = dict(zip(header, row, strict=True))
    assert (told["LAG"], told["ERROR"]) == (">=2", f"orders[0]: {DENIED}")
    plugin = run(cluster, "billing", "--nagios")
    assert (plugin.code, " lag=U " in plugin.out) == (3, True)


@pytest.mark.thorough
def test_a_bar_is_passed_or_may_be(cluster: GroupCluster) -> None:
    """More than the bar is so whatever is missing; less may be more."""
    cluster.logs[PartitionKey("orders", 0)].error = DENIED
    surely = run(cluster, "billing", "--nagios", "--lag-above", "1")
    assert surely.code == 2
    assert "KD3412 group billing is >=2 records behind, more than 1" in surely.out
    maybe = run(cluster, "billing", "--nagios", "--lag-above", "2")
    assert (maybe.code, DENIED in maybe.out) == (3, True)
    done, group, _ = billing(cluster, "--lag-above", "2")
    assert (done.code, group["group"]) == (8, "billing")


@pytest.mark.thorough
def test_what_is_not_needed_for_a_lag_leaves_it_exact(cluster: GroupCluster) -> None:
    """A deleted topic, a partition without a commit, ages that take rights of their own."""
    cluster.add("orders", 2).append(b"a")
    cluster.add_group(
        "billing", {("orders", 0): 3, ("orders", 1): 1, ("gone", 0): 5}, {"m-1": [0, 1, 2]}
    )
    done, group, warnings = billing(cluster)
    assert (done.code, group["lag"], group["lag_certainty"], warnings) == (0, 2, "exact", [])
    assert " lag=2 " in (plugin := run(cluster, "billing", "--nagios")).out
    assert plugin.code == 1  # of KD3407
    without = run(cluster, "left", "--nagios", "--no-times")
    assert (without.code, " lag=3 lag_age=U " in without.out) == (0, True)
    late = run(cluster, "left", "--nagios", "--lag-above", "5m")
    assert (late.code, " lag=3 " in late.out) == (2, True)


@pytest.mark.thorough
def test_commits_that_a_user_may_not_see_are_not_absent(cluster: GroupCluster) -> None:
    """Brokers leave out topics without DESCRIBE; a user who may see all knows there are none."""
    cluster.add_group("hidden", {})
    seen = run(cluster, "hidden", "--nagios")
    assert (seen.code, " lag=0 " in seen.out) == (0, True)
    cluster.denied = {"__consumer_offsets"}
    plugin = run(cluster, "hidden", "--nagios")
    assert (plugin.code, " lag=U " in plugin.out) == (3, True)
    assert "no commit is visible" in plugin.out
    assert run(cluster, "hidden").code == 8


@pytest.mark.thorough
@pytest.mark.parametrize("api", ["ListGroups", "ListOffsets"])
def test_a_broker_that_hangs_leaves_the_rest_in_time(cluster: GroupCluster, api: str) -> None:
    """What is there is printed, and what is missing named."""
    cluster.brokers[2].on(api, HOLD)

    def look() -> None:
        hung = ("--timeout", "3s")
        done = kdiag("groups", "-b", cluster.bootstrap, "left", "next", "-o", "json", *hung)
        assert done.code == 8
        told = json.loads(done.out)["data"]
        assert [each["lag_certainty"] for each in told] == ["exact", "at_least"]
        plugin = kdiag("groups", "-b", cluster.bootstrap, "next", "--nagios", *hung)
        assert (plugin.code, " lag=U " in plugin.out) == (3, True)
        assert "broker 2" in plugin.out or f":{cluster.brokers[2].port}: " in plugin.out

    measure_again(look, 3)


@pytest.mark.thorough
def test_an_offset_in_an_open_transaction_is_said_with_the_transaction(
    cluster: GroupCluster,
) -> None:
    """In all forms; the commit before it, and its lag, are shown."""
    cluster.add("__consumer_offsets", 0)
    cluster.pending = {("billing", "orders", 1)}
    places = [TopicData("__consumer_offsets", [0])]
    cluster.hold_offsets(TransactionState(0, "tx", "Ongoing", 60_000, 500, 7, 2, places))
    told = "group billing: its offset of orders[1] is in transaction tx (producer 7), open for "
    done = run(cluster, "billing")
    assert done.code == 0
    assert f"info KD3422: {told}" in done.err.replace("\nkdiag:       ", " ")
    assert told in run(cluster, "--match", "b*").err.replace("\nkdiag:       ", " ")
    _, group, _ = billing(cluster)
    assert [each["offset_pending"] for each in group["partition_list"]] == [False, True]
    assert group["lag"] == 2
    assert "KD3422" not in run(cluster, "left").err
