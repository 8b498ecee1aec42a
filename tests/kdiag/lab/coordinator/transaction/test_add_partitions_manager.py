import pytest

from kdiag.lab.coordinator.transaction.add_partitions_manager import (
    AddPartitionsManager,
    TransactionalProducer,
)
from kdiag.lab.coordinator.transaction.marker_writer import MarkerCodes
from kdiag.lab.coordinator.transaction.transaction_config import TRANSACTION_TOPIC
from kdiag.lab.coordinator.transaction.transaction_metadata import TxnPartition
from kdiag.lab.replication.peer_requests import HandleResponse, Purpose
from kdiag.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopicResult,
)
from kdiag.wire.error_code import CODE_BY_NAME, error_name
from kdiag.wire.schema import Struct
from lab_ends.one_transaction_coordinator import ORDERS, OneTransactionCoordinator

PRODUCER = TransactionalProducer("billing", 0, 0)


class Asker:
    """Asks about partitions of a transaction, here or elsewhere.

    Attributes:
        asked: the requests to other nodes.
        waiting: who gets the responses.
        told: the errors of each call, by topic.
    """

    def __init__(self, coordinator: OneTransactionCoordinator) -> None:
        self.asked: list[tuple[int, Struct]] = []
        self.waiting: list[HandleResponse] = []
        self.told: list[dict[str, str]] = []
        self.manager = AddPartitionsManager(
            coordinator.node.replicas, coordinator.transactions, self.send
        )

    def send(self, node_id: int, purpose: Purpose, request: Struct, handle: HandleResponse) -> None:
        """Keep a request."""
        assert purpose is Purpose.TRANSACTIONS
        self.asked.append((node_id, request))
        self.waiting.append(handle)

    def respond(self, codes: MarkerCodes) -> None:
        """Keep what is told."""
        self.told.append({each.topic: error_name(code) for each, code in codes.items()})


@pytest.fixture
def asker(coordinator: OneTransactionCoordinator) -> Asker:
    """Return somebody who asks."""
    return Asker(coordinator)


def test_a_transaction_that_is_coordinated_here_is_asked_directly(
    coordinator: OneTransactionCoordinator, asker: Asker
) -> None:
    """A partition is part of it from then on."""
    coordinator.init()
    name = coordinator.metadata.transactional_id
    producer = TransactionalProducer(name, 0, 0)
    asker.manager.add(producer, [ORDERS], asker.respond)
    asker.manager.verify(producer, [ORDERS, TxnPartition("goods", 0)], asker.respond)
    assert asker.told == [{"orders": "NONE"}, {"orders": "NONE", "goods": "TRANSACTION_ABORTABLE"}]
    assert asker.asked == []


def test_one_that_is_coordinated_elsewhere_is_asked_there(
    coordinator: OneTransactionCoordinator, asker: Asker
) -> None:
    """By AddPartitionsToTxn as brokers send it; no answer is none."""
    controller = coordinator.node.controller
    controller.delete_topic(TRANSACTION_TOPIC.name)
    asker.manager.add(PRODUCER, [ORDERS], asker.respond)
    assert asker.told.pop() == {"orders": "COORDINATOR_NOT_AVAILABLE"}
    coordinator.node.create(TRANSACTION_TOPIC.name, 2)
    asker.manager.verify(PRODUCER, [ORDERS], asker.respond)
    ((node_id, request),) = asker.asked
    assert node_id == 2
    assert isinstance(request, AddPartitionsToTxnRequest)
    (transaction,) = request.transactions
    assert (transaction.transactional_id, transaction.verify_only) == ("billing", True)
    assert [(each.name, each.partitions) for each in transaction.topics] == [("orders", [0])]
    fenced = CODE_BY_NAME["PRODUCER_FENCED"]
    partition = AddPartitionsToTxnPartitionResult(partition_index=0, partition_error_code=fenced)
    topic = AddPartitionsToTxnTopicResult(name="orders", results_by_partition=[partition])
    result = AddPartitionsToTxnResult(transactional_id="billing", topic_results=[topic])
    asker.waiting[0](AddPartitionsToTxnResponse(results_by_transaction=[result]))
    assert asker.told.pop() == {"orders": "PRODUCER_FENCED"}
    asker.manager.add(PRODUCER, [ORDERS], asker.respond)
    asker.waiting[1](None)
    assert asker.told.pop() == {"orders": "COORDINATOR_NOT_AVAILABLE"}
    assert repr(asker.manager) == "<AddPartitionsManager of broker 1>"
