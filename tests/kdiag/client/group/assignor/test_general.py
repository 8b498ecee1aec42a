"""Sticky assignments of members with different topics."""

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import MemberSubscription
from kdiag.client.group.assignor.general import (
    GeneralAssignment,
    PreviousOwner,
    previous_owners,
)
from kdiag.client.group.assignor.owned_partitions import MemberData, OwnedPartitions
from kdiag.client.group.assignor.rack_info import RackInfo

Past = dict[str, tuple[str, str, int]]


def keys(names: str) -> list[PartitionKey]:
    """Return partitions that are written as a letter and a digit."""
    return [PartitionKey(name[0], int(name[1:])) for name in names.split()]


def assign(counts: dict[str, int], members: Past, racks: str = "") -> dict[str, str]:
    """Return the partitions of members, given their topics, what they had, and its generation."""
    where = {topic: [frozenset(racks)] * count for topic, count in counts.items()}
    subscriptions = {
        name: MemberSubscription(tuple(topics), generation=generation)
        for name, (topics, _, generation) in members.items()
    }
    past = {
        name: MemberData(keys(owned), generation)
        for name, (_, owned, generation) in members.items()
    }
    owned = OwnedPartitions(subscriptions, -1)
    for name, data in past.items():
        owned.add(name, data, where)
    previous = previous_owners(past, owned.max_generation)
    general = GeneralAssignment(where, RackInfo(where, subscriptions), owned, subscriptions)
    return {
        name: " ".join(f"{topic}{index}" for topic, index in each)
        for name, each in general.build(previous).items()
    }


def test_the_member_with_the_fewest_partitions_has_the_next() -> None:
    """Those that few may have are divided first."""
    assigned = assign({"t": 2, "u": 2}, {"m": ("tu", "", 0), "n": ("u", "", 0)})
    assert assigned == {"m": "t0 t1", "n": "u0 u1"}


def test_a_topic_that_nobody_wants_is_left_out() -> None:
    """As are topics that are unknown."""
    assert assign({"t": 1, "u": 1}, {"m": ("t", "", 0), "n": ("x", "", 0)}) == {"m": "t0", "n": ""}


def test_members_give_up_what_they_do_not_subscribe_to_any_more() -> None:
    """And keep the rest."""
    assigned = assign({"t": 2, "u": 2}, {"m": ("t", "t0 u0 t1", 1), "n": ("tu", "u1", 1)})
    assert assigned == {"m": "t0 t1", "n": "u1 u0"}


def test_partitions_move_to_members_that_have_at_least_two_fewer() -> None:
    """No more than that takes."""
    assigned = assign({"t": 4, "u": 1}, {"m": ("tu", "t0 t1 t2 t3", 1), "n": ("t", "", 1)})
    assert {name: len(each.split()) for name, each in assigned.items()} == {"m": 3, "n": 2}


def test_a_partition_moves_back_to_the_member_that_had_it() -> None:
    """Only n would come before it by its name."""
    members = {"m": ("t", "t0 t1 t2 t3", 2), "n": ("t", "", 2), "o": ("t", "", 2)}
    assert assign({"t": 4}, members) == {"m": "t2 t3", "n": "t0", "o": "t1"}
    members["o"] = ("t", "t0", 1)
    assert assign({"t": 4}, members) == {"m": "t2 t3", "n": "t1", "o": "t0"}


def test_what_was_owned_last_counts() -> None:
    """Of what members had before the latest generation."""
    (key,) = keys("t0")
    past = {
        "m": MemberData([key], 1),
        "n": MemberData([key], 2),
        "o": MemberData([key], 3),
        "p": MemberData([key], None),
    }
    assert previous_owners(past, 3) == {key: PreviousOwner("n", 2)}
    assert previous_owners({"p": past["p"]}, 3) == {key: PreviousOwner("p", -1)}


def test_a_previous_owner_that_takes_no_part_is_passed_over() -> None:
    """Java's assignor fails there: its member subscribes to nothing that others have."""
    members = {"m": ("tu", "t0 t1 t2 t3", 2), "n": ("t", "", 2), "o": ("x", "t0", 1)}
    assigned = assign({"t": 4, "u": 1}, members)
    assert {name: len(each.split()) for name, each in assigned.items()} == {"m": 3, "n": 2, "o": 0}
