"""Runs of records as `kdiag tail` prints them, made from batches as brokers keep them."""

from collections.abc import Sequence

from kdiag.client.fetch.position import OPEN_END, FetchedBatch, PartitionKey
from kdiag.probe.tail.record_runs import RecordRun, record_runs
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, ControlType, Record, write_control_key
from kdiag.wire.records.writer import write_batch

NOW_MS = 1_700_000_000_123
LEADER = BatchHeader(partition_leader_epoch=5)


def fetched(
    records: Sequence[Record],
    topic: str = "orders",
    partition: int = 0,
    header: BatchHeader = LEADER,
    *,
    is_aborted: bool = False,
) -> FetchedBatch:
    """Return a fetched batch of records."""
    (batch,) = read_batches(write_batch(records, header)).batches
    return FetchedBatch(PartitionKey(topic, partition), batch, 0, OPEN_END, is_aborted)


def run_of(
    records: Sequence[Record],
    topic: str = "orders",
    partition: int = 0,
    header: BatchHeader = LEADER,
    *,
    is_aborted: bool = False,
) -> RecordRun:
    """Return records as one run."""
    batch = fetched(records, topic, partition, header, is_aborted=is_aborted)
    (run,) = record_runs([batch])
    assert isinstance(run, RecordRun)
    return run


def valued(*values: bytes | None) -> RecordRun:
    """Return a run of records with these values, from offset 7 on, without keys."""
    return run_of([Record(7 + n, NOW_MS + n, None, value) for n, value in enumerate(values)])


def marker(control: ControlType = ControlType.COMMIT, offset: int = 9) -> RecordRun:
    """Return the marker that ends a transaction."""
    value = bytes.fromhex("0000 0000 0003")  # version 0, coordinator epoch 3
    record = Record(offset, NOW_MS, write_control_key(control), value)
    return run_of([record], header=BatchHeader(is_control=True, is_transactional=True))
