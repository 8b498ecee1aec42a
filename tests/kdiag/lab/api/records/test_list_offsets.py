import msgspec
import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from kdiag.wire.api.produce import ProduceResponse
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from lab_ends.one_node import NOW_MS, batch
from lab_ends.requests import produce_request
from tiers.cases import for_each


def find(
    client: LabClient, timestamp: int, version: int = 11, partition: int = 0, **fields: int
) -> ListOffsetsPartitionResponse:
    """Return what is found."""
    asked = ListOffsetsPartition(partition_index=partition, timestamp=timestamp)
    topic = ListOffsetsTopic(name="orders", partitions=[asked])
    request = ListOffsetsRequest(replica_id=-1, topics=[topic], **fields)  # type: ignore[arg-type]
    return client.ask(request, ListOffsetsResponse, version).topics[0].partitions[0]


@pytest.fixture(autouse=True)
def _records(client: LabClient) -> None:
    """Have two batches, a second apart."""
    for timestamp in (NOW_MS, NOW_MS + 1000):
        client.ask(produce_request("orders", 0, batch(2, timestamp)), ProduceResponse, 9)


@for_each("version", range(1, 12))
def test_ends_and_times_are_found_in_every_version(client: LabClient, version: int) -> None:
    """The first record that is not older than a time; none beyond the newest."""
    assert find(client, -2, version).offset == 0
    assert find(client, -1, version).offset == 4
    found = find(client, NOW_MS + 1, version)
    assert (found.offset, found.timestamp) == (2, NOW_MS + 1000)
    assert find(client, NOW_MS + 1001, version).offset == -1


@for_each(("place", "first", "offset"), [(-3, 7, 2), (-4, 8, 0), (-5, 9, -1), (-6, 11, -1)])
def test_a_place_is_known_from_some_version_on(
    client: LabClient, place: int, first: int, offset: int
) -> None:
    """Before, it is refused; a lab has no tiers."""
    assert error_name(find(client, place, first - 1).error_code) == "UNSUPPORTED_VERSION"
    found = find(client, place, first)
    assert (found.error_code, found.offset) == (0, offset)


def test_a_place_that_is_none_is_refused(client: LabClient) -> None:
    """Whatever the version."""
    assert error_name(find(client, -7).error_code) == "UNSUPPORTED_VERSION"


def test_a_reader_of_committed_records_and_a_follower_have_their_ends(
    lab: LabCluster, client: LabClient
) -> None:
    """All of them are the same while nothing waits."""
    assert find(client, -1, isolation_level=1).offset == 4
    assert lab.nodes[0].replicas.partitions


@pytest.mark.parametrize(
    ("version", "error"), [(4, "LEADER_NOT_AVAILABLE"), (5, "OFFSET_NOT_AVAILABLE")]
)
def test_a_new_leader_does_not_know_the_end_yet(
    lab: LabCluster, client: LabClient, version: int, error: str
) -> None:
    """Its follower has not said how far it is; old clients know another error (KIP-207)."""
    partition = lab.nodes[0].replicas.partition(TopicPartitionOperationKey("orders", 0))
    partition.log.update_high_watermark(3)
    followed = msgspec.structs.replace(
        partition.registration, replicas=(1, 2), isr=(1, 2), leader_epoch=1
    )
    partition.update(followed, 1)
    assert error_name(find(client, -1, version).error_code) == error
    assert find(client, -2, version).offset == 0


def test_an_error_is_told(client: LabClient) -> None:
    """Of a partition that is not there."""
    assert error_name(find(client, -1, partition=9).error_code) == "UNKNOWN_TOPIC_OR_PARTITION"
