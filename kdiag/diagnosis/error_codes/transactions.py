"""Errors of transactions."""

from typing import Final

from kdiag.diagnosis.error_codes.known_error import ErrorAdvice

TRANSACTIONS: Final = {
    "INVALID_PRODUCER_EPOCH": ErrorAdvice(
        (
            "Another producer with the same transactional.id has started.",
            "The coordinator aborted the transaction after transaction.timeout.ms.",
        ),
        "Give every running producer a transactional.id of its own. If the timeout is the cause, "
        "commit sooner or raise transaction.timeout.ms.",
        ("Produce", "InitProducerId", "AddPartitionsToTxn", "EndTxn", "TxnOffsetCommit"),
    ),
    "INVALID_TXN_STATE": ErrorAdvice(
        (
            "The producer sends records or ends a transaction that it has not begun.",
            "A batch arrived after its transaction had ended.",
        ),
        "Close the producer and make a new one.",
        ("EndTxn", "AddPartitionsToTxn", "Produce", "InitProducerId"),
    ),
    "INVALID_PRODUCER_ID_MAPPING": ErrorAdvice(
        (
            "The transactional id expired (transactional.id.expiration.ms, 7 days idle).",
            "A newer producer with this id has got another producer id.",
        ),
        "Make a new producer: initTransactions() registers the id again.",
        ("AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "InitProducerId"),
    ),
    "INVALID_TRANSACTION_TIMEOUT": ErrorAdvice(
        ("transaction.timeout.ms is above transaction.max.timeout.ms of the brokers (15 min).",),
        "Lower transaction.timeout.ms of the producer, or raise the limit of the brokers.",
        ("InitProducerId",),
    ),
    "CONCURRENT_TRANSACTIONS": ErrorAdvice(
        (
            "Markers of the transaction before are still being written to its partitions.",
            "A partition of it has no leader, so that its marker cannot be written.",
        ),
        "Producers retry. If it lasts, look for offline partitions and for brokers that the "
        "transaction's coordinator cannot reach.",
        ("AddPartitionsToTxn", "AddOffsetsToTxn", "InitProducerId", "EndTxn"),
    ),
    "TRANSACTION_COORDINATOR_FENCED": ErrorAdvice(
        ("A marker comes from a broker that no longer coordinates the transaction.",),
        "Brokers sort it out themselves.",
        ("WriteTxnMarkers",),
    ),
    "PRODUCER_FENCED": ErrorAdvice(
        (
            (
                "Another producer with the same transactional.id has started: two instances share "
                "it, or a new one replaced this one."
            ),
            "The transaction was aborted after transaction.timeout.ms.",
        ),
        "Close this producer: it cannot go on. Give every running producer a transactional.id of "
        "its own.",
        ("InitProducerId", "AddPartitionsToTxn", "EndTxn", "TxnOffsetCommit"),
    ),
    "TRANSACTIONAL_ID_NOT_FOUND": ErrorAdvice(
        ("The id was never used, or has expired.",),
        "Check the name; ListTransactions shows those that are known.",
        ("DescribeTransactions",),
    ),
    "TRANSACTION_ABORTABLE": ErrorAdvice(
        (
            "A partition could not be added to the transaction or verified in time.",
            "A request of the transaction failed in a way that only aborting mends.",
        ),
        "Call abortTransaction() and go on with the next; the producer need not be closed.",
        ("Produce", "AddPartitionsToTxn", "AddOffsetsToTxn", "EndTxn", "TxnOffsetCommit"),
    ),
}
"""By Kafka's name of the error."""
