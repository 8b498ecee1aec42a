"""Clients that write records: one by one or in batches, or in a transaction.

Source: Kafka's Produce, InitProducerId, AddPartitionsToTxn, EndTxn; KIP-98.
"""

import os
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.config.load import ClientConfig
from kdiag.clock import NS_PER_MS, Clock
from kdiag.errors import AbsentError, KdiagError
from kdiag.lab.scenario.clients.scenario_thread import ScenarioThread
from kdiag.lab.scenario.scenario import ProducerClient, TransactionClient
from kdiag.probe.destination import Destination, Way, find_nodes
from kdiag.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from kdiag.wire.api.end_txn import EndTxnRequest, EndTxnResponse
from kdiag.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kdiag.wire.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag.wire.error_code import error_name
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch

_PRODUCE_VERSION: Final = 11
"""The newest that names topics, and adds no partition to a transaction by itself."""

_TXN_VERSION: Final = 3
_INIT_VERSION: Final = 4
_TIMEOUT_MS: Final = 5_000
_RETRY_NS: Final = 20 * NS_PER_MS
_SOON: Final = frozenset(
    {"COORDINATOR_LOAD_IN_PROGRESS", "CONCURRENT_TRANSACTIONS", "NOT_COORDINATOR"}
)


def produce_request(
    topic: str,
    partition: int,
    batch: bytes,
    *,
    acks: int = -1,
    transactional_id: str | None = None,
) -> ProduceRequest:
    """Return a request that writes one batch."""
    data = PartitionProduceData(index=partition, records=batch)
    return ProduceRequest(
        transactional_id=transactional_id,
        acks=acks,
        timeout_ms=_TIMEOUT_MS,
        topic_data=[TopicProduceData(name=topic, partition_data=[data])],
    )


def leader_of(client: ClusterClient, topic: str, partition: int) -> int:
    """Return the leader of a partition.

    Raises:
        AbsentError: if there is none.
    """
    nodes = find_nodes(client, Destination(Way.LEADER, topic, partition))
    if not nodes.ids:
        raise AbsentError(f"{topic}[{partition}]", nodes.why)
    return nodes.ids[0]


class RecordProducer(ScenarioThread):
    """Writes records, one request after another; refusals are counted and not repeated."""

    def __init__(
        self, wanted: ProducerClient, config: ClientConfig, clock: Clock, deadline_ns: int
    ) -> None:
        super().__init__(wanted.name, config, clock, deadline_ns)
        self._wanted = wanted

    def work(self, client: ClusterClient) -> None:
        """Write all."""
        wanted = self._wanted
        cluster = client.refresh([wanted.topic])
        partitions = range(len(cluster.topics[wanted.topic].partitions))
        if wanted.partition is not None:
            partitions = range(wanted.partition, wanted.partition + 1)
        leaders = {each: leader_of(client, wanted.topic, each) for each in partitions}
        errors: dict[str, int] = {}
        for turn, start in enumerate(range(0, wanted.records, wanted.per_request)):
            count = min(wanted.per_request, wanted.records - start)
            partition = partitions[turn % len(partitions)]
            error = self._write(client, leaders[partition], partition, count)
            if error is not None:
                errors[error] = errors.get(error, 0) + 1
            if wanted.pause_ms:
                client.wait(wanted.pause_ms * NS_PER_MS)
        if errors:
            told = ", ".join(f"{error} {count}" for error, count in errors.items())
            self.failure = f"{self.name}: {told}"

    def _write(self, client: ClusterClient, leader: int, partition: int, count: int) -> str | None:
        """Write one batch, and return the error."""
        wanted = self._wanted
        now_ms = self.clock.epoch_ns() // NS_PER_MS
        records = [Record(offset=n, timestamp=now_ms, value=self._value()) for n in range(count)]
        batch = write_batch(records, BatchHeader(compression=wanted.compression))
        request = produce_request(wanted.topic, partition, batch, acks=wanted.acks)
        if not wanted.acks:
            client.client.await_future(
                client.send(leader, request, version=_PRODUCE_VERSION), self._deadline_ns
            )
            return None
        try:
            told = client.ask(leader, request, ProduceResponse, version=_PRODUCE_VERSION)
        except KdiagError as error:
            return type(error).__name__
        code = told.responses[0].partition_responses[0].error_code
        return error_name(code) if code else None

    def _value(self) -> bytes:
        size = self._wanted.value_bytes
        if self._wanted.value is None:
            return os.urandom(size)
        text = self._wanted.value.encode()
        return (text * (size // len(text) + 1))[:size]


class TransactionWriter(ScenarioThread):
    """Writes one transaction, and ends it as it is told to."""

    def __init__(
        self, wanted: TransactionClient, config: ClientConfig, clock: Clock, deadline_ns: int
    ) -> None:
        super().__init__(wanted.name, config, clock, deadline_ns)
        self._wanted = wanted
        self._sequence = 0
        self._producer = (-1, -1)

    def work(self, client: ClusterClient) -> None:
        """Write it."""
        wanted = self._wanted
        place = Destination(
            Way.COORDINATOR, wanted.transactional_id, kind=CoordinatorKind.TRANSACTION
        )
        nodes = find_nodes(client, place)
        if not nodes.ids:
            raise AbsentError(wanted.transactional_id, nodes.why)
        coordinator = nodes.ids[0]
        self._begin(client, coordinator)
        self._add(client, coordinator)
        for _ in range(wanted.records):
            self._produce(client)
        if wanted.ends != "open":
            is_commit = wanted.ends == "commit"
            request = EndTxnRequest(wanted.transactional_id, *self._producer, committed=is_commit)
            client.ask(coordinator, request, EndTxnResponse, version=_TXN_VERSION)

    def _begin(self, client: ClusterClient, coordinator: int) -> None:
        """Get the producer id."""
        request = InitProducerIdRequest(
            transactional_id=self._wanted.transactional_id,
            transaction_timeout_ms=self._wanted.timeout_ms,
        )
        while True:
            given = client.ask(coordinator, request, InitProducerIdResponse, version=_INIT_VERSION)
            error = error_name(given.error_code)
            if error not in _SOON:
                break
            client.wait(_RETRY_NS)
        if given.error_code:
            raise AbsentError("InitProducerId", error)
        self._producer = given.producer_id, given.producer_epoch

    def _add(self, client: ClusterClient, coordinator: int) -> None:
        """Add the partition to the transaction."""
        wanted = self._wanted
        topic = AddPartitionsToTxnTopic(name=wanted.topic, partitions=[wanted.partition])
        producer_id, epoch = self._producer
        request = AddPartitionsToTxnRequest(
            v3_and_below_transactional_id=wanted.transactional_id,
            v3_and_below_producer_id=producer_id,
            v3_and_below_producer_epoch=epoch,
            v3_and_below_topics=[topic],
        )
        client.ask(coordinator, request, AddPartitionsToTxnResponse, version=_TXN_VERSION)

    @property
    def place(self) -> tuple[str, int]:
        """Return the topic and the partition that it writes to."""
        return self._wanted.topic, self._wanted.partition

    def next_batch(self) -> bytes:
        """Return a record of the transaction, the next in its sequence."""
        producer_id, epoch = self._producer
        header = BatchHeader(
            producer_id=producer_id,
            producer_epoch=epoch,
            base_sequence=self._sequence,
            is_transactional=True,
        )
        now_ms = self.clock.epoch_ns() // NS_PER_MS
        return write_batch([Record(offset=0, timestamp=now_ms, value=b"paid")], header)

    def _produce(self, client: ClusterClient) -> None:
        """Write a record in the transaction."""
        wanted = self._wanted
        request = produce_request(
            *self.place, self.next_batch(), transactional_id=wanted.transactional_id
        )
        leader = leader_of(client, wanted.topic, wanted.partition)
        told = client.ask(leader, request, ProduceResponse, version=_PRODUCE_VERSION)
        code = told.responses[0].partition_responses[0].error_code
        if code:
            raise AbsentError("Produce", error_name(code))
        self._sequence += 1
