"""Who owned what."""

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import MemberSubscription
from kdiag.client.group.assignor.owned_partitions import (
    MemberData,
    OwnedPartitions,
    are_subscriptions_equal,
)
from tiers.cases import for_each

KEY = PartitionKey("t", 0)
WHERE = {"t": [frozenset[str]()] * 2}


def owned(*generations: int) -> OwnedPartitions:
    """Return what members own that all claim the same partition."""
    members = {
        name: MemberSubscription(("t",), owned_partitions=(KEY,), generation=each)
        for name, each in zip("mno", generations, strict=False)
    }
    whole = OwnedPartitions(members, -1)
    for name, each in members.items():
        whole.add(name, MemberData(each.owned_partitions, each.generation), WHERE)
    return whole


@for_each(
    ("generations", "owner", "is_disputed"),
    [((1,), "m", False), ((1, 2), "n", False), ((2, 1), "m", False), ((2, 2), None, True)],
)
def test_the_latest_generation_owns_a_partition(
    generations: tuple[int, ...], owner: str | None, *, is_disputed: bool
) -> None:
    """In the same generation neither does."""
    whole = owned(*generations)
    owners = [name for name, each in whole.by_member.items() if KEY in each]
    assert owners == ([owner] if owner else [])
    assert (KEY in whole.disputed) == is_disputed
    assert whole.max_generation == max(generations)


def test_a_partition_that_three_claim_is_nobodys_unless_one_is_later() -> None:
    """It stays disputed."""
    assert not any(owned(2, 2, 2).by_member.values())
    assert owned(2, 2, 3).by_member["o"] == {KEY: None}


def test_partitions_that_do_not_exist_any_more_are_not_owned() -> None:
    """A topic that was created anew may have fewer."""
    gone = [PartitionKey("t", 2), PartitionKey("t", -1), PartitionKey("u", 0)]
    whole = OwnedPartitions({"m": MemberSubscription(("t",))}, 5)
    whole.add("m", MemberData([*gone, KEY], None), WHERE)
    assert whole.by_member == {"m": {KEY: None}}
    assert whole.max_generation == 5


@for_each(
    ("topics", "expected"),
    [
        (["tu", "ut"], True),
        (["tu", "t"], False),
        (["t", "u"], False),
        (["", "t"], True),
        (["t", ""], False),
    ],
)
def test_members_without_topics_only_count_after_others(
    topics: list[str], *, expected: bool
) -> None:
    """Java takes the first topics that it finds for those of all."""
    assert are_subscriptions_equal([MemberSubscription(tuple(e)) for e in topics]) == expected
