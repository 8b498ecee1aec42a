"""Racks of members and replicas."""

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import MemberSubscription
from kdiag.client.group.assignor.rack_info import RackInfo

WHERE = {"t": [frozenset("ab"), frozenset("b"), frozenset[str]()]}
KEYS = [PartitionKey("t", index) for index in range(3)]


def info(**racks: str) -> RackInfo:
    """Return the racks of members that all subscribe to `t`."""
    return RackInfo(WHERE, {name: MemberSubscription(("t",), rack=e) for name, e in racks.items()})


def test_a_partition_is_far_from_members_in_other_racks() -> None:
    """Never from one without a rack, and nothing is far if racks do not matter."""
    racks = info(m="a", n="")
    assert [racks.is_far("m", key) for key in KEYS] == [False, True, True]
    assert not any(racks.is_far("n", key) for key in KEYS)
    assert not any(info(m="c").is_far("m", key) for key in KEYS)


def test_partitions_that_few_members_are_near_to_come_first() -> None:
    """They are the hardest to place; without racks the order stays."""
    assert info(m="a", n="b", o="b").rarest_first(KEYS) == [KEYS[2], KEYS[1], KEYS[0]]
    assert info(m="", n="").rarest_first(KEYS) == KEYS


def test_members_in_the_rack_take_turns() -> None:
    """From an index on, and around."""
    racks = info(m="a", n="b", o="a", p="")
    ids = ["m", "n", "o", "p"]
    assert [racks.next_near(KEYS[0], ids, first) for first in range(4)] == [0, 1, 2, 0]
    assert racks.next_near(KEYS[1], ids, 2) == 1
    assert racks.next_near(KEYS[1], ["m", "p"], 0) is None
    assert racks.next_near(KEYS[2], ids, 0) is None
    assert racks.next_near(KEYS[0], [], 1) is None
