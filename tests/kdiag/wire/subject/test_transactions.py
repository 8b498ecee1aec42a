from exchange_maker import make_exchange
from kdiag.wire.api.add_offsets_to_txn import AddOffsetsToTxnRequest
from kdiag.wire.api.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnTopic,
    AddPartitionsToTxnTransaction,
)
from kdiag.wire.api.describe_transactions import (
    DescribeTransactionsRequest,
    DescribeTransactionsResponse,
    TopicData,
    TransactionState,
)
from kdiag.wire.api.end_txn import EndTxnRequest, EndTxnResponse
from kdiag.wire.api.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from kdiag.wire.api.list_transactions import ListTransactionsRequest, ListTransactionsResponse
from kdiag.wire.api.write_txn_markers import (
    WritableTxnMarker,
    WritableTxnMarkerTopic,
    WriteTxnMarkersRequest,
)
from kdiag.wire.dissection import Dissection
from kdiag.wire.schema import Struct
from kdiag.wire.subject.line import Subjects
from kdiag.wire.topic_names import TopicNames


def about(asked: Struct | None, answered: Struct | None = None, *, version: int) -> str:
    """Return what an exchange of two messages is about."""
    exchange = make_exchange(asked, answered, version=version)
    return Subjects(TopicNames()).of(Dissection(exchange))


def test_a_producer_gets_id_and_epoch() -> None:
    """With a transactional id or merely idempotent; nothing is given with an error."""
    answered = InitProducerIdResponse(producer_id=1001, producer_epoch=2)
    asked = InitProducerIdRequest(transactional_id="pay", keep_prepared_txn=True)
    said = "transaction pay, keeps what is prepared → producer 1001 epoch 2"
    assert about(asked, answered, version=6) == said
    plain = InitProducerIdRequest(transactional_id=None)
    failed = InitProducerIdResponse(error_code=51)
    assert about(plain, failed, version=4) == "idempotent producer"


def test_partitions_are_added_to_one_transaction_or_many() -> None:
    """Brokers verify before they append, for several transactions at once."""
    topics = [AddPartitionsToTxnTopic("orders", [0, 1])]
    old = AddPartitionsToTxnRequest(v3_and_below_transactional_id="pay", v3_and_below_topics=topics)
    assert about(old, version=3) == "transaction pay, orders[0,1]"
    each = AddPartitionsToTxnTransaction("pay", verify_only=True, topics=topics)
    many = AddPartitionsToTxnRequest(transactions=[each])
    assert about(many, version=4) == "transaction pay, verifies, orders[0,1]"


def test_the_end_of_a_transaction_tells_its_outcome() -> None:
    """From version 5 on the response brings the next epoch."""
    asked = EndTxnRequest("pay", 1001, 2, committed=True)
    answered = EndTxnResponse(producer_id=1001, producer_epoch=3)
    said = "commit transaction pay, producer 1001 epoch 2 → producer 1001 epoch 3"
    assert about(asked, answered, version=5) == said
    assert about(EndTxnRequest("pay"), EndTxnResponse(), version=1).startswith("abort")


def test_markers_tell_outcome_producer_and_partitions() -> None:
    """The coordinator sends them to the leaders."""
    marker = WritableTxnMarker(
        1001, 2, transaction_result=True, topics=[WritableTxnMarkerTopic("orders", [0])]
    )
    assert (
        about(WriteTxnMarkersRequest([marker]), version=1)
        == "commit producer 1001 epoch 2 orders[0]"
    )


def test_transactions_are_described_and_listed() -> None:
    """Those that were not found have no state."""
    found = TransactionState(0, "pay", "Ongoing", topics=[TopicData("orders", [0])])
    answered = DescribeTransactionsResponse(transaction_states=[found, TransactionState(105)])
    asked = DescribeTransactionsRequest(["pay", "nope"])
    said = "transaction pay transaction nope → Ongoing, producer 0 epoch 0, orders[0]"
    assert about(asked, answered, version=0) == said
    listing = ListTransactionsRequest(state_filters=["Ongoing"])
    assert about(listing, ListTransactionsResponse(), version=1) == "Ongoing → 0 transactions"


def test_the_group_of_committed_offsets_is_told() -> None:
    """It is added to the transaction before they are."""
    asked = AddOffsetsToTxnRequest("pay", 1, 0, "billing")
    assert about(asked, version=3) == "transaction pay, group billing"
