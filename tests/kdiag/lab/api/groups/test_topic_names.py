from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire.error_code import error_name
from lab_ends.group_asks import GroupAsks


def test_topics_are_named_by_id_since_version_10(lab: LabCluster, asks: GroupAsks) -> None:
    """One that no topic has is UNKNOWN_TOPIC_ID."""
    topic_id = lab.controller.image.topics["orders"].topic_id
    (topic,) = asks.commit(5, 10, topic=topic_id)
    assert (topic.topic_id, topic.partitions[0].error_code) == (topic_id, 0)
    for unknown in (bytes(16), b"x" * 16):
        (topic,) = asks.commit(5, 10, topic=unknown)
        assert error_name(topic.partitions[0].error_code) == "UNKNOWN_TOPIC_ID"


def test_what_does_not_exist_is_told_by_partition(asks: GroupAsks) -> None:
    """The others are committed."""
    (topic,) = asks.commit(5, partitions=(0, 2, -1))
    errors = [error_name(each.error_code) for each in topic.partitions]
    assert errors == ["NONE", "UNKNOWN_TOPIC_OR_PARTITION", "UNKNOWN_TOPIC_OR_PARTITION"]
    (topic,) = asks.commit(5, topic="lost")
    assert error_name(topic.partitions[0].error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
