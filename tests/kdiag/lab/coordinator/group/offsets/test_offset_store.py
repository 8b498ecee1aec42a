from kdiag.lab.coordinator.group.offsets.offset_store import OffsetStore, PartitionOfTopic
from kdiag.lab.coordinator.runtime.coordinator_record import RecordOrigin
from kdiag.wire.internal.offset_commit import OffsetCommitKey, OffsetCommitValue

KEY = OffsetCommitKey(group="billing", topic="orders", partition=0)


class Replayed(OffsetStore):
    """A store, and the offset of the next record."""

    next_offset = 0

    def commit(self, offset: int | None, producer_id: int = -1) -> None:
        """Replay a record."""
        value = None if offset is None else OffsetCommitValue(offset=offset)
        self.replay(KEY, value, RecordOrigin(self.next_offset, producer_id))
        self.next_offset += 1

    @property
    def known(self) -> int | None:
        """Return what is committed."""
        found = self.get("billing", "orders", 0)
        return None if found is None else found.offset


def test_the_last_commit_counts() -> None:
    """A tombstone forgets it."""
    store = Replayed()
    assert (store.known, len(store)) == (None, 0)
    store.commit(5)
    store.commit(3)
    assert (store.known, len(store)) == (3, 1)
    assert list(store.of_group("billing")) == [PartitionOfTopic("orders", 0)]
    store.commit(None)
    assert (store.known, store.group_ids) == (None, [])


def test_an_offset_in_a_transaction_counts_when_that_is_committed() -> None:
    """Not if it is aborted."""
    store = Replayed()
    store.commit(5, producer_id=17)
    assert (store.known, store.is_pending("billing", "orders", 0)) == (None, True)
    assert store.has_open_transaction("billing")
    assert store.partitions_of("billing") == [PartitionOfTopic("orders", 0)]
    store.replay_end_transaction(17, is_commit=True)
    assert (store.known, store.is_pending("billing", "orders", 0)) == (5, False)
    store.commit(9, producer_id=17)
    store.replay_end_transaction(17, is_commit=False)
    assert (store.known, store.has_open_transaction("billing")) == (5, False)


def test_the_latest_record_wins_whatever_order_transactions_end_in() -> None:
    """Only so a log that was compacted gives the same."""
    store = Replayed()
    store.commit(1, producer_id=17)
    store.commit(2, producer_id=18)
    store.commit(3)
    store.commit(4, producer_id=19)
    store.replay_end_transaction(18, is_commit=True)
    assert store.known == 3
    store.replay_end_transaction(19, is_commit=True)
    store.replay_end_transaction(17, is_commit=True)
    assert store.known == 4


def test_a_tombstone_forgets_what_is_pending() -> None:
    """The end of that transaction changes nothing."""
    store = Replayed()
    store.commit(1, producer_id=17)
    store.commit(None)
    store.replay_end_transaction(17, is_commit=True)
    assert store.known is None


def test_the_end_of_an_unknown_transaction_changes_nothing() -> None:
    """It had no offsets here."""
    store = Replayed()
    store.replay_end_transaction(17, is_commit=True)
    assert len(store) == 0
    assert "0 groups" in repr(store)
