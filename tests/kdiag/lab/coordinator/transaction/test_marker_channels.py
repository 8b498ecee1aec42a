import pytest

from kdiag.lab.coordinator.transaction.marker_channels import MarkerChannels
from kdiag.lab.coordinator.transaction.marker_writer import EndMarker, MarkerCodes, MarkerWriter
from kdiag.lab.coordinator.transaction.transaction_metadata import TxnPartition
from kdiag.lab.replication.peer_requests import HandleResponse, Purpose
from kdiag.wire.api.write_txn_markers import (
    WritableTxnMarkerPartitionResult,
    WritableTxnMarkerResult,
    WritableTxnMarkerTopicResult,
    WriteTxnMarkersRequest,
    WriteTxnMarkersResponse,
)
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import Struct
from lab_ends.one_transaction_coordinator import ORDERS, OneTransactionCoordinator

COMMIT = EndMarker(producer_id=5, producer_epoch=3, is_commit=True, coordinator_epoch=2)
ELSEWHERE = TxnPartition("elsewhere", 0)


class Leaders:
    """The markers of a coordinator, and what other nodes are asked.

    Attributes:
        asked: the requests to other nodes.
        waiting: who gets the responses.
        told: the error codes, once there are any.
    """

    def __init__(self, coordinator: OneTransactionCoordinator) -> None:
        node = coordinator.node
        node.create("elsewhere", 2)
        self.asked: list[tuple[int, Struct]] = []
        self.waiting: list[HandleResponse] = []
        self.told: list[MarkerCodes] = []
        writer = coordinator.transactions.markers
        assert isinstance(writer, MarkerWriter)
        self.channels = MarkerChannels(node.replicas, writer, self.send)

    def send(self, node_id: int, purpose: Purpose, request: Struct, handle: HandleResponse) -> None:
        """Keep a request."""
        assert purpose is Purpose.TRANSACTIONS
        self.asked.append((node_id, request))
        self.waiting.append(handle)

    def write(self, *partitions: TxnPartition) -> None:
        """Have markers written."""
        self.channels.write(COMMIT, partitions, self.told.append)

    @property
    def errors(self) -> dict[str, str]:
        """Return the errors by topic."""
        (codes,) = self.told
        return {each.topic: error_name(code) for each, code in codes.items()}


@pytest.fixture
def leaders(coordinator: OneTransactionCoordinator) -> Leaders:
    """Return the markers of a coordinator."""
    return Leaders(coordinator)


def test_each_leader_writes_its_markers_and_all_are_waited_for(
    coordinator: OneTransactionCoordinator, leaders: Leaders
) -> None:
    """What nobody leads or has is told as it is."""
    leaders.write(ORDERS, ELSEWHERE, TxnPartition("gone", 1))
    assert coordinator.markers() == [("COMMIT", 5, 3)]
    assert leaders.told == []
    ((node_id, request),) = leaders.asked
    assert node_id == 2
    assert isinstance(request, WriteTxnMarkersRequest)
    (marker,) = request.markers
    assert (marker.producer_id, marker.producer_epoch, marker.coordinator_epoch) == (5, 3, 2)
    assert marker.transaction_result
    assert [(each.name, each.partition_indexes) for each in marker.topics] == [("elsewhere", [0])]
    partition = WritableTxnMarkerPartitionResult(partition_index=0)
    topic = WritableTxnMarkerTopicResult(name="elsewhere", partitions=[partition])
    result = WritableTxnMarkerResult(producer_id=5, topics=[topic])
    leaders.waiting[0](WriteTxnMarkersResponse(markers=[result]))
    told = {"orders": "NONE", "elsewhere": "NONE", "gone": "UNKNOWN_TOPIC_OR_PARTITION"}
    assert leaders.errors == told


def test_a_leader_that_is_gone_has_written_nothing(
    coordinator: OneTransactionCoordinator, leaders: Leaders
) -> None:
    """Nor is one asked that does not run: the coordinator tries again."""
    leaders.write(ELSEWHERE)
    leaders.waiting[0](None)
    assert leaders.errors == {"elsewhere": "NOT_LEADER_OR_FOLLOWER"}
    leaders.told.clear()
    coordinator.node.controller.remove_broker(2)
    leaders.write(ELSEWHERE)
    assert leaders.errors == {"elsewhere": "NOT_LEADER_OR_FOLLOWER"}
    assert len(leaders.asked) == 1
    assert repr(leaders.channels) == "<MarkerChannels of broker 1>"
