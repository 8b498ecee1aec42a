from kdiag.lab.coordinator.runtime.coordinator_record import RecordOrigin
from kdiag.lab.coordinator.transaction.transaction_metadata import TxnPartition, TxnTransitMetadata
from kdiag.lab.coordinator.transaction.transaction_shard import (
    TransactionShard,
    read_value,
    record_of,
    tombstone_of,
)
from kdiag.lab.coordinator.transaction.transaction_state import TransactionState
from kdiag.wire.internal.transaction_log import TransactionLogValue
from tiers.cases import for_each

ORIGIN = RecordOrigin(0)
NOW = TxnTransitMetadata(
    producer_id=5,
    producer_epoch=3,
    timeout_ms=60_000,
    state=TransactionState.ONGOING,
    previous_producer_id=4,
    next_producer_id=6,
    partitions=frozenset((TxnPartition("orders", 1), TxnPartition("orders", 0))),
    start_ms=900,
    update_ms=1_000,
    client_version=2,
)


def shard(heard: list[str]) -> TransactionShard:
    """Return a shard that notes what happens to it."""
    return TransactionShard(
        4, lambda each: heard.append(f"loaded {each}"), lambda each: heard.append(f"left {each}")
    )


@for_each("state", TransactionState)
def test_a_record_says_all_that_has_to_be_known_again(state: TransactionState) -> None:
    """Whatever the state; one without a transaction has no partitions."""
    partitions = NOW.partitions if state is not TransactionState.EMPTY else frozenset()
    now = NOW._replace(state=state, partitions=partitions)
    value = record_of("payments", now).value
    assert isinstance(value, TransactionLogValue)
    assert read_value(value) == now
    assert (value.transaction_partitions is None) is (state is TransactionState.EMPTY)


def test_the_last_record_of_an_id_counts() -> None:
    """A tombstone forgets it."""
    heard: list[str] = []
    known = shard(heard)
    known.replay(record_of("payments", NOW).as_internal(), ORIGIN)
    known.replay(record_of("payments", NOW._replace(producer_epoch=4)).as_internal(), ORIGIN)
    known.replay(record_of("refunds", NOW).as_internal(), ORIGIN)
    assert known.transactions["payments"].now.producer_epoch == 4
    known.replay(tombstone_of("payments").as_internal(), ORIGIN)
    known.replay_end_transaction(5, 3, is_commit=True)
    assert [*known.transactions] == ["refunds"]
    known.handle_loaded()
    known.handle_unloaded()
    shown = "<TransactionShard 4: 1 ids>"
    assert heard == [f"loaded {shown}", f"left {shown}"]
