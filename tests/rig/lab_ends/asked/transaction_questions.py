"""Questions about transactions, which a lab and Kafka are asked alike.

A transactional id is initialized in every version; its producer ids are each one's own, so what
needs them is asked by tests of whole transactions. Here producers are wrong about themselves.
"""

from collections.abc import Iterator
from typing import Any

from lab_ends.asked.questions import Question

_ORDERS = [{"name": "orders", "partitions": [0]}]


def transaction_questions() -> Iterator[Question]:
    """Yield them, in their order."""
    body: dict[str, Any]
    for name, changes in (
        ("an id of a transaction", {}),
        ("a timeout too long", {"transaction_timeout_ms": 1 << 30}),
        ("no timeout", {"transaction_timeout_ms": 0}),
        ("a producer unknown", {"producer_id": 77_777, "producer_epoch": 3}),
        ("half a producer", {"producer_id": 77_777}),
    ):
        body = {"transactional_id": "payer", "transaction_timeout_ms": 60_000, **changes}
        yield Question("InitProducerId", name, body)
    for name, who in (("an unknown id", "nobody"), ("a wrong producer", "payer"), ("no id", "")):
        producer = {"transactional_id": who, "producer_id": 77_777, "producer_epoch": 3}
        yield Question("EndTxn", name, {**producer, "committed": True})
        yield Question("AddOffsetsToTxn", name, {**producer, "group_id": "readers"})
        body = {f"v3_and_below_{key}": value for key, value in producer.items()}
        yield Question("AddPartitionsToTxn", name, {**body, "v3_and_below_topics": _ORDERS}, "0-3")
    body = {"v3_and_below_transactional_id": "payer", "v3_and_below_producer_id": 77_777}
    nowhere = [{"name": "nowhere", "partitions": [0]}]
    body |= {"v3_and_below_topics": nowhere + _ORDERS}
    yield Question("AddPartitionsToTxn", "an unknown topic", body, "0-3")
    yield from _described()


def _described() -> Iterator[Question]:
    for name, ids in (("one", ["payer"]), ("an unknown one", ["nobody"]), ("no name", [""])):
        yield Question("DescribeTransactions", name, {"transactional_ids": ids})
    for name, filters in (
        ("all", {}),
        ("a state", {"state_filters": ["Empty"]}),
        ("an unknown state", {"state_filters": ["Sleepy"]}),
        ("a producer unknown", {"producer_id_filters": [77_777]}),
        ("long ones", {"duration_filter": 3_600_000}),
        ("a pattern", {"transactional_id_pattern": "pay.*"}),
        ("a pattern that fits none", {"transactional_id_pattern": "x+"}),
        ("an expression that is none", {"transactional_id_pattern": "("}),
    ):
        yield Question("ListTransactions", name, filters)
    for name, topic, partition in (
        ("a partition", "grown", 0),
        ("an unknown partition", "orders", 9),
        ("an unknown topic", "nowhere", 0),
    ):
        topics = [{"name": topic, "partition_indexes": [partition]}]
        yield Question("DescribeProducers", name, {"topics": topics})
