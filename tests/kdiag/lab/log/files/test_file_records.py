"""Test intents of Kafka's FileRecordsTest."""

import os
import resource
import signal
from pathlib import Path

import pytest

from kdiag.lab.log.files import file_records
from kdiag.lab.log.files.file_records import FileRecords
from kdiag.lab.log.refusal import LogFileError
from kdiag.wire.records.record import BatchHeader
from made_values.log_maker import produced, replicated

BATCHES = [replicated(5, b"a", b"b"), replicated(7, b"c" * 500, epoch=3), replicated(8, b"d")]


def filled(folder: Path) -> FileRecords:
    """Return a file of three batches."""
    records = FileRecords(folder / "0.log")
    for batch in BATCHES:
        records.append(batch)
    return records


@pytest.mark.parametrize("window", [61, 100, 1 << 16])
def test_headers_are_read_without_their_records(tmp_path: Path, window: int) -> None:
    """However little is read at once."""
    heads = [*filled(tmp_path).heads(window_bytes=window)]
    assert [head.size for head in heads] == [len(batch) for batch in BATCHES]
    assert [(head.base_offset, head.last_offset) for head in heads] == [(5, 6), (7, 7), (8, 8)]
    assert [head.leader_epoch for head in heads] == [0, 3, 0]
    assert heads[1].end == heads[2].position


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_have_only_a_last_offset(tmp_path: Path, magic: int) -> None:
    """And a timestamp from magic 1 on."""
    records = FileRecords(tmp_path / "0.log")
    records.append(produced(b"a", b"b", header=BatchHeader(magic=magic), timestamp=1000))
    heads = [*records.heads()]
    assert [(head.last_offset, head.magic, head.leader_epoch) for head in heads] == [
        (0, magic, -1),
        (1, magic, -1),
    ]
    assert [head.max_timestamp for head in heads] == ([1000, 1001] if magic else [-1, -1])


def test_a_slice_is_a_part_of_the_file_that_sendfile_takes(tmp_path: Path) -> None:
    """It is cut at the end of the file, and outlives both the name and whoever opened it."""
    records = filled(tmp_path)
    part = records.slice(len(BATCHES[0]), 1 << 20)
    records.path.unlink()
    del records
    assert part.read() == BATCHES[1] + BATCHES[2]
    reader, writer = os.pipe()
    try:
        assert os.sendfile(writer, part.file.fd, part.position, 10) == 10
        assert os.read(reader, 20) == BATCHES[1][:10]
    finally:
        os.close(reader)
        os.close(writer)


def test_a_cut_batch_ends_the_headers(tmp_path: Path) -> None:
    """Wherever it is cut."""
    records = filled(tmp_path)
    for size in range(len(BATCHES[0]), records.size):
        end = len(BATCHES[0]) + len(BATCHES[1])
        assert len([*records.heads(end=size)]) == (1 if size < end else 2)


@pytest.mark.parametrize("garbage", [b"\xff" * 100, bytes(100), b"\x00" * 16 + b"\x03" + bytes(90)])
def test_something_else_than_a_batch_is_said_with_its_place(tmp_path: Path, garbage: bytes) -> None:
    """A magic that does not exist, or a size that no batch has."""
    records = filled(tmp_path)
    position = records.append(garbage)
    with pytest.raises(LogFileError, match=f"byte {position}: no record batch"):
        [*records.heads()]
    head = next(records.heads())._replace(position=position, size=100)
    with pytest.raises(LogFileError, match="no record batch"):
        records.batch_at(head)


def test_a_whole_batch_is_read_by_its_header(tmp_path: Path) -> None:
    """Its checksum fits."""
    records = filled(tmp_path)
    batches = [records.batch_at(head) for head in records.heads(len(BATCHES[0]))]
    assert [batch.records()[0].value for batch in batches] == [b"c" * 500, b"d"]
    assert all(batch.crc_ok for batch in batches)


def test_a_file_too_large_for_a_segment_is_refused(tmp_path: Path) -> None:
    """Positions have 31 bits."""
    with (tmp_path / "0.log").open("wb") as file:
        file.truncate(file_records.MAX_FILE_BYTES + 1)
    with pytest.raises(LogFileError, match="a segment has up to"):
        FileRecords(tmp_path / "0.log")


def test_a_full_disk_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    """Half a batch is cut off again."""
    records = filled(tmp_path)
    size = records.size
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    before = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size + 10, hard))
    try:
        with pytest.raises(LogFileError, match="File too large"):
            records.append(BATCHES[0])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, before)
    assert records.size == size == records.path.stat().st_size
    records.append(BATCHES[0])
    assert len([*records.heads()]) == 4


def test_truncation_and_renaming(tmp_path: Path) -> None:
    """A closed file can no longer be read."""
    records = filled(tmp_path)
    assert records.truncate_to(len(BATCHES[0])) == len(BATCHES[1]) + len(BATCHES[2])
    records.rename(tmp_path / "1.log")
    records.flush()
    assert (tmp_path / "1.log").read_bytes() == BATCHES[0]
    records.close()
    with pytest.raises(LogFileError, match="Bad file descriptor"):
        records.read(0, 10)
