from kdiag.lab.purgatory.operation_key import (
    GroupJoinKey,
    GroupSyncKey,
    MemberKey,
    TopicPartitionOperationKey,
)


def test_equal_keys_are_made_by_whoever_causes_the_event() -> None:
    """A key is a value, not an object that must be kept."""
    assert TopicPartitionOperationKey("orders", 0) == TopicPartitionOperationKey("orders", 0)
    assert TopicPartitionOperationKey("orders", 0) != TopicPartitionOperationKey("orders", 1)
    assert hash(MemberKey("group", "one")) == hash(MemberKey("group", "one"))


def test_keys_of_different_kinds_differ() -> None:
    """A group that is joined is not a group that is synced, nor a member of that name."""
    keys = {GroupJoinKey("a"), GroupSyncKey("a"), MemberKey("a", ""), MemberKey("a", "join")}
    assert len(keys) == 4
