"""Ranges of partitions."""

from group_stories import assignor_judge
from kdiag.client.group.assignor.assignor import MemberSubscription
from kdiag.client.group.assignor.range import RangeAssignor
from tiers.cases import for_each

NOWHERE = frozenset[str]()
Expected = dict[str, list[tuple[str, int]]]


def members(**topics: str) -> dict[str, MemberSubscription]:
    """Return members and the topics to which they subscribe, one letter each."""
    return {name: MemberSubscription(tuple(each)) for name, each in topics.items()}


def racks(**members_racks: str) -> dict[str, MemberSubscription]:
    """Return members with racks, which subscribe to the topics `t` and `u`."""
    return {name: MemberSubscription(("t", "u"), rack=each) for name, each in members_racks.items()}


def topics(**counts: int) -> dict[str, list[frozenset[str]]]:
    """Return topics with so many partitions each, none in a rack."""
    return {name: [NOWHERE] * count for name, count in counts.items()}


@for_each(
    ("partitions", "subscriptions", "expected"),
    [
        ({}, {"m": "t"}, {"m": ""}),
        ({"t": 3}, {"m": ""}, {"m": ""}),
        ({"t": 3}, {"m": "t"}, {"m": "t0 t1 t2"}),
        ({"t": 3, "u": 3}, {"m": "t"}, {"m": "t0 t1 t2"}),
        ({"t": 1, "u": 2}, {"m": "tu"}, {"m": "t0 u0 u1"}),
        ({"t": 1}, {"m": "t", "n": "t"}, {"m": "t0", "n": ""}),
        ({"t": 2}, {"m": "t", "n": "t"}, {"m": "t0", "n": "t1"}),
        (
            {"t": 3, "u": 2},
            {"m": "t", "n": "tu", "o": "t"},
            {"m": "t0", "n": "t1 u0 u1", "o": "t2"},
        ),
        ({"t": 3, "u": 3}, {"m": "tu", "n": "tu"}, {"m": "t0 t1 u0 u1", "n": "t2 u2"}),
    ],
)
def test_each_topic_is_divided_in_ranges(
    partitions: dict[str, int], subscriptions: dict[str, str], expected: dict[str, str]
) -> None:
    """The first members have one more where it does not come out even."""
    assigned = RangeAssignor().assign(topics(**partitions), members(**subscriptions))
    written = {
        name: " ".join(f"{topic}{index}" for topic, index in each)
        for name, each in assigned.items()
    }
    assert written == expected


def test_members_are_given_partitions_in_their_racks() -> None:
    """Each has no more than its share; what is in nobody's rack goes in ranges."""
    where = {"t": [frozenset(each) for each in "bbaac"]}
    assigned = RangeAssignor().assign(where, racks(m="a", n="b"))
    assert assigned == {"m": [("t", 2), ("t", 3), ("t", 4)], "n": [("t", 0), ("t", 1)]}


def test_racks_that_all_partitions_are_in_do_not_matter() -> None:
    """Ranges are as good as any."""
    where = {"t": [frozenset("ab")] * 3}
    assigned = RangeAssignor().assign(where, racks(m="b", n="a"))
    assert assigned == {"m": [("t", 0), ("t", 1)], "n": [("t", 2)]}


def test_topics_that_are_alike_stay_co_partitioned() -> None:
    """A member has the same numbers of both, though it could have had more in its rack."""
    in_a, in_b = frozenset("a"), frozenset("b")
    where = {"t": [in_a, in_b, in_b, in_a], "u": [in_b, in_b, in_a, in_a]}
    assigned = RangeAssignor().assign(where, racks(m="a", n="b"))
    numbers = {
        name: {topic: [index for t, index in each if t == topic] for topic in "tu"}
        for name, each in assigned.items()
    }
    assert numbers == {"m": {"t": [0, 3], "u": [0, 3]}, "n": {"t": [1, 2], "u": [1, 2]}}


def test_topics_whose_members_have_no_racks_go_in_ranges_while_others_heed_racks() -> None:
    """Though both have the same members, and a third topic makes the group heed racks."""
    where = {"t": [frozenset("a")] * 2, "u": [frozenset("a")] * 4, "v": [frozenset("a"), NOWHERE]}
    subscriptions = racks(m="", n="") | {"o": MemberSubscription(("v",), rack="a")}
    assigned = RangeAssignor().assign(where, subscriptions)
    assert assigned["m"] == [("t", 0), ("u", 0), ("u", 1)]
    assert assigned["n"] == [("t", 1), ("u", 2), ("u", 3)]


def test_results_are_those_of_kafka() -> None:
    """Random groups over several rebalances, judged by Kafka's own assignor."""
    for shape, results in assignor_judge.judged_shapes("range"):
        assert assignor_judge.play(shape) == results
