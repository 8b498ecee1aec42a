"""AddPartitionsToTxn: partitions that a producer will write to in its transaction (KIP-98).

Behaviour: the first partitions begin the transaction. If one does not exist, it is
UNKNOWN_TOPIC_OR_PARTITION, and none is added: the others are OPERATION_NOT_ATTEMPTED.

Version notes: 0 to 3 are a producer's; 2 knows PRODUCER_FENCED (KIP-588). From 4 on a broker asks
for many transactions at once, to add partitions for producers, or to verify that they are there
(KIP-890).

Source: Kafka's `KafkaApis.handleAddPartitionsToTxnRequest`.

Leaves out: authorization of brokers for version 4: anybody may ask.
"""

from collections.abc import Callable, Sequence
from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.transactions.producer_errors import told_code
from kdiag.lab.coordinator.transaction.marker_writer import MarkerCodes
from kdiag.lab.coordinator.transaction.transaction_metadata import (
    EPOCH_BUMPS_SINCE,
    TxnPartition,
)
from kdiag.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnPartitionResult,
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnResult,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTopicResult,
    AddPartitionsToTxnTransaction,
)
from kdiag.wire.error_code import CODE_BY_NAME

_FIRST_OF_BROKERS: Final = 4
_FENCED_SINCE: Final = 2


def handle(request: AddPartitionsToTxnRequest, call: ApiCall) -> AddPartitionsToTxnResponse | None:
    """Add partitions to transactions."""
    if call.version < _FIRST_OF_BROKERS:
        asked = AddPartitionsToTxnTransaction(
            transactional_id=request.v3_and_below_transactional_id,
            producer_id=request.v3_and_below_producer_id,
            producer_epoch=request.v3_and_below_producer_epoch,
            topics=request.v3_and_below_topics,
        )

        def respond_to_producer(codes: MarkerCodes) -> None:
            topics = _results(asked.topics, codes)
            call.respond(AddPartitionsToTxnResponse(results_by_topic_v3_and_below=topics))

        _add(asked, call, respond_to_producer)
        return None
    return _add_all(request.transactions, call)


def _add_all(
    asked: Sequence[AddPartitionsToTxnTransaction], call: ApiCall
) -> AddPartitionsToTxnResponse | None:
    """Add to each transaction, and answer when all of them are done."""
    results: dict[int, AddPartitionsToTxnResult] = {}

    def collect(number: int, codes: MarkerCodes) -> None:
        results[number] = AddPartitionsToTxnResult(
            transactional_id=asked[number].transactional_id,
            topic_results=_results(asked[number].topics, codes),
        )
        if len(results) == len(asked):
            ordered = [results[each] for each in range(len(asked))]
            call.respond(AddPartitionsToTxnResponse(results_by_transaction=ordered))

    def collector(number: int) -> Callable[[MarkerCodes], None]:
        return lambda codes: collect(number, codes)

    for number, each in enumerate(asked):
        _add(each, call, collector(number))
    return None if asked else AddPartitionsToTxnResponse()


def _add(
    asked: AddPartitionsToTxnTransaction, call: ApiCall, respond: Callable[[MarkerCodes], None]
) -> None:
    partitions = {
        TxnPartition(topic.name, number) for topic in asked.topics for number in topic.partitions
    }
    image = call.node.controller.image
    unknown = {each for each in partitions if image.partition_of(*each) is None}
    if unknown:
        missing = CODE_BY_NAME["UNKNOWN_TOPIC_OR_PARTITION"]
        other = CODE_BY_NAME["OPERATION_NOT_ATTEMPTED"]
        respond({each: missing if each in unknown else other for each in partitions})
        return
    transactions = call.node.transactions
    producer = asked.producer_id, asked.producer_epoch
    if asked.verify_only:
        respond(transactions.verify_partitions(asked.transactional_id, producer, partitions))
        return

    def handle_added(code: int) -> None:
        told = told_code(code, call.version, fenced_since=_FENCED_SINCE)
        respond(dict.fromkeys(partitions, told))

    client_version = EPOCH_BUMPS_SINCE if call.version >= _FIRST_OF_BROKERS else 0
    transactions.add_partitions(
        asked.transactional_id, producer, partitions, handle_added, client_version
    )


def _results(
    topics: Sequence[AddPartitionsToTxnTopic], codes: MarkerCodes
) -> list[AddPartitionsToTxnTopicResult]:
    return [
        AddPartitionsToTxnTopicResult(
            name=topic.name,
            results_by_partition=[
                AddPartitionsToTxnPartitionResult(
                    partition_index=number,
                    partition_error_code=codes[TxnPartition(topic.name, number)],
                )
                for number in topic.partitions
            ],
        )
        for topic in topics
    ]
