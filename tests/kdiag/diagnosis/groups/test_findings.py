from typing import Any

from kdiag.diagnosis.groups.findings import above_bar, find, find_all
from kdiag.diagnosis.groups.model import DescribedMember, Group, GroupsReport, PartitionLag
from tiers.cases import for_each


def partition(number: int = 0, **facts: Any) -> PartitionLag:
    """Return a partition that is read to its end, but for what is said."""
    known: dict[str, Any] = {"committed": 50, "start": 0, "stable_end": 50, "end": 50, "lag": 0}
    return PartitionLag(topic="orders", partition=number, **(known | facts))


def member(name: str, *owned: int, **facts: Any) -> DescribedMember:
    """Return a member that owns partitions of `orders`."""
    assignment = {"orders": owned} if owned else {}
    return DescribedMember(
        member_id=name,
        client_id=name,
        host="10.0.0.1",
        subscribed=["orders"],
        assignment=assignment,
        **facts,
    )


def group(*partitions: PartitionLag, **facts: Any) -> Group:
    """Return a stable group of one member that owns all, but for what is said."""
    known: dict[str, Any] = {"state": "Stable", "type": "classic"}
    known["members"] = [member("m-1", *(each.partition for each in partitions))]
    return Group(group="billing", partitions=partitions, **(known | facts))


def ids(group: Group) -> list[str]:
    """Return the ids of what is wrong with a group."""
    return [each.id for each in find(group)]


def test_nothing_is_wrong_with_a_group_that_reads() -> None:
    """Nor with one that is a little behind."""
    assert ids(group(partition(), partition(1, lag=5))) == []
    assert ids(group(partition(committed_epoch=0, epoch_end=50))) == []


@for_each(
    ("broken", "rule"),
    [
        (group(partition(committed=5, start=20, lag=30)), "KD3402"),
        (group(partition(committed=70)), "KD3403"),
        (group(partition(committed_epoch=0, epoch_end=40)), "KD3423"),
        (group(partition(committed_epoch=9, epoch_end=-1)), "KD3423"),
        (group(partition(committed=70, committed_epoch=9, epoch_end=-1)), "KD3403"),
        (group(partition(), partition(1), members=[member("m-1", 0)]), "KD3404"),
        (group(partition(), members=[member("m-1", 0), member("m-2")]), "KD3405"),
        (group(partition(lag=7), members=[], state="Empty"), "KD3406"),
        (group(partition(error="UNKNOWN_TOPIC_OR_PARTITION", start=None, end=None)), "KD3407"),
        (group(partition(end=60)), "KD3408"),
        (group(partition(), members=[member("m-1", 0, target={"orders": [0, 1]})]), "KD3409"),
        (group(partition(committed=None, lag=None, member_id="m-1")), "KD3410"),
        (group(partition(), state="PreparingRebalance"), "KD3411"),
        (group(partition(lag=2000), partition(1), partition(2, lag=10)), "KD3414"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_each_problem_has_its_rule(broken: Group, rule: str) -> None:
    """And no other one."""
    assert ids(broken) == [rule]


def test_the_evidence_has_the_figures() -> None:
    """What a person would look up next."""
    (lost,) = find(group(partition(committed=5, start=20, lag=30)))
    assert lost.title.startswith(
        "group billing lost 15 records of orders[0]: its commit 5 is before"
    )
    (held,) = find(group(partition(stable_end=50, end=57)))
    assert (held.evidence["held"], held.evidence["stable_end"]) == (7, 50)


def test_what_cannot_be_read_is_no_problem() -> None:
    """Nobody knows what members of other protocols own; a share group has no owners."""
    foreign = DescribedMember(member_id="w-1", assignment=None, subscribed=None)
    assert ids(group(partition(), members=[foreign], protocol="connect")) == []
    assert ids(group(partition(committed=5, start=20), type="share", members=[member("m")])) == []
    assert ids(group(members=None)) == []


def test_a_name_that_nobody_has() -> None:
    """Something similar may have been meant; a broker that is silent is told as well."""
    report = GroupsReport(at_ns=0, groups=[], failures={2: "no answer"}, absent=["biling"])
    report.names = ["billing", "clicks"]
    silent, absent = find_all(report)
    assert (silent.id, silent.evidence["node_id"]) == ("KD3413", 2)
    assert absent.fix.endswith("the names that there are, such as billing.")


def test_offsets_that_are_about_to_expire() -> None:
    """Only those of a group without members; a day before is early enough."""
    hour_ms = 3_600_000
    left = group(partition(committed_ms=2 * hour_ms), members=[], state="Empty")
    report = GroupsReport(
        at_ns=165 * hour_ms * 1_000_000, groups=[left], retention_ms=168 * hour_ms
    )
    (expiring,) = find_all(report)
    assert (expiring.id, expiring.evidence["hours"]) == ("KD3416", 5)
    report.at_ns = 24 * hour_ms * 1_000_000
    assert find_all(report) == []
    report.at_ns, left.state, left.members = 165 * hour_ms * 1_000_000, "Stable", None
    assert find_all(report) == []


def test_a_bar_is_passed_by_more_than_it() -> None:
    """In records or in time; the worst partition is named with its owner."""
    late = group(
        partition(0, lag=3, lag_ms=9000.0, is_lag_exact=True),
        partition(1, lag=8, lag_ms=1.0, is_lag_exact=True, member_id="m-1"),
    )
    assert above_bar(late, "11", lag=11, lag_ms=None) is None
    by_lag = above_bar(late, "10", lag=10, lag_ms=None)
    assert by_lag is not None
    assert by_lag.title == "group billing is 11 records behind, more than 10"
    assert by_lag.evidence["owner"] == ", of m-1 at 10.0.0.1"
    by_time = above_bar(late, "5s", lag=None, lag_ms=5000.0)
    assert by_time is not None
    assert by_time.evidence["partition"] == "orders[0]"
    assert above_bar(late, "10s", lag=None, lag_ms=10_000.0) is None


def test_findings_state_the_least_where_a_partition_is_not_known() -> None:
    """They claim no share of a sum that is not known, and what they claim is so at least."""
    unknown = partition(3, lag=None, error="NOT_LEADER_OR_FOLLOWER")
    behind = group(partition(0, lag=2000), partition(1), partition(2, lag=10), unknown)
    assert "KD3414" not in ids(behind)
    bar = above_bar(behind, "10", lag=10, lag_ms=None)
    assert bar is not None
    assert bar.title == "group billing is >=2010 records behind, more than 10"
    left = group(partition(0, lag=7), unknown, members=[], state="Empty")
    (finding,) = [each for each in find(left) if each.id == "KD3406"]
    assert finding.title == "group billing has >=7 records to read, and no member"
