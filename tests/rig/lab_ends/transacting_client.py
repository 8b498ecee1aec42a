"""A transactional producer that sends single requests to a lab, in any version."""

from typing import Final

from kdiag.wire.api.add_offsets_to_txn import AddOffsetsToTxnRequest, AddOffsetsToTxnResponse
from kdiag.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kdiag.wire.api.end_txn import EndTxnRequest, EndTxnResponse
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kdiag.wire.api.produce import ProduceResponse
from kdiag.wire.error_code import error_name
from kdiag.wire.records.record import BatchHeader
from lab_ends.lab_client import LabClient
from lab_ends.one_node import batch
from lab_ends.requests import produce_request

NAME: Final = "payments"


class TransactingClient:
    """A producer.

    Attributes:
        client: its connection.
        producer_id: its id.
        producer_epoch: its epoch.
        sequence: of its next batch.
    """

    def __init__(self, client: LabClient) -> None:
        """Initialize; FindCoordinator makes the topic."""
        self.client = client
        self.sequence = 0
        ask = FindCoordinatorRequest(key_type=1, coordinator_keys=[NAME])
        client.ask(ask, FindCoordinatorResponse, 4)
        request = InitProducerIdRequest(transactional_id=NAME, transaction_timeout_ms=60_000)
        given = client.ask(request, InitProducerIdResponse, 4)
        assert not given.error_code
        self.producer_id, self.producer_epoch = given.producer_id, given.producer_epoch

    def add(self, topic: str, *partitions: int, version: int = 3) -> list[str]:
        """Add partitions, and return their errors."""
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=NAME,
            v3_and_below_producer_id=self.producer_id,
            v3_and_below_producer_epoch=self.producer_epoch,
            v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[*partitions])],
        )
        response = self.client.ask(request, AddPartitionsToTxnResponse, version)
        (told,) = response.results_by_topic_v3_and_below
        return [error_name(each.partition_error_code) for each in told.results_by_partition]

    def add_group(self, group_id: str, version: int = 3) -> str:
        """Add the partition of a group, and return the error."""
        request = AddOffsetsToTxnRequest(
            transactional_id=NAME,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            group_id=group_id,
        )
        return error_name(self.client.ask(request, AddOffsetsToTxnResponse, version).error_code)

    def produce(self, topic: str, partition: int, version: int, name: str | None = NAME) -> str:
        """Write a record in the transaction, and return the error."""
        header = BatchHeader(
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            base_sequence=self.sequence,
            is_transactional=True,
        )
        request = produce_request(topic, partition, batch(header=header))
        request.transactional_id = name
        response = self.client.ask(request, ProduceResponse, version)
        error = error_name(response.responses[0].partition_responses[0].error_code)
        self.sequence += error == "NONE"
        return error

    def end(self, *, is_commit: bool, version: int = 3) -> EndTxnResponse:
        """End the transaction, and return the response."""
        request = EndTxnRequest(
            transactional_id=NAME,
            producer_id=self.producer_id,
            producer_epoch=self.producer_epoch,
            committed=is_commit,
        )
        return self.client.ask(request, EndTxnResponse, version)
