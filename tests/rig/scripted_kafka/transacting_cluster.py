"""Scripted brokers with an open transaction: of producer 7, in one of two partitions."""

from collections.abc import Iterator
from contextlib import contextmanager

from kdiag.wire.api.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kdiag.wire.api.describe_producers import (
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)
from kdiag.wire.api.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from kdiag.wire.api.list_transactions import ListTransactionsResponse
from kdiag.wire.api.list_transactions import TransactionState as Listed
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.log_cluster import LogCluster
from scripted_kafka.scripted_broker import Received


@contextmanager
def transacting_cluster(state: str = "Ongoing") -> Iterator[LogCluster]:
    """Yield two brokers; the first coordinates the transaction, which is in this state."""
    with LogCluster(2) as cluster:
        cluster.add("orders", 0).append(b"a")
        log = cluster.add("orders", 1, leader=2)
        log.append(b"b")
        log.append(b"open")
        log.stable = 1
        open_one = ProducerState(7, 2, 0, 1000, 4, 1)
        idle = ProducerState(8, 0, 0, 1000)
        parts = [PartitionResponse(1, active_producers=[open_one, idle])]
        producers = DescribeProducersResponse(topics=[TopicResponse("orders", parts)])
        cluster.brokers[2].on("DescribeProducers", producers)
        cluster.on("ListTransactions", ListTransactionsResponse())
        listed = ListTransactionsResponse(transaction_states=[Listed("writer", 7, state)])
        cluster.brokers[1].on("ListTransactions", listed)
        places = [TopicData("orders", [1])]
        known = TransactionState(0, "writer", state, 60_000, 500, 7, 2, places)
        not_found = CODE_BY_NAME["TRANSACTIONAL_ID_NOT_FOUND"]

        def describe(received: Received) -> None:
            request = received.message()
            assert isinstance(request, DescribeTransactionsRequest)
            states = [
                known if each == "writer" else TransactionState(not_found, each)
                for each in request.transactional_ids
            ]
            received.reply(DescribeTransactionsResponse(transaction_states=states))

        cluster.on("DescribeTransactions", describe)
        config = DescribeConfigsResourceResult("transaction.max.timeout.ms", "900000")
        result = DescribeConfigsResult(resource_type=4, resource_name="1", configs=[config])
        cluster.on("DescribeConfigs", DescribeConfigsResponse(results=[result]))
        yield cluster
