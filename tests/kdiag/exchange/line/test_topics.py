from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.line.topics import Topics, index_of
from kdiag.wire.api.fetch import FetchPartition, FetchTopic
from kdiag.wire.api.metadata import MetadataRequestTopic
from kdiag.wire.primitives import uuid_text

ORDERS_ID = bytes(range(16))
TOPICS = Topics(TopicNames({uuid_text(ORDERS_ID): "orders"}))


def test_a_topic_id_is_shown_as_its_name_where_that_is_known() -> None:
    """An unknown id stays the id, and a message that tells neither gives a question mark."""
    other = bytes(15) + b"\x07"

    assert TOPICS.name(FetchTopic(topic_id=ORDERS_ID)) == "orders"
    assert TOPICS.name(FetchTopic(topic_id=other)) == uuid_text(other)
    assert TOPICS.name(FetchTopic(topic="payments")) == "payments"
    assert TOPICS.name(FetchTopic()) == "?"


def test_topics_stand_with_their_partitions() -> None:
    """Each partition may carry a mark; without partitions the brackets are empty."""
    partitions = [FetchPartition(partition=each, fetch_offset=10 * each) for each in (0, 3)]
    elements = [
        FetchTopic(topic="orders", partitions=partitions),
        FetchTopic(topic="payments"),
        FetchTopic(),
    ]

    assert TOPICS.partitions(elements) == "orders[0,3] payments[]"
    marked = TOPICS.partitions(elements[:1], lambda each: f"@{each.fetch_offset}")
    assert marked == "orders[0@0,3@30]"
    assert TOPICS.partitions(None) == ""


def test_many_partitions_are_counted() -> None:
    """A topic of a thousand partitions does not fill the screen."""
    partitions = [FetchPartition(partition=each) for each in range(1000)]

    text = TOPICS.partitions([FetchTopic(topic="orders", partitions=partitions)])

    assert text == "orders[0,1,2,3,4,5,6,7,+992]"


def test_pairs_are_grouped_by_topic() -> None:
    """The partitions of a fetch session read like those of a request."""
    orders = uuid_text(ORDERS_ID)

    assert TOPICS.pairs([(orders, 0), ("audit", 2), (orders, 1)]) == "orders[0,1] audit[2]"


def test_topics_without_partitions_are_names() -> None:
    """The topics that Metadata asks for are a list of names."""
    asked = [MetadataRequestTopic(name="a"), MetadataRequestTopic(topic_id=ORDERS_ID, name=None)]

    assert TOPICS.names(asked) == "a orders"


def test_a_partition_is_a_number_or_something_with_one() -> None:
    """What has no number of a partition is -1."""
    assert index_of(4) == 4
    assert index_of(FetchPartition(partition=5)) == 5
    assert index_of(FetchTopic()) == -1
