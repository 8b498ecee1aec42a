"""Phrases for the APIs of producers and transactions."""

from typing import Any, Final

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.phrase import clause, count, listed
from kdiag.exchange.line.topics import Topics
from kdiag.wire import api_keys


def _init_request(request: Any, _: Dissection, __: Topics) -> str:
    if not request.transactional_id:
        return "idempotent producer"
    return clause(
        f"transaction {request.transactional_id}",
        "keeps what is prepared" if request.keep_prepared_txn else None,
    )


def _producer(message: Any) -> str | None:
    """Return the producer that a message names: `producer 1001 epoch 3`."""
    if message.producer_id < 0:
        return None
    return f"producer {message.producer_id} epoch {message.producer_epoch}"


def _producer_response(response: Any, dissection: Dissection, _: Topics) -> str:
    return "" if dissection.error_code else _producer(response) or ""


def _add_partitions_request(request: Any, _: Dissection, topics: Topics) -> str:
    if not request.transactions:
        added = topics.partitions(request.v3_and_below_topics)
        return clause(f"transaction {request.v3_and_below_transactional_id}", added)
    words = [
        clause(
            f"transaction {each.transactional_id}",
            "verifies" if each.verify_only else None,
            topics.partitions(each.topics),
        )
        for each in request.transactions
    ]
    return listed(words, "; ")


def _add_offsets_request(request: Any, _: Dissection, __: Topics) -> str:
    return clause(f"transaction {request.transactional_id}", f"group {request.group_id}")


def _end_request(request: Any, _: Dissection, __: Topics) -> str:
    outcome = "commit" if request.committed else "abort"
    return clause(f"{outcome} transaction {request.transactional_id}", _producer(request))


def _markers_request(request: Any, _: Dissection, topics: Topics) -> str:
    words = [
        f"{'commit' if each.transaction_result else 'abort'} {_producer(each)}"
        f" {topics.partitions(each.topics)}"
        for each in request.markers
    ]
    return listed(words, ", ")


def _describe_request(request: Any, _: Dissection, __: Topics) -> str:
    return listed([f"transaction {each}" for each in request.transactional_ids])


def _described(response: Any, _: Dissection, topics: Topics) -> str:
    words = [
        clause(each.transaction_state, _producer(each), topics.partitions(each.topics))
        for each in response.transaction_states
        if each.transaction_state
    ]
    return listed(words, "; ")


def _list_request(request: Any, _: Dissection, __: Topics) -> str:
    return clause(listed(request.state_filters), request.transactional_id_pattern)


def _listed(response: Any, _: Dissection, __: Topics) -> str:
    return count(len(response.transaction_states), "transaction")


TRANSACTIONS: Final = {
    api_keys.INIT_PRODUCER_ID: (_init_request, _producer_response),
    api_keys.ADD_PARTITIONS_TO_TXN: (_add_partitions_request, None),
    api_keys.ADD_OFFSETS_TO_TXN: (_add_offsets_request, None),
    api_keys.END_TXN: (_end_request, _producer_response),
    api_keys.WRITE_TXN_MARKERS: (_markers_request, None),
    api_keys.DESCRIBE_TRANSACTIONS: (_describe_request, _described),
    api_keys.LIST_TRANSACTIONS: (_list_request, _listed),
}
"""The phrases of request and response by API key."""
