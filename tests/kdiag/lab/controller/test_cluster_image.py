from kdiag.lab.controller.cluster_image import (
    NO_LEADER,
    BrokerRegistration,
    ClusterImage,
    PartitionRegistration,
    TopicImage,
)

TOPIC = TopicImage("orders", b"o" * 16, (PartitionRegistration((1,), (1,), 1),))
IMAGE = ClusterImage("id", topics={"orders": TOPIC})


def test_topics_are_found_by_their_ids() -> None:
    """An id that no topic has finds none."""
    assert IMAGE.topic_of(b"o" * 16) is TOPIC
    assert IMAGE.topic_of(bytes(16)) is None


def test_partitions_are_found_by_their_numbers() -> None:
    """A number that is too large, or negative, finds none."""
    assert IMAGE.partition_of("orders", 0) is TOPIC.partitions[0]
    for topic, number in (("orders", 1), ("orders", -1), ("payments", 0)):
        assert IMAGE.partition_of(topic, number) is None


def test_the_smallest_broker_stands_for_the_controller() -> None:
    """Without brokers there is none."""
    assert IMAGE.controller_id == NO_LEADER
    brokers = {each: BrokerRegistration(each, "localhost", 9092) for each in (3, 2)}
    assert ClusterImage("id", brokers=brokers).controller_id == 2


def test_brokers_keep_some_topics_for_themselves() -> None:
    """They are internal."""
    assert not TOPIC.is_internal
    assert TopicImage("__consumer_offsets", bytes(16), ()).is_internal
