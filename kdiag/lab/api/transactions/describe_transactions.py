"""DescribeTransactions: the state, the producer and the partitions of transactional ids (KIP-664).

Behaviour: an id that nobody has used is TRANSACTIONAL_ID_NOT_FOUND, one that another node
coordinates NOT_COORDINATOR. The time of the start is -1 where there is no transaction.

Source: Kafka's `TransactionCoordinator.handleDescribeTransactions`.

Leaves out: nothing.
"""

from collections import defaultdict

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.wire.api.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from kdiag.wire.error_code import CODE_BY_NAME


def handle(request: DescribeTransactionsRequest, call: ApiCall) -> DescribeTransactionsResponse:
    """Tell transactions."""
    return DescribeTransactionsResponse(
        transaction_states=[_described(each, call) for each in request.transactional_ids]
    )


def _described(transactional_id: str, call: ApiCall) -> TransactionState:
    described = TransactionState(transactional_id=transactional_id)
    try:
        metadata = call.node.transactions.find(transactional_id)
    except RequestRefusedError as error:
        described.error_code = error.code
        return described
    if metadata is None:
        described.error_code = CODE_BY_NAME["TRANSACTIONAL_ID_NOT_FOUND"]
        return described
    now = metadata.now
    topics = defaultdict(list)
    for topic, partition in sorted(now.partitions):
        topics[topic].append(partition)
    described.transaction_state = now.state.text
    described.transaction_timeout_ms = now.timeout_ms
    described.transaction_start_time_ms = now.start_ms
    described.producer_id, described.producer_epoch = now.producer_id, now.producer_epoch
    described.topics = [TopicData(topic=name, partitions=each) for name, each in topics.items()]
    return described
