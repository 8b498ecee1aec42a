import pytest

from kdiag.lab.coordinator.group.offsets.committed_offset import (
    NO_EXPIRY,
    CommittedOffset,
    offset_record,
    offset_tombstone,
    read_offset,
)
from kdiag.lab.coordinator.runtime.coordinator_record import write_records
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.internal import read_internal_record
from tiers.cases import for_each


@pytest.mark.parametrize(("expire_ms", "version", "epoch"), [(NO_EXPIRY, 3, 7), (2000, 1, -1)])
def test_an_offset_is_read_as_it_was_written(expire_ms: int, version: int, epoch: int) -> None:
    """Only version 1 says when it expires, and that has no leader epoch."""
    committed = CommittedOffset(5, epoch, "mine", 1000, expire_ms, 0)
    record = offset_record("billing", "orders", 2, committed)
    (batch,) = read_batches(write_records([record], 0)).batches
    read = read_internal_record("__consumer_offsets", batch.records()[0])
    assert read is not None
    assert read.key is not None
    assert read.value is not None
    assert read.value.version == version
    key = read.key.message
    assert (key.group, key.topic, key.partition) == ("billing", "orders", 2)
    assert read_offset(read.value.message, 0) == committed


def test_a_tombstone_has_no_value() -> None:
    """Its key is that of the offset."""
    tombstone = offset_tombstone("billing", "orders", 2)
    assert (tombstone.type, tombstone.value) == ("OffsetCommit", None)


@for_each(
    ("expire_ms", "base_ms", "now_ms", "is_expired"),
    [
        (NO_EXPIRY, 1000, 1999, False),
        (NO_EXPIRY, 1000, 2000, True),
        (NO_EXPIRY, None, 9999, False),
        (1500, 1000, 1499, False),
        (1500, 1000, 1500, True),
        (1500, None, 1500, False),
    ],
)
def test_an_offset_expires_when_nobody_needs_it(
    expire_ms: int, base_ms: int | None, now_ms: int, *, is_expired: bool
) -> None:
    """After the retention, or when an old client has said."""
    committed = CommittedOffset(5, -1, "", 1000, expire_ms)
    assert committed.is_expired(base_ms, now_ms, 1000) is is_expired
