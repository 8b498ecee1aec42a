from kdiag.lab.controller.cluster_image import ClusterImage, PartitionRegistration, TopicImage
from kdiag.lab.coordinator.group.consumer.assignor.group_spec import Partitions, TopicIdPartition
from kdiag.lab.coordinator.group.consumer.consumer_member import ConsumerGroupMember
from kdiag.lab.coordinator.group.consumer.target_assignment import (
    AssignmentInput,
    read_topics,
    target_assignment,
    topics_hash,
)


def topic(name: str, count: int) -> TopicImage:
    """Return a topic."""
    partitions = (PartitionRegistration((1,), (1,), 1),) * count
    return TopicImage(name, name[:1].encode() * 16, partitions)


IMAGE = ClusterImage("id", topics={"orders": topic("orders", 4), "payments": topic("payments", 1)})
READS = frozenset({"orders"})


def orders(*numbers: int) -> Partitions:
    """Return partitions of orders."""
    return frozenset(TopicIdPartition(b"o" * 16, number) for number in numbers)


def test_topics_are_read_by_name_and_by_pattern_if_they_are_there() -> None:
    """Others are waited for."""
    members = [
        ConsumerGroupMember("a", topics=frozenset({"orders", "lost"})),
        ConsumerGroupMember("b", regex="pay.*"),
    ]
    assert list(read_topics(members, {}, IMAGE)) == ["orders"]
    resolved = {"pay.*": frozenset({"payments"})}
    assert list(read_topics(members, resolved, IMAGE)) == ["orders", "payments"]


def test_the_hash_changes_with_topics_and_partitions() -> None:
    """It is 0 without any, and fits its field."""
    hashes = {
        topics_hash({}),
        topics_hash({"orders": topic("orders", 4)}),
        topics_hash({"orders": topic("orders", 5)}),
        topics_hash(IMAGE.topics),
    }
    assert len(hashes) == 4
    assert 0 in hashes
    assert all(-(1 << 63) <= each < 1 << 63 for each in hashes)


def test_only_targets_that_change_are_written() -> None:
    """A new member has one, even if it is empty."""
    members = {"a": ConsumerGroupMember("a", topics=READS), "b": ConsumerGroupMember("b")}
    before = {"a": orders(0, 1, 2, 3)}
    topics = read_topics(list(members.values()), {}, IMAGE)
    records, targets = target_assignment(
        "billing", "uniform", AssignmentInput(members, {}, topics, before, {})
    )
    assert targets == {"a": orders(0, 1, 2, 3), "b": frozenset()}
    assert [record.key.member_id for record in records] == ["b"]  # type: ignore[attr-defined]


def test_a_static_member_begins_with_what_it_had() -> None:
    """Under its old id."""
    members = {
        "a": ConsumerGroupMember("a", topics=READS),
        "new": ConsumerGroupMember("new", topics=READS, instance_id="one"),
    }
    before = {"a": orders(2, 3), "old": orders(0, 1)}
    topics = read_topics(list(members.values()), {}, IMAGE)
    _, targets = target_assignment(
        "billing", "uniform", AssignmentInput(members, {}, topics, before, {"one": "old"})
    )
    assert targets == {"a": orders(2, 3), "new": orders(0, 1)}


def test_members_choose_how_they_are_assigned() -> None:
    """By range, here."""
    members = {
        "b": ConsumerGroupMember("b", topics=READS),
        "a": ConsumerGroupMember("a", topics=READS),
    }
    topics = read_topics(list(members.values()), {}, IMAGE)
    given = AssignmentInput(members, {}, topics, {"b": orders(0, 1, 2, 3)}, {})
    assert target_assignment("billing", "range", given)[1]["a"] == orders(0, 1)
    assert target_assignment("billing", "uniform", given)[1]["b"] == orders(0, 1)
