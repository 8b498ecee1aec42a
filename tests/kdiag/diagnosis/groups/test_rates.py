from typing import Any

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.groups.model import Group, GroupsReport, PartitionLag
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


def test_a_group_that_stays_in_a_rebalance_is_stuck() -> None:
    """Another epoch, or another state, is a step on."""
    joining = {"state": "PreparingRebalance"}
    assert rates(look(0, **joining), look(10, **joining)).stuck == "it stays in PreparingRebalance"
    assert rates(look(0, **joining), look(10)).stuck is None
    first, second = {"state": "Reconciling", "epoch": 4}, {"state": "Reconciling", "epoch": 5}
    assert rates(look(0, **first), look(10, **second)).stuck is None


def test_what_was_not_there_before_has_no_rates() -> None:
    """Nor has what nobody has committed."""
    empty = GroupsReport(at_ns=0, groups=[])
    assert rates_between(empty, look(10, partition(1, 2))) == {}
    known = rates(look(0, partition(None, 500)), look(10, partition(None, 600)))
    assert known == GroupRates()
