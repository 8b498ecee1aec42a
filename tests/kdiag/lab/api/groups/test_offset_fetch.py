import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
)
from kdiag.wire.error_code import error_name
from lab_ends.group_asks import GroupAsks
from lab_ends.lab_client import LabClient
from lab_ends.one_coordinator import GROUP


def fetch_one(client: LabClient, version: int, topics: bool = True) -> OffsetFetchResponse:  # noqa: FBT001, FBT002 - a test asks for all or some
    """Ask for both partitions, or for all that there are."""
    asked = [OffsetFetchRequestTopic(name="orders", partition_indexes=[0, 1])] if topics else None
    request = OffsetFetchRequest(group_id=GROUP, topics=asked)
    return client.ask(request, OffsetFetchResponse, version)


def fetch_group(
    client: LabClient, version: int, topics: list[OffsetFetchRequestTopics] | None
) -> OffsetFetchResponseGroup:
    """Ask for one group."""
    group = OffsetFetchRequestGroup(group_id=GROUP, topics=topics)
    (told,) = client.ask(OffsetFetchRequest(groups=[group]), OffsetFetchResponse, version).groups
    return told


@pytest.mark.parametrize("version", range(1, 8))
def test_what_is_committed_is_told(asks: GroupAsks, version: int) -> None:
    """-1 where nothing is; from version 2 on all may be asked for."""
    asks.commit(5)
    (topic,) = fetch_one(asks.client, version).topics
    assert [(each.committed_offset, each.metadata) for each in topic.partitions] == [
        (5, "mine"),
        (-1, ""),
    ]
    if version >= 2:
        (topic,) = fetch_one(asks.client, version, topics=False).topics
        assert [each.partition_index for each in topic.partitions] == [0]


@pytest.mark.parametrize("version", [8, 9, 10])
def test_groups_are_told_by_name_or_by_id(lab: LabCluster, asks: GroupAsks, version: int) -> None:
    """All, or those that are asked for."""
    asks.commit(5)
    topic_id = lab.controller.image.topics["orders"].topic_id
    asked = OffsetFetchRequestTopics(name="orders", topic_id=topic_id, partition_indexes=[0, 1])
    (topic,) = fetch_group(asks.client, version, [asked]).topics
    assert [each.committed_offset for each in topic.partitions] == [5, -1]
    (topic,) = fetch_group(asks.client, version, None).topics
    assert [each.committed_offset for each in topic.partitions] == [5]
    assert topic.name == ("" if version == 10 else "orders")


def test_an_unknown_id_is_told_by_partition(asks: GroupAsks) -> None:
    """UNKNOWN_TOPIC_ID."""
    asked = OffsetFetchRequestTopics(topic_id=b"x" * 16, partition_indexes=[0])
    (topic,) = fetch_group(asks.client, 10, [asked]).topics
    assert topic.topic_id == b"x" * 16
    assert error_name(topic.partitions[0].error_code) == "UNKNOWN_TOPIC_ID"


@pytest.mark.parametrize("version", [1, 2, 8])
def test_another_coordinator_is_told_where_there_is_a_place_for_it(
    lab: LabCluster, client: LabClient, version: int
) -> None:
    """Of each partition, of the whole, of the group."""
    assert "__consumer_offsets" not in lab.controller.image.topics
    if version == 8:
        code = fetch_group(client, 8, []).error_code
    else:
        response = fetch_one(client, version)
        code = response.error_code
        if version == 1:
            code = response.topics[0].partitions[1].error_code
    assert error_name(code) == "NOT_COORDINATOR"
