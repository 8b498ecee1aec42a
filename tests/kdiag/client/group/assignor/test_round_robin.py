"""Partitions in turn."""

from group_stories import assignor_judge
from kdiag.client.group.assignor.assignor import MemberSubscription
from kdiag.client.group.assignor.round_robin import RoundRobinAssignor
from tiers.cases import for_each


@for_each(
    ("partitions", "subscriptions", "expected"),
    [
        ({}, {"m": "t"}, {"m": ""}),
        ({"t": 3}, {"m": ""}, {"m": ""}),
        ({"t": 1}, {"m": "t", "n": "t"}, {"m": "t0", "n": ""}),
        ({"t": 2, "u": 3}, {"m": "tu", "n": "tu"}, {"m": "t0 u0 u2", "n": "t1 u1"}),
        (
            {"t": 3, "u": 2},
            {"m": "t", "n": "tu", "o": "t"},
            {"m": "t0", "n": "t1 u0 u1", "o": "t2"},
        ),
        ({"t": 2, "u": 2}, {"n": "tu", "m": "u"}, {"m": "u0", "n": "t0 t1 u1"}),
    ],
)
def test_members_take_turns(
    partitions: dict[str, int], subscriptions: dict[str, str], expected: dict[str, str]
) -> None:
    """Those that do not subscribe to a topic are passed over."""
    where = {topic: [frozenset[str]()] * count for topic, count in partitions.items()}
    members = {name: MemberSubscription(tuple(each)) for name, each in subscriptions.items()}
    assigned = RoundRobinAssignor().assign(where, members)
    written = {
        name: " ".join(f"{topic}{index}" for topic, index in each)
        for name, each in assigned.items()
    }
    assert written == expected


def test_results_are_those_of_kafka() -> None:
    """Random groups over several rebalances, judged by Kafka's own assignor."""
    for shape, results in assignor_judge.judged_shapes("roundrobin"):
        assert assignor_judge.play(shape) == results
