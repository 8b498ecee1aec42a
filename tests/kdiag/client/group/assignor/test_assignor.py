"""What assignors work on."""

from collections.abc import Callable
from pathlib import Path
from random import Random

import pytest

from group_stories import assignor_judge
from group_stories.group_shapes import draw_shape
from kdiag.client.group.assignor.assignor import (
    MemberSubscription,
    member_order,
    partition_racks_of,
    uses_racks,
)
from kdiag.client.network.metadata import Broker, Cluster, Partition, Topic
from tiers.cases import for_each
from tiers.sampling import IS_EXHAUSTIVE, SEED

A = frozenset("a")
B = frozenset("b")


def topic(name: str, *replicas: tuple[int, ...]) -> Topic:
    """Return a topic whose partitions have these replicas."""
    partitions = (
        Partition(name, index, each[0], 0, each, each, ()) for index, each in enumerate(replicas)
    )
    return Topic(name, bytes(16), False, tuple(partitions))  # noqa: FBT003 - not internal


def test_the_racks_of_a_partition_are_those_of_its_replicas() -> None:
    """A broker without a rack, or one that is unknown, adds none."""
    brokers = {1: Broker(1, "h", 1, "a"), 2: Broker(2, "h", 2, "b"), 3: Broker(3, "h", 3)}
    cluster = Cluster(brokers, {"t": topic("t", (1, 2), (3, 1), (9, 3))})
    assert partition_racks_of(cluster, ["t"]) == {"t": [A | B, A, frozenset()]}


def test_topics_that_are_unknown_or_have_no_partitions_are_left_out() -> None:
    """Nothing of them can be assigned."""
    cluster = Cluster({}, {"empty": topic("empty"), "t": topic("t", (1,))})
    assert partition_racks_of(cluster, ["empty", "gone", "t"]) == {"t": [frozenset()]}


def test_static_members_come_first_by_instance_id_and_others_by_member_id() -> None:
    """A static member keeps its turn, whatever its member id is after a restart."""
    ids = {"a": None, "z": "1", "b": None, "y": "2", "c": ""}
    members = [
        (each, MemberSubscription((), group_instance_id=instance)) for each, instance in ids.items()
    ]
    assert [each for each, _ in sorted(members, key=member_order)] == ["c", "z", "y", "a", "b"]


@for_each(
    ("consumers", "partitions", "expected"),
    [
        ({"a"}, [A, B], True),
        ({"a"}, [A | B, A | B], False),
        ({"a"}, [A | B, A], True),
        ({"c"}, [A, B], False),
        (set[str](), [A, B], False),
        ({"a"}, list[frozenset[str]](), False),
    ],
)
def test_racks_matter_if_some_partition_is_not_in_all_of_them(
    consumers: set[str], partitions: list[frozenset[str]], *, expected: bool
) -> None:
    """And if some member is in one of them."""
    assert uses_racks(consumers, partitions) == expected


@pytest.mark.soak
def test_results_are_those_of_kafka(get_kafka_jars: Callable[[str], Path]) -> None:
    """500 random groups over several rebalances: each assignment and each user data, as bytes.

    Now and then Java's sticky assignors fail or never end (general.py); there is no result then.
    """
    get_kafka_jars("4.3.1")
    names = [*assignor_judge.ASSIGNORS]
    count = 5000 if IS_EXHAUSTIVE else 500
    shapes = [
        draw_shape(names[number % len(names)], Random(f"{SEED} {number}"))
        for number in range(count)
    ]
    judged = assignor_judge.judge("4.3.1", shapes)
    rounds = [
        (number, ours, theirs)
        for number, (shape, results) in enumerate(zip(shapes, judged, strict=True))
        for ours, theirs in zip(assignor_judge.play(shape), results, strict=False)
    ]
    failed = [theirs for _, _, theirs in rounds if "error" in theirs]
    assert len(failed) < count // 50
    assert len(rounds) > count * 2
    for number, ours, theirs in rounds:
        assert "error" in theirs or ours == theirs, f"shape {number}"
