"""Sticky assignments for eager members."""

from group_stories import assignor_judge
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import MemberSubscription, RebalanceProtocol
from kdiag.client.group.assignor.owned_partitions import MemberData
from kdiag.client.group.assignor.sticky import (
    StickyAssignor,
    decode_user_data,
    encode_user_data,
)
from tiers.cases import for_each

OWNED = [PartitionKey("BB", 3), PartitionKey("Aa", 1), PartitionKey("BB", 0)]
BYTES = bytes.fromhex(
    "00000002 0002 4161 00000001 00000001 0002 4242 00000002 00000003 00000000 00000007"
)


def test_user_data_has_what_was_assigned_and_when() -> None:
    """Topics of one bucket stand in it the wrong way round: Java inserts them at its front."""
    assert encode_user_data(OWNED, 7) == BYTES
    assert decode_user_data(BYTES) == MemberData([OWNED[1], OWNED[0], OWNED[2]], 7)


def test_user_data_of_old_members_has_no_generation() -> None:
    """Version 0, before KIP-341."""
    assert decode_user_data(BYTES[:-4]) == MemberData([OWNED[1], OWNED[0], OWNED[2]], None)


@for_each("data", [b"\xff" * 9, BYTES[:-7], b"\0", b"\x7f\xff\xff\xff"])
def test_user_data_that_cannot_be_read_says_nothing(data: bytes) -> None:
    """A member of another make can still be in the group."""
    assert decode_user_data(data) == MemberData((), -1)


def test_a_member_says_nothing_before_its_first_assignment() -> None:
    """And afterwards what that was, also if it was empty."""
    assignor = StickyAssignor()
    assert assignor.protocols == (RebalanceProtocol.EAGER,)
    assert assignor.subscription_user_data(["t"]) is None
    assignor.on_assignment([], 3)
    assert assignor.subscription_user_data(["t"]) == bytes.fromhex("00000000 00000003")


def test_members_keep_what_they_had_when_another_comes() -> None:
    """It takes no more from them than its share."""
    where = {"t": [frozenset[str]()] * 6}
    members = {name: MemberSubscription(("t",)) for name in "mn"}
    first = StickyAssignor().assign(where, members)
    for name, each in first.items():
        members[name] = MemberSubscription(("t",), encode_user_data(each, 1))
    members["o"] = MemberSubscription(("t",))
    second = StickyAssignor().assign(where, members)
    assert {name: len(each) for name, each in second.items()} == {"m": 2, "n": 2, "o": 2}
    assert all(set(second[name]) < set(first[name]) for name in "mn")


def test_results_are_those_of_kafka() -> None:
    """Random groups over several rebalances, judged by Kafka's own assignor."""
    for shape, results in assignor_judge.judged_shapes("sticky"):
        assert assignor_judge.play(shape) == results
