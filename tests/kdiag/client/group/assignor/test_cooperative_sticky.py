"""Sticky assignments for members that keep their partitions while they rejoin."""

import pytest

from group_stories import assignor_judge
from kdiag.client.group.assignor.assignor import Assignments, MemberSubscription, RebalanceProtocol
from kdiag.client.group.assignor.cooperative_sticky import CooperativeStickyAssignor

WHERE = {"t": [frozenset[str]()] * 4, "u": [frozenset[str]()] * 2}


def joining(assigned: Assignments, topics: dict[str, str]) -> dict[str, MemberSubscription]:
    """Return how members join with what they own, in generation 1."""
    return {
        name: MemberSubscription(
            tuple(each), owned_partitions=assigned.get(name, ()), generation=1 if assigned else -1
        )
        for name, each in topics.items()
    }


def test_user_data_is_the_generation() -> None:
    """For leaders that do not know it from the subscription."""
    assignor = CooperativeStickyAssignor()
    assert assignor.protocols == (RebalanceProtocol.COOPERATIVE, RebalanceProtocol.EAGER)
    assert assignor.subscription_user_data(["t"]) == b"\xff\xff\xff\xff"
    assignor.on_assignment([], 3)
    assert assignor.subscription_user_data(["t"]) == b"\0\0\0\3"


@pytest.mark.parametrize(
    "topics",
    [{"m": "tu", "n": "tu", "o": "tu"}, {"m": "tu", "n": "tu", "o": "t"}],
    ids=["same topics", "different topics"],
)
def test_a_partition_changes_hands_in_two_rebalances(topics: dict[str, str]) -> None:
    """First nobody has it, then its new member."""
    assignor = CooperativeStickyAssignor()
    before = assignor.assign(WHERE, joining({}, dict.fromkeys("mn", "tu")))
    between = assignor.assign(WHERE, joining(before, topics))
    assert all(set(between[name]) < set(before[name]) for name in "mn")
    assert between["o"] == []
    after = assignor.assign(WHERE, joining(between, topics))
    assert {name: len(each) for name, each in after.items()} == {"m": 2, "n": 2, "o": 2}
    assert all(after[name] == between[name] for name in "mn")


@pytest.mark.parametrize(
    ("user_data", "is_older"), [(b"\0\0\0\2", False), (b"\0", True), (None, True)]
)
def test_an_old_member_tells_its_generation_in_its_user_data(
    user_data: bytes | None, *, is_older: bool
) -> None:
    """The one with the later generation keeps a partition that both claim."""
    alone = CooperativeStickyAssignor().assign(WHERE, joining({}, {"m": "t"}))["m"]
    members = joining({"m": alone[:1]}, {"m": "tu"})
    members["n"] = MemberSubscription(("t", "u"), user_data, alone[:1])
    assigned = CooperativeStickyAssignor().assign(WHERE, members)
    assert alone[0] in assigned["m" if is_older else "n"]


def test_results_are_those_of_kafka() -> None:
    """Random groups over several rebalances, judged by Kafka's own assignor."""
    for shape, results in assignor_judge.judged_shapes("cooperative-sticky"):
        assert assignor_judge.play(shape) == results
