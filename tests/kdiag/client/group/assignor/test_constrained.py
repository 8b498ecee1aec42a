"""Sticky assignments of members with the same topics."""

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import MemberSubscription
from kdiag.client.group.assignor.constrained import ConstrainedAssignment
from kdiag.client.group.assignor.owned_partitions import MemberData, OwnedPartitions
from kdiag.client.group.assignor.rack_info import RackInfo
from tiers.cases import for_each


def assign(
    racks: list[str], members: dict[str, tuple[str, list[int]]]
) -> tuple[dict[str, list[int]], dict[int, str]]:
    """Return the partitions of `t` by member, and those that are transferred."""
    where = {"t": [frozenset(each) for each in racks]}
    subscriptions = {
        name: MemberSubscription(("t",), rack=rack, generation=1)
        for name, (rack, _) in members.items()
    }
    owned = OwnedPartitions(subscriptions, -1)
    for name, (_, partitions) in members.items():
        owned.add(name, MemberData([PartitionKey("t", each) for each in partitions], 1), where)
    built = ConstrainedAssignment(where, RackInfo(where, subscriptions), owned)
    return (
        {name: [key.partition for key in each] for name, each in built.build().items()},
        {key.partition: name for key, name in built.transferred.items()},
    )


@for_each(
    ("count", "members", "expected", "transferred"),
    [
        (3, {"m": [], "n": []}, {"m": [0, 2], "n": [1]}, {}),
        (4, {"m": [0, 1, 2, 3], "n": []}, {"m": [0, 1], "n": [2, 3]}, {2: "n", 3: "n"}),
        (5, {"m": [1], "n": [0, 2, 4]}, {"m": [1, 3], "n": [0, 2, 4]}, {}),
        (5, {"m": [1, 0, 3], "n": [2, 4]}, {"m": [0, 1, 3], "n": [2, 4]}, {}),
        (2, {"m": [], "n": [1], "o": [0]}, {"m": [], "n": [1], "o": [0]}, {}),
        (2, {"m": [0], "n": [0]}, {"m": [0], "n": [1]}, {0: "m"}),
    ],
)
def test_members_keep_what_they_owned_up_to_their_share(
    count: int,
    members: dict[str, list[int]],
    expected: dict[str, list[int]],
    transferred: dict[int, str],
) -> None:
    """What is left goes in turn to those that have less."""
    racks = [""] * count
    assigned = assign(racks, {name: ("", each) for name, each in members.items()})
    assert assigned == (expected, transferred)


def test_partitions_go_to_members_in_their_racks_as_far_as_shares_allow() -> None:
    """Also those that a member in another rack owned."""
    racks = ["a", "a", "a", "b"]
    assigned, transferred = assign(racks, {"m": ("a", []), "n": ("b", [0, 3])})
    assert assigned == {"m": [0, 1], "n": [3, 2]}
    assert transferred == {0: "m"}


def test_a_member_with_one_more_is_near_too() -> None:
    """Five partitions for two members: the one in the rack has three."""
    assigned, _ = assign(["b"] * 5, {"m": ("a", []), "n": ("b", [])})
    assert {name: len(each) for name, each in assigned.items()} == {"m": 3, "n": 2}
    assigned, _ = assign(["b", "b", "b", "a", "a"], {"m": ("a", []), "n": ("b", [])})
    assert assigned == {"m": [3, 4], "n": [0, 1, 2]}
