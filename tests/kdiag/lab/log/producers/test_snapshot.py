from pathlib import Path

import pytest

from kdiag.lab.log.producers.entry import BatchMetadata, ProducerStateEntry
from kdiag.lab.log.producers.snapshot import read_snapshot, write_snapshot
from kdiag.lab.log.refusal import LogFileError

ENTRIES = [
    ProducerStateEntry(
        7, 2, 3, 900, 40, [BatchMetadata(3, 30, 1, 890), BatchMetadata(5, 50, 1, 900)]
    ),
    ProducerStateEntry(8, 0, -1, 800),
]


def test_a_snapshot_keeps_the_last_batch_of_each_producer(tmp_path: Path) -> None:
    """And epoch, coordinator epoch and open transaction."""
    path = tmp_path / "50.snapshot"
    write_snapshot(path, ENTRIES)
    first, second = read_snapshot(path)
    assert first.batches == ENTRIES[0].batches[1:]
    assert (first.epoch, first.coordinator_epoch, first.transaction_first_offset) == (2, 3, 40)
    assert second == ENTRIES[1]
    write_snapshot(path, [])
    assert read_snapshot(path) == []


def test_any_changed_byte_is_noticed(tmp_path: Path) -> None:
    """Also a missing one, or one more."""
    path = tmp_path / "50.snapshot"
    write_snapshot(path, ENTRIES)
    data = path.read_bytes()
    changed = [data[:at] + bytes([data[at] ^ 1]) + data[at + 1 :] for at in range(0, len(data), 3)]
    for wrong in (*changed, *(data[:size] for size in range(len(data))), data + b"\0"):
        path.write_bytes(wrong)
        with pytest.raises(LogFileError, match=r"50\.snapshot"):
            read_snapshot(path)
