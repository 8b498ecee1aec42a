from kdiag.diagnosis.groups.model import DescribedMember, Group, PartitionLag, as_set


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
    assert (group.lag, group.lag_ms, group.is_lag_exact) == (3, 10.0, True)
    assert (group.uncommitted_count, group.partition_count, group.member_count) == (2, 2, 1)


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
