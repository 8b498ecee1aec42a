from typing import Any

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.groups.model import DescribedMember, Group, GroupsReport, PartitionLag
from kdiag.diagnosis.groups.progress import find_between
from kdiag.diagnosis.groups.rates import GroupRates
from kdiag.findings.finding import Finding


def group(name: str = "g", *, lag: int = 0, **facts: Any) -> Group:
    """Return a group with a member that is so far behind."""
    known: dict[str, Any] = {"members": [DescribedMember(member_id="m-1")]}
    partitions = [PartitionLag(topic="t", partition=0, lag=lag)]
    return Group(group=name, type="classic", partitions=partitions, **(known | facts))


def between(before: Group, after: Group, **rates: Any) -> list[Finding]:
    """Return what two looks show, ten seconds apart."""
    first = GroupsReport(at_ns=0, groups=[before])
    second = GroupsReport(at_ns=10 * NS_PER_S, groups=[after])
    return find_between(first, second, {after.group: GroupRates(**rates)})


def static(member_id: str, host: str) -> list[DescribedMember]:
    """Return a static member, and one that is not."""
    return [
        DescribedMember(member_id=member_id, instance_id="i-1", client_id="c", host=host),
        DescribedMember(member_id=f"{member_id} dynamic", host=host),
    ]


def test_who_is_stuck_is_said_with_why() -> None:
    """Others are not mentioned, nor those that only one look has."""
    (found,) = between(group(), group(), stuck="it stays in PreparingRebalance")
    assert found.title == "group g does not get on: within 10.0 s it stays in PreparingRebalance"
    assert between(group(), group()) == []
    assert (
        find_between(GroupsReport(at_ns=0, groups=[]), GroupsReport(at_ns=9, groups=[]), {}) == []
    )


def test_a_lag_that_grows_while_members_read() -> None:
    """A few records more, or a group without members, are not worth a word."""
    rates = {"consumed_per_s": 10.0, "produced_per_s": 500.0}
    (found,) = between(group(lag=100), group(lag=5000), **rates)
    assert (found.id, found.evidence["growth"]) == ("KD3420", 4900)
    assert "it reads 10.0 a second, and 500.0 are written" in found.title
    assert between(group(lag=100), group(lag=200), **rates) == []
    assert between(group(lag=100), group(lag=5000, members=[]), **rates) == []
    unsure = group(lag=100)
    refused = PartitionLag(topic="t", partition=1, error="NOT_LEADER_OR_FOLLOWER")
    unsure.partitions = [*unsure.partitions, refused]
    assert between(unsure, group(lag=5000), **rates) == []
    (stuck,) = between(group(lag=100), group(lag=5000), **rates, stuck="nothing was committed")
    assert stuck.id == "KD3415"


def test_a_static_member_whose_place_was_taken() -> None:
    """Members without an instance id come and go under new ids."""
    before, after = group(members=static("m-1", "h-1")), group(members=static("m-2", "h-2"))
    (found,) = between(before, after)
    assert found.title == (
        "static member i-1 of group g was replaced within 10.0 s: c at h-1, then c at h-2"
    )
    assert between(before, before) == []
