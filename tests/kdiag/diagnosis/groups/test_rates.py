from typing import Any

import pytest

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.groups.model import DescribedMember, Group, GroupsReport, PartitionLag
from kdiag.diagnosis.groups.rates import GroupRates, rates_between


def look(at_s: int, *partitions: PartitionLag, **facts: Any) -> GroupsReport:
    """Return a look at one group."""
    known: dict[str, Any] = {"state": "Stable", "type": "classic"}
    group = Group(group="billing", partitions=partitions, **(known | facts))
    return GroupsReport(at_ns=at_s * NS_PER_S, groups=[group])


def partition(committed: int | None, end: int, start: int = 0, **facts: Any) -> PartitionLag:
    """Return a partition that a member owns."""
    lag = None if committed is None else end - committed
    known: dict[str, Any] = {"committed": committed, "end": end, "start": start, "lag": lag}
    known["member_id"] = "m-1"
    return PartitionLag(topic="orders", partition=0, **(known | facts))


def rates(before: GroupsReport, after: GroupsReport) -> GroupRates:
    """Return the rates of the one group."""
    return rates_between(before, after)["billing"]


def test_a_group_that_reads_faster_than_is_written_gets_through() -> None:
    """20 a second are read, 5 are written, 250 are left."""
    known = rates(look(0, partition(100, 500)), look(10, partition(300, 550)))
    assert (known.consumed_per_s, known.produced_per_s, known.left_s) == (20, 5, 16.7)
    assert (known.lost_s, known.stuck) == (None, None)


def test_a_group_that_reads_slower_never_does() -> None:
    """None is not zero: that is for who has read all."""
    assert rates(look(0, partition(100, 500)), look(10, partition(110, 900))).left_s is None
    assert rates(look(0, partition(500, 500)), look(10, partition(500, 500))).left_s == 0


def test_retention_may_overtake_a_group() -> None:
    """The start moves by 30 a second, the commit by 10: 400 offsets apart, that is 20 seconds."""
    known = rates(look(0, partition(700, 900, 100)), look(10, partition(800, 999, 400)))
    assert known.lost_s == 20


def test_a_group_that_commits_nothing_is_stuck() -> None:
    """If there is something to read, and somebody who should."""
    known = rates(look(0, partition(100, 500)), look(10, partition(100, 600)))
    assert known.stuck == "nothing was committed, and orders[0] has records to read"
    nobody: dict[str, Any] = {"member_id": None}
    left = rates(look(0, partition(1, 5, **nobody)), look(10, partition(1, 6, **nobody)))
    assert left.stuck is None
    assert rates(look(0, partition(9, 9)), look(10, partition(9, 9))).stuck is None


def two_members(first: int, second: int) -> tuple[PartitionLag, PartitionLag]:
    """Return two partitions of a member each, committed up to there."""
    other = partition(second, 500, member_id="m-2")
    other.partition = 1
    return partition(first, 500), other


def test_a_member_that_commits_nothing_while_others_do_is_named() -> None:
    """The others show that their coordinator is well."""
    members = [
        DescribedMember(member_id=each, client_id=each, host="10.0.0.1") for each in ("m-1", "m-2")
    ]
    known = rates(look(0, *two_members(5, 5)), look(10, *two_members(5, 9), members=members))
    assert known.stuck == (
        "member m-1 at 10.0.0.1 committed nothing, and orders[0] has records to read, while other "
        "members read on"
    )
    assert rates(look(0, *two_members(5, 5)), look(10, *two_members(6, 9))).stuck is None


def test_a_partition_that_stays_while_its_member_reads_others_is_at_fault() -> None:
    """The member lives and polls; a partition that somebody else took over meanwhile is not it."""
    member = DescribedMember(member_id="m-1", client_id="c", host="h")
    before, after = two_members(5, 5), two_members(5, 9)
    before[1].member_id = after[1].member_id = "m-1"
    known = rates(look(0, *before), look(10, *after, members=[member]))
    assert known.stuck is not None
    assert known.stuck.startswith("orders[0] stayed at offset 5, while its member c at h committed")
    before[0].member_id = "m-3"
    assert rates(look(0, *before), look(10, *after, members=[member])).stuck is None


def test_a_group_that_stays_in_a_rebalance_is_stuck() -> None:
    """Another epoch, or another state, is a step on."""
    joining = {"state": "PreparingRebalance"}
    assert rates(look(0, **joining), look(10, **joining)).stuck == "it stays in PreparingRebalance"
    assert rates(look(0, **joining), look(10)).stuck is None
    first, second = {"state": "Reconciling", "epoch": 4}, {"state": "Reconciling", "epoch": 5}
    assert rates(look(0, **first), look(10, **second)).stuck is None


@pytest.mark.parametrize(
    ("state", "told"),
    [
        ("PreparingRebalance", ", until these have joined again, or are given up: old at h"),
        ("CompletingRebalance", ", until one of these, its leader, has sent the assignment: old"),
        ("Reconciling", ", until these own what they are to own: old at h"),
    ],
)
def test_who_is_waited_for_was_there_before(state: str, told: str) -> None:
    """A member that came between the looks has just joined."""
    old, new = (
        DescribedMember(member_id=each, client_id=each, host="h", target={"orders": [1]})
        for each in ("old", "new")
    )
    before, after = look(0, state=state, members=[old]), look(9, state=state, members=[old, new])
    stuck = rates(before, after).stuck
    assert stuck is not None
    assert stuck.startswith(f"it stays in {state}{told}")
    assert "new" not in stuck


def test_what_was_not_there_before_has_no_rates() -> None:
    """Nor has what nobody has committed."""
    empty = GroupsReport(at_ns=0, groups=[])
    assert rates_between(empty, look(10, partition(1, 2))) == {}
    known = rates(look(0, partition(None, 500)), look(10, partition(None, 600)))
    assert known == GroupRates()


def test_what_one_look_does_not_know_has_no_rates() -> None:
    """A partition that is missing from the second look was not read."""
    lost = partition(100, 500, error="NOT_LEADER_OR_FOLLOWER", lag=None)
    lost.partition = 1
    known = partition(100, 500), partition(300, 550)
    assert rates(look(0, known[0], lost), look(10, known[1], lost)) == GroupRates()
