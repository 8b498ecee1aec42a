"""Test intents of Kafka's LogSegmentTest.

Left out: preallocated files, which this log does not make.
"""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kdiag.clock import NS_PER_MS
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.files.time_index import TimestampOffset
from kdiag.lab.log.refusal import LogFileError
from kdiag.lab.log.segment import LogSegment
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from made_values.log_maker import clock_at

if TYPE_CHECKING:
    from kdiag.wire.records.batch import RecordBatch

DENSE = LogConfig(index_interval_bytes=1)
BASE = 40


def segment_of(folder: Path, *offsets: int, config: LogConfig = DENSE) -> LogSegment:
    """Return a segment with a batch of one record at each offset, and ten times it as timestamp."""
    segment = LogSegment(folder, BASE, config, clock_at())
    for offset in offsets:
        append(segment, offset)
    return segment


def append(segment: LogSegment, *offsets: int, magic: int = 2) -> None:
    """Append one batch of records with these offsets."""
    records = [Record(offset, offset * 10, None, b"v" * 50) for offset in offsets]
    data = write_batch(records, BatchHeader(magic=magic))
    segment.append(data, read_batches(data).batches)


def offsets_from(segment: LogSegment, offset: int) -> list[int]:
    """Return the last offsets of the batches from an offset on."""
    return [batch.last_offset for batch in segment.batches(offset)]


def test_reading_begins_with_the_batch_that_holds_the_offset(tmp_path: Path) -> None:
    """A gap is read from the next batch on; before the first, from the first."""
    segment = segment_of(tmp_path)
    append(segment, 50, 51, 52)
    append(segment, 60, 61)
    assert offsets_from(segment, 0) == offsets_from(segment, 51) == [52, 61]
    assert offsets_from(segment, 53) == offsets_from(segment, 60) == [61]
    assert segment.read(62, 1 << 20) is None
    assert segment.locate(62) is None


def test_an_empty_segment_has_nothing_to_read(tmp_path: Path) -> None:
    """Its next offset is its base offset."""
    segment = segment_of(tmp_path)
    assert segment.read(BASE, 100) is None
    assert segment.next_offset() == BASE
    assert segment.first_batch_timestamp is None
    assert segment.is_whole()


def test_a_read_is_cut_at_its_limits(tmp_path: Path) -> None:
    """Only a whole first batch may exceed the size, and nothing the end."""
    segment = segment_of(tmp_path, 40, 41, 42)
    size = segment.size // 3
    cut = segment.read(40, 10)
    whole = segment.read(40, 10, is_one_whole=True)
    bound = segment.read(41, 1 << 20, end=2 * size)
    none = segment.read(42, 1 << 20, end=size, is_one_whole=True)
    assert cut is not None
    assert whole is not None
    assert bound is not None
    assert none is not None
    assert (cut.slice.size, cut.is_first_cut) == (10, True)
    assert (whole.slice.size, whole.is_first_cut) == (size, False)
    assert (bound.slice.position, bound.slice.size) == (size, size)
    assert none.slice.size == 0


def test_index_entries_have_the_last_offset_and_the_start_of_a_batch(tmp_path: Path) -> None:
    """As Kafka's DumpLogSegments wants them, also if one append has several batches."""
    segment = segment_of(tmp_path, 40)
    data = b"".join(
        write_batch([Record(offset, offset * 10), Record(offset + 1, 0)]) for offset in (41, 43)
    )
    position = segment.append(data, read_batches(data).batches)
    index = segment.offset_index
    assert [index.entry(at) for at in range(len(index))] == [
        (42, position),
        (44, position + len(data) // 2),
    ]
    times = segment.time_index
    assert [times.entry(at) for at in range(len(times))] == [(410, 42), (430, 44)]


def test_few_batches_get_an_index_entry(tmp_path: Path) -> None:
    """One for every `index.interval.bytes`."""
    segment = segment_of(tmp_path, *range(40, 100), config=LogConfig(index_interval_bytes=500))
    assert 5 <= len(segment.offset_index) <= segment.size // 500
    assert offsets_from(segment, 77)[0] == 77


@pytest.mark.parametrize(
    ("settings", "rolls"),
    [
        ({"segment_bytes": 400}, True),
        ({"segment_bytes": 1000}, False),
        ({"segment_ms": 99}, True),
        ({"segment_ms": 101}, False),
        ({"segment_index_bytes": 16}, True),
    ],
)
def test_a_segment_rolls_when_it_is_full_or_old(
    tmp_path: Path,
    settings: dict[str, int],
    rolls: bool,  # noqa: FBT001 - a row of the table
) -> None:
    """Old by its timestamps; full in its log or in an index."""
    config = LogConfig(index_interval_bytes=1, **settings)  # type: ignore[arg-type]
    segment = segment_of(tmp_path, 40, 41, 42, config=config)
    more = read_batches(write_batch([Record(50, 500)])).batches
    assert segment.should_roll(config, more, now_ms=0) is rolls


def test_without_timestamps_a_segment_ages_by_the_clock(tmp_path: Path) -> None:
    """From the time it was opened."""
    clock = clock_at(1000)
    segment = LogSegment(tmp_path, BASE, DENSE, clock)
    append(segment, 40, magic=0)
    clock.advance(5 * NS_PER_MS)
    assert segment.waited_for_roll_ms(clock.epoch_ns() // NS_PER_MS, 123) == 5
    assert segment.largest_timestamp == segment.last_modified_ms > 0


def test_an_offset_beyond_31_bits_needs_another_segment(tmp_path: Path) -> None:
    """Indexes have relative offsets."""
    segment = segment_of(tmp_path, 40)
    far = read_batches(write_batch([Record(BASE + (1 << 31))])).batches
    assert segment.should_roll(DENSE, far, now_ms=0)


def test_truncation_cuts_whole_batches_and_their_index_entries(tmp_path: Path) -> None:
    """What is appended then is found again."""
    segment = segment_of(tmp_path, 40, 41, 42, 43, 44)
    size = segment.size // 5
    assert segment.truncate_to(43) == 2 * size
    assert segment.next_offset() == 43
    assert segment.largest_timestamp_offset == TimestampOffset(420, 42)
    append(segment, 43, 44)
    assert offsets_from(segment, 43) == [44]
    assert segment.truncate_to(99) == 0
    segment.truncate_to(0)
    assert (segment.size, segment.next_offset()) == (0, BASE)


def reopened(segment: LogSegment) -> LogSegment:
    """Return a segment that is opened after another process had it."""
    segment.close()
    return LogSegment(segment.log.path.parent, BASE, DENSE, clock_at())


@pytest.mark.parametrize("suffix", [".index", ".timeindex"])
@pytest.mark.parametrize("damage", [b"\xff" * 24, b"\x01", bytes(48)])
def test_a_damaged_index_is_rebuilt_from_the_log(
    tmp_path: Path, suffix: str, damage: bytes
) -> None:
    """Whoever reads notices nothing."""
    segment = segment_of(tmp_path, *range(40, 60))
    segment.close()
    path = tmp_path / f"{BASE:020d}{suffix}"
    before = path.read_bytes()
    path.write_bytes(damage)
    again = LogSegment(tmp_path, BASE, DENSE, clock_at())
    assert offsets_from(again, 50)[0] == 50
    assert again.largest_timestamp_offset == (590, 59)
    again.close()
    assert path.read_bytes() == before


def test_what_a_segment_knows_survives_a_close(tmp_path: Path) -> None:
    """Its largest timestamp is the last entry of the time index."""
    segment = segment_of(tmp_path, 40, 45, 41 + 9)
    again = reopened(segment)
    assert again.next_offset() == 51
    assert again.largest_timestamp_offset == (500, 50)
    assert again.first_batch_timestamp == 400
    append(again, 51)
    assert offsets_from(again, 51) == [51]


def test_recovery_cuts_from_the_first_damaged_batch_on(tmp_path: Path) -> None:
    """The indexes are made anew, and every batch before is told."""
    segment = segment_of(tmp_path, 40, 41, 42, 43)
    size = segment.size // 4
    data = bytearray(segment.log.path.read_bytes())
    data[2 * size + 70] ^= 1
    segment.log.path.write_bytes(data)
    told: list[RecordBatch] = []
    again = LogSegment(tmp_path, BASE, DENSE, clock_at())
    assert again.recover(told.append) == 2 * size
    assert [batch.last_offset for batch in told] == [40, 41]
    assert (again.next_offset(), len(again.offset_index)) == (42, 1)
    assert again.largest_timestamp_offset == (410, 41)


@pytest.mark.parametrize("offset", [39, 40, BASE + (1 << 31)])
def test_offsets_that_do_not_ascend_are_damage(tmp_path: Path, offset: int) -> None:
    """So are those that do not fit the segment."""
    segment = segment_of(tmp_path, 40)
    size = segment.size
    segment.log.append(write_batch([Record(offset)]))
    assert segment.recover(lambda _: None) > 0
    assert segment.size == size


def test_a_segment_whose_index_cannot_be_written_is_as_it_was(tmp_path: Path) -> None:
    """The batch is cut off again, and what an index got of it is noticed."""
    segment = segment_of(tmp_path, 40, 41)
    size = segment.size
    segment.time_index.maybe_append(1 << 40, 41)
    data = write_batch([Record(42, (1 << 40) + 1)])
    segment.time_index.close()
    path = segment.time_index.path
    path.unlink()
    path.mkdir()
    with pytest.raises(LogFileError):
        segment.append(data, read_batches(data).batches)
    path.rmdir()
    assert segment.size == size
    assert offsets_from(segment, 40) == [40, 41]
    segment.append(data, read_batches(data).batches)
    assert offsets_from(segment, 42) == [42]


def test_a_segment_is_renamed_and_deleted_with_all_its_files(tmp_path: Path) -> None:
    """Slices of it stay readable."""
    segment = segment_of(tmp_path, 40, 41)
    segment.flush()
    segment.rename(".swap")
    assert {path.suffix for path in tmp_path.iterdir()} == {".swap"}
    read = segment.read(40, 1 << 20)
    assert read is not None
    segment.delete()
    assert [*tmp_path.iterdir()] == []
    assert len(read_batches(read.slice.read()).batches) == 2
