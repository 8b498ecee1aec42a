import subprocess
import sys

import pytest

from kdiag.errors import DecodeError
from kdiag.probe.tail.record_columns import (
    Cells,
    ColumnCells,
    RecordCells,
    ValueCells,
    checked,
    read_cells,
)
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches, write_batch
from kdiag.wire.records.record import BatchHeader, Record, TimestampType

APPENDED = BatchHeader(timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=77)


def numbered(first: int, count: int) -> list[Record]:
    """Return small records, some with headers, some without a value or a key."""
    return [
        Record(
            number,
            number,
            b"k%d" % number if number % 2 else None,
            b"v%d" % number if number % 7 else None,
            ((b"h", b"%d" % number), (b"n", None)) if number % 5 == 0 else (),
        )
        for number in range(first, first + count)
    ]


def batches(*counts: int, header: BatchHeader = BatchHeader()) -> list[RecordBatch]:  # noqa: B008
    """Return batches that follow one another."""
    data, first = b"", 0
    for count in counts:
        data += write_batch(numbered(first, count), header)
        first += count
    return read_batches(data).batches


def rows(cells: Cells) -> list[Record]:
    """Return what the columns say of each record."""
    columns = (cells.offsets(), cells.timestamps(), cells.keys(), cells.values(), cells.headers())
    return [Record(*row) for row in zip(*columns, strict=True)]


@pytest.mark.parametrize(
    ("counts", "only_values", "kind"),
    [
        ((3, 4), False, RecordCells),
        ((100, 100), False, ColumnCells),
        ((3, 4), True, ValueCells),
        ((100, 100), True, ValueCells),
    ],
)
def test_however_they_are_read_the_columns_are_the_same(
    counts: tuple[int, ...], kind: type, *, only_values: bool
) -> None:
    """Few, many, and of which only the values are wanted."""
    cells = read_cells(batches(*counts), only_values=only_values)

    assert type(cells) is kind
    assert len(cells) == sum(counts)
    assert rows(cells) == numbered(0, sum(counts))
    assert rows(cells.only([1, 5])) == [numbered(0, 6)[1], numbered(0, 6)[5]]
    assert rows(cells.only([])) == []


@pytest.mark.parametrize("counts", [(2, 2), (100, 100)])
@pytest.mark.parametrize("only_values", [True, False])
def test_the_time_of_the_broker_counts_for_the_whole_batch(
    counts: tuple[int, ...], *, only_values: bool
) -> None:
    """Whatever the producer wrote."""
    cells = read_cells(batches(*counts, header=APPENDED), only_values=only_values)
    assert set(cells.timestamps()) == {77}


def test_columns_of_nothing_but_null_are_null() -> None:
    """There is no body to cut them from."""
    data = write_batch([Record(n) for n in range(200)])
    cells = read_cells(read_batches(data).batches, only_values=False)
    assert cells.keys() == cells.values() == [None] * 200


@pytest.mark.parametrize("counts", [(2,), (200,)])
@pytest.mark.parametrize("only_values", [True, False])
def test_a_wrong_checksum_is_refused(counts: tuple[int, ...], *, only_values: bool) -> None:
    """Before anything is made of the bytes."""
    (batch,) = batches(*counts)
    batch.crc ^= 1
    with pytest.raises(DecodeError, match="the checksum is wrong"):
        read_cells([batch], only_values=only_values)
    batch.crc ^= 1
    assert checked(batch) is batch


def test_few_records_and_values_load_no_numpy() -> None:
    """It takes longer to load than they take to read."""
    program = (
        "import sys\n"
        "from kdiag.probe.tail.record_columns import read_cells\n"
        "from kdiag.wire.records.record import Record\n"
        "from kdiag.wire.records.batches import read_batches, write_batch\n"
        "few = read_batches(write_batch([Record(0)])).batches\n"
        "read_cells(few, only_values=False).offsets()\n"
        "read_cells(few * 200, only_values=True).values()\n"
        "print('numpy' in sys.modules)\n"
    )
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"False\n"
