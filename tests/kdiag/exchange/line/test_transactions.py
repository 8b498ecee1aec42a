import pytest

from made_values.exchange_line import Values, written_line


@pytest.mark.parametrize(
    ("version", "asked", "text"),
    [
        (4, {"transactional_id": None}, "idempotent producer"),
        (4, {"transactional_id": "pay-1"}, "transaction pay-1"),
        (
            6,
            {"transactional_id": "pay-1", "keep_prepared_txn": True},
            "transaction pay-1, keeps what is prepared",
        ),
    ],
)
def test_an_init_producer_id_tells_for_which_transaction(
    version: int, asked: Values, text: str
) -> None:
    """Without a transactional id the producer is idempotent only."""
    assert text == written_line("InitProducerId", version, asked)


def test_the_answer_to_an_init_producer_id_tells_the_producer() -> None:
    """An error leaves nothing to tell."""
    answered = {"producer_id": 1001, "producer_epoch": 3}

    assert written_line("InitProducerId", 4, None, answered) == "producer 1001 epoch 3"
    assert written_line("InitProducerId", 4, None, {"error_code": 51}) == ""


def test_an_add_partitions_tells_transaction_and_partitions() -> None:
    """Clients add to one transaction, brokers verify several at once since version 4."""
    topics = [{"name": "orders", "partitions": [0, 1]}]
    old = {"v3_and_below_transactional_id": "pay-1", "v3_and_below_topics": topics}
    several = [
        {"transactional_id": "a", "topics": topics},
        {"transactional_id": "b", "topics": topics, "verify_only": True},
    ]

    assert written_line("AddPartitionsToTxn", 3, old) == "transaction pay-1, orders[0,1]"
    assert written_line("AddPartitionsToTxn", 4, {"transactions": several}) == (
        "transaction a, orders[0,1]; transaction b, verifies, orders[0,1]"
    )


def test_an_add_offsets_tells_transaction_and_group() -> None:
    """The offsets of the group become part of the transaction."""
    asked = {"transactional_id": "pay-1", "group_id": "g"}

    assert written_line("AddOffsetsToTxn", 3, asked, {}) == "transaction pay-1, group g"


@pytest.mark.parametrize(("committed", "text"), [(True, "commit"), (False, "abort")])
def test_an_end_tells_whether_it_commits(committed: bool, text: str) -> None:  # noqa: FBT001
    """The next epoch of the producer is in the answer since version 5."""
    producer = {"producer_id": 7, "producer_epoch": 1}
    asked = {"transactional_id": "pay-1", "committed": committed} | producer

    said = written_line("EndTxn", 5, asked, {"producer_id": 7, "producer_epoch": 2})

    assert said == f"{text} transaction pay-1, producer 7 epoch 1 → producer 7 epoch 2"
    assert written_line("EndTxn", 3, asked, {}) == f"{text} transaction pay-1, producer 7 epoch 1"


def test_markers_tell_producer_outcome_and_partitions() -> None:
    """A coordinator writes one marker for each producer."""
    topics = [{"name": "orders", "partition_indexes": [0]}]
    markers = [
        {"producer_id": each, "producer_epoch": 1, "transaction_result": each == 7}
        | {"topics": topics}
        for each in (7, 8)
    ]

    assert written_line("WriteTxnMarkers", 1, {"markers": markers}) == (
        "commit producer 7 epoch 1 orders[0], abort producer 8 epoch 1 orders[0]"
    )


def test_described_transactions_have_state_producer_and_partitions() -> None:
    """A transaction that is not known has no state."""
    state = {
        "transaction_state": "Ongoing",
        "producer_id": 7,
        "producer_epoch": 1,
        "topics": [{"topic": "orders", "partitions": [2]}],
    }
    answered = {"transaction_states": [state, {"error_code": 105}]}

    said = written_line("DescribeTransactions", 0, {"transactional_ids": ["a", "b"]}, answered)

    assert said == "transaction a transaction b → Ongoing, producer 7 epoch 1, orders[2]"


def test_listed_transactions_are_counted() -> None:
    """The filters of the request are told before."""
    asked = {"state_filters": ["Ongoing"], "transactional_id_pattern": "pay-.*"}
    answered: Values = {"transaction_states": [{}]}

    assert written_line("ListTransactions", 2, asked, answered) == "Ongoing, pay-.* → 1 transaction"
