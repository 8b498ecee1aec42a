import subprocess
import sys

import pytest

from kdiag.probe.tail.record_columns import (
    ArrayColumns,
    ObjectColumns,
    RunColumns,
    ValueColumns,
    read_columns,
)
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, Record, TimestampType
from kdiag.wire.records.writer import write_batch
from tiers.cases import for_each

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


def rows(columns: RunColumns) -> list[Record]:
    """Return what the columns say of each record."""
    cells = (
        columns.offsets(),
        columns.timestamps(),
        columns.keys(),
        columns.values(),
        columns.headers(),
    )
    return [Record(*row) for row in zip(*cells, strict=True)]


@for_each(
    ("counts", "only_values", "kind"),
    [
        ((3, 4), False, ObjectColumns),
        ((100, 100), False, ArrayColumns),
        ((3, 4), True, ValueColumns),
        ((100, 100), True, ValueColumns),
    ],
)
def test_however_they_are_read_the_columns_are_the_same(
    counts: tuple[int, ...], kind: type, *, only_values: bool
) -> None:
    """Few, many, and of which only the values are wanted."""
    columns = read_columns(batches(*counts), only_values=only_values)

    assert type(columns) is kind
    assert len(columns) == sum(counts)
    assert rows(columns) == numbered(0, sum(counts))
    assert rows(columns.only([1, 5])) == [numbered(0, 6)[1], numbered(0, 6)[5]]
    assert rows(columns.only([])) == []


@for_each("counts", [(2, 2), (100, 100)])
@for_each("only_values", [True, False])
def test_the_time_of_the_broker_counts_for_the_whole_batch(
    counts: tuple[int, ...], *, only_values: bool
) -> None:
    """Whatever the producer wrote."""
    columns = read_columns(batches(*counts, header=APPENDED), only_values=only_values)
    assert set(columns.timestamps()) == {77}


def test_columns_of_nothing_but_null_are_null() -> None:
    """There is no body to cut them from."""
    data = write_batch([Record(n) for n in range(200)])
    columns = read_columns(read_batches(data).batches, only_values=False)
    assert columns.keys() == columns.values() == [None] * 200


@pytest.mark.thorough
def test_few_records_and_values_load_no_numpy() -> None:
    """It takes longer to load than they take to read."""
    program = (
        "import sys\n"
        "from kdiag.probe.tail.record_columns import read_columns\n"
        "from kdiag.wire.records.record import Record\n"
        "from kdiag.wire.records.batches import read_batches, write_batch\n"
        "few = read_batches(write_batch([Record(0)])).batches\n"
        "read_columns(few, only_values=False).offsets()\n"
        "read_columns(few * 200, only_values=True).values()\n"
        "print('numpy' in sys.modules)\n"
    )
    command = [sys.executable, "-c", program]
    assert subprocess.run(command, capture_output=True, check=True).stdout == b"False\n"
