"""Partitions of a transaction, added or verified for a producer by whoever coordinates it.

    the leader of orders-0 gets a Produce of the transactional id "billing"
    partition 7 of __transaction_state is led by this node      its coordinator is asked directly
                                           by broker 3          AddPartitionsToTxn to broker 3
                                           by nobody            COORDINATOR_NOT_AVAILABLE

A coordinator that does not answer is told as COORDINATOR_NOT_AVAILABLE, too; the producer is told
to try again.

Source: Kafka's `AddPartitionsToTxnManager`; KIP-890.
"""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.lab.coordinator.transaction.marker_writer import MarkerCodes
from kdiag.lab.coordinator.transaction.transaction_config import TRANSACTION_TOPIC
from kdiag.lab.coordinator.transaction.transaction_coordinator import TransactionCoordinator
from kdiag.lab.coordinator.transaction.transaction_metadata import (
    EPOCH_BUMPS_SINCE,
    TxnPartition,
)
from kdiag.lab.replication.peer_requests import Purpose, SendToNode
from kdiag.lab.replication.replica_manager import ReplicaManager
from kdiag.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kdiag.wire.error_code import CODE_BY_NAME

if TYPE_CHECKING:
    from kdiag.wire.api.add_partitions_to_txn import AddPartitionsToTxnResponse

_UNAVAILABLE: Final = CODE_BY_NAME["COORDINATOR_NOT_AVAILABLE"]

OnCodes = Callable[[MarkerCodes], None]


class TransactionalProducer(NamedTuple):
    """A producer in a transaction.

    Attributes:
        transactional_id: its name.
        producer_id: its id.
        producer_epoch: likewise.
    """

    transactional_id: str
    producer_id: int
    producer_epoch: int


class AddPartitionsManager:
    """Asks the coordinators of transactions about partitions."""

    def __init__(
        self, replicas: ReplicaManager, transactions: TransactionCoordinator, send: SendToNode
    ) -> None:
        """Ask nothing yet.

        Args:
            replicas: the node's partitions, which know who leads the others.
            transactions: those that the node coordinates.
            send: sends requests to other nodes.
        """
        self._replicas = replicas
        self._transactions = transactions
        self._send = send

    def __repr__(self) -> str:
        return f"<AddPartitionsManager of broker {self._replicas.node_id}>"

    def add(
        self, producer: TransactionalProducer, partitions: Iterable[TxnPartition], respond: OnCodes
    ) -> None:
        """Make partitions part of a transaction, and tell an error code for each, once."""
        asked = {*partitions}
        if not self._is_local(producer):
            self._ask(producer, asked, respond, is_verified=False)
            return
        name, *known = producer
        self._transactions.add_partitions(
            name,
            (known[0], known[1]),
            asked,
            lambda code: respond(dict.fromkeys(asked, code)),
            EPOCH_BUMPS_SINCE,
        )

    def verify(
        self, producer: TransactionalProducer, partitions: Iterable[TxnPartition], respond: OnCodes
    ) -> None:
        """Tell an error code for each partition, once: whether it is part of the transaction."""
        asked = {*partitions}
        if not self._is_local(producer):
            self._ask(producer, asked, respond, is_verified=True)
            return
        name, *known = producer
        respond(self._transactions.verify_partitions(name, (known[0], known[1]), asked))

    def _coordinator_of(self, producer: TransactionalProducer) -> int | None:
        broker = TRANSACTION_TOPIC.coordinator_of(producer.transactional_id, self._replicas.image)
        return None if broker is None else broker.node_id

    def _is_local(self, producer: TransactionalProducer) -> bool:
        return self._coordinator_of(producer) == self._replicas.node_id

    def _ask(
        self,
        producer: TransactionalProducer,
        partitions: set[TxnPartition],
        respond: OnCodes,
        *,
        is_verified: bool,
    ) -> None:
        """Ask another node."""

        def handle(response: "AddPartitionsToTxnResponse | None") -> None:
            told = _codes_of(response)
            respond({each: told.get(each, _UNAVAILABLE) for each in partitions})

        coordinator = self._coordinator_of(producer)
        if coordinator is None:
            handle(None)
            return
        topics: dict[str, AddPartitionsToTxnTopic] = {}
        for topic, number in sorted(partitions):
            named = topics.setdefault(topic, AddPartitionsToTxnTopic(name=topic, partitions=[]))
            named.partitions.append(number)
        transaction = AddPartitionsToTxnTransaction(
            *producer, verify_only=is_verified, topics=[*topics.values()]
        )
        request = AddPartitionsToTxnRequest(transactions=[transaction])
        self._send(coordinator, Purpose.TRANSACTIONS, request, handle)


def _codes_of(response: "AddPartitionsToTxnResponse | None") -> MarkerCodes:
    """Return the error codes of a response, by partition."""
    return {
        TxnPartition(topic.name, each.partition_index): each.partition_error_code
        for result in (() if response is None else response.results_by_transaction)
        for topic in result.topic_results
        for each in topic.results_by_partition
    }
