from kdiag.diagnosis.groups.amount import Amount
from kdiag.diagnosis.groups.model import (
    DescribedMember,
    Group,
    GroupsReport,
    PartitionLag,
    as_set,
)


def partition(number: int = 0, **facts: object) -> PartitionLag:
    """Return a partition of `orders`."""
    return PartitionLag(topic="orders", partition=number, **facts)  # type: ignore[arg-type]


def test_a_group_is_as_far_behind_as_its_partitions() -> None:
    """Records add up; the oldest next record counts. What is not known is no zero."""
    partitions = [partition(0, lag=3, lag_ms=10.0), partition(1), partition(2, lag=4, lag_ms=70.0)]
    group = Group(group="g", type="classic", partitions=partitions)
    assert (group.lag, group.lag_ms, group.uncommitted_count) == (7, 70, 3)
    blank = Group(group="g", type="classic", partitions=[partition()])
    assert (blank.lag, blank.lag_ms) == (None, None)


def test_a_condensed_group_keeps_its_sums() -> None:
    """And no member, partition or topic."""
    partitions = [partition(0, lag=3, lag_ms=10.0, is_lag_exact=True), partition(1)]
    members = [DescribedMember(member_id="m")]
    group = Group(group="g", type="classic", partitions=partitions, members=members)
    group.condense()
    assert group.members is None
    assert not group.partitions
    assert (group.lag_amount, group.age_amount) == (Amount(3), Amount(10.0))
    assert (group.uncommitted_count, group.partition_count, group.member_count) == (2, 2, 1)


def test_a_part_that_is_not_known_makes_a_sum_the_least() -> None:
    """Also once it is condensed; of unknown parts alone, nothing is known."""
    known, refused = partition(0, committed=5, lag=20), partition(1, error="NOT_LEADER_OR_FOLLOWER")
    silent = partition(2, committed=5)
    group = Group(group="g", type="classic", partitions=[known, refused, silent])
    assert str(group.lag_amount) == ">=20"
    assert group.why_unknown == "orders[1]: NOT_LEADER_OR_FOLLOWER"
    group.condense()
    assert (str(group.lag_amount), group.why_unknown) == (
        ">=20",
        "orders[1]: NOT_LEADER_OR_FOLLOWER",
    )
    for parts, error in (([refused, silent], None), ([], "GROUP_AUTHORIZATION_FAILED")):
        blind = Group(group="g", type="classic", partitions=parts, error=error)
        assert (blind.lag, str(blind.lag_amount), str(blind.age_amount)) == (None, "?", "?")


def test_what_has_no_lag_is_not_unknown() -> None:
    """Nor is a partition without a commit, or one that was deleted; nor a group without any."""
    gone = partition(1, committed=9, error="UNKNOWN_TOPIC_OR_PARTITION")
    parts = [partition(0, committed=5, lag=0, lag_ms=0.0), gone, partition(2)]
    group = Group(group="g", type="classic", partitions=parts)
    assert (group.lag_amount, group.age_amount, group.why_unknown) == (Amount(0), Amount(0.0), None)
    assert str(Group(group="g", type="classic").lag_amount) == "-"


def test_the_lag_of_all_groups_is_the_least_while_a_broker_did_not_list_its_own() -> None:
    """With all lists, it is the sum."""
    group = Group(group="g", type="classic", partitions=[partition(0, lag=3, is_lag_exact=True)])
    for failures, told in (({}, "3"), ({2: "no answer"}, ">=3")):
        assert str(GroupsReport(at_ns=0, groups=[group], failures=failures).lag_amount) == told


def test_a_group_reads_on_where_its_log_begins() -> None:
    """Unless it committed an offset behind that."""
    assert partition(committed=5, start=9).next_offset == 9
    assert partition(committed=12, start=9).next_offset == 12
    assert partition(start=9).next_offset is None
    assert str(partition(3)) == "orders[3]"


def test_a_member_is_reconciled_when_it_owns_its_target() -> None:
    """Where nobody tells a target, there is none to miss."""
    owned = {"orders": [1, 0]}
    targets = [(None, True), ({"orders": [0, 1]}, True), ({"orders": [0, 1, 2]}, False)]
    for target, is_reconciled in targets:
        member = DescribedMember(member_id="m", assignment=owned, target=target)
        assert member.is_reconciled is is_reconciled
    assert as_set(owned) == {("orders", 0), ("orders", 1)}


def test_what_is_no_rebalance() -> None:
    """A state that is not known is none, either."""
    states = {
        "Stable": False,
        "Empty": False,
        "unknown": False,
        "PreparingRebalance": True,
        "Reconciling": True,
    }
    for state, is_rebalancing in states.items():
        assert Group(group="g", type="classic", state=state).is_rebalancing is is_rebalancing
