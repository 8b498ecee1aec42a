from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.wire.api.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    TopicRequest,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient


def pages(
    client: LabClient, *names: str, limit: int = 2000
) -> list[DescribeTopicPartitionsResponse]:
    """Return the pages until there is no next one."""
    read: list[DescribeTopicPartitionsResponse] = []
    cursor: Cursor | None = None
    while not read or cursor is not None:
        request = DescribeTopicPartitionsRequest(
            topics=[TopicRequest(name=name) for name in names],
            response_partition_limit=limit,
            cursor=cursor,
        )
        response = client.ask(request, DescribeTopicPartitionsResponse, 0)
        cursor = response.next_cursor
        read.append(response)
    return read


def told(page: DescribeTopicPartitionsResponse) -> list[tuple[str | None, int]]:
    """Return the partitions of a page."""
    return [
        (topic.name, partition.partition_index)
        for topic in page.topics
        for partition in topic.partitions
    ]


def test_topics_are_told_page_by_page(lab: LabCluster, client: LabClient) -> None:
    """Each partition once, whatever the limit is."""
    lab.controller.create_topic(NewTopic("a", 3))
    every = [("a", 0), ("a", 1), ("a", 2), ("orders", 0), ("orders", 1)]
    for limit in (1, 2, 3, 4, 5, 2000, 1_000_000):
        read = pages(client, limit=limit)
        assert [each for page in read for each in told(page)] == every
        assert all(len(told(page)) <= limit for page in read)
    (page,) = pages(client)
    assert page.topics[1].topic_id == lab.controller.image.topics["orders"].topic_id
    assert page.topics[1].partitions[1].leader_id == 1


def test_a_topic_that_is_not_there_has_its_error(client: LabClient) -> None:
    """Others are told."""
    (page,) = pages(client, "orders", "nothing", "a/b")
    assert {topic.name: error_name(topic.error_code) for topic in page.topics} == {
        "a/b": "INVALID_TOPIC_EXCEPTION",
        "nothing": "UNKNOWN_TOPIC_OR_PARTITION",
        "orders": "NONE",
    }
