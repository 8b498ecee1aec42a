from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.client.fetch.position import OPEN_END, FetchedBatch, PartitionKey
from kdiag.probe.tail.record_runs import MAX_RUN_BYTES, Origin, RecordRun, Unreadable, record_runs
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.compression import crc32c
from kdiag.wire.records.record import BatchHeader, Record, TimestampType
from kdiag.wire.records.writer import write_batch

KEY = PartitionKey("orders", 3)
OTHER = PartitionKey("orders", 4)


def fetched(
    data: bytes, start: int = 0, stop: int = OPEN_END, key: PartitionKey = KEY
) -> list[FetchedBatch]:
    """Return what a fetcher would hand out of the bytes of a log."""
    return [FetchedBatch(key, batch, start, stop) for batch in read_batches(data).batches]


def numbered(first: int, count: int) -> list[Record]:
    """Return small records, every seventh without a value, every fifth with headers."""
    return [
        Record(
            number,
            1_700_000_000_000 + number,
            b"k%d" % number if number % 2 else None,
            b"value %d" % number if number % 7 else None,
            ((b"trace", b"%d" % number), (b"none", None)) if number % 5 == 0 else (),
        )
        for number in range(first, first + count)
    ]


def rows(run: RecordRun | Unreadable) -> list[Record]:
    """Return the records of a run as objects."""
    assert isinstance(run, RecordRun)
    columns = run.columns
    cells = (
        columns.offsets(),
        columns.timestamps(),
        columns.keys(),
        columns.values(),
        columns.headers(),
    )
    records = [Record(*row) for row in zip(*cells, strict=True)]
    assert len(records) == len(columns)
    return records


def miscounted(records: Sequence[Record]) -> bytes:
    """Return a batch whose checksum is right, and whose header counts a record too many."""
    data = bytearray(write_batch(records))
    data[57:61] = (len(records) + 1).to_bytes(4, "big")
    data[17:21] = crc32c(bytes(data[21:])).to_bytes(4, "big")
    return bytes(data)


def all_rows(batches: Sequence[FetchedBatch], max_bytes: int = MAX_RUN_BYTES) -> list[Record]:
    """Return the records of all runs."""
    return [record for run in record_runs(batches, max_bytes) for record in rows(run)]


@given(
    st.lists(st.integers(1, 90), min_size=1, max_size=9),
    st.sampled_from(["none", "gzip", "snappy", "lz4", "zstd"]),
    st.sampled_from([1, 2_000, MAX_RUN_BYTES]),
)
def test_runs_hold_what_the_batches_hold(counts: list[int], codec: str, max_bytes: int) -> None:
    """However many records and batches there are, and however they are put together."""
    records: list[Record] = []
    data = b""
    for count in counts:
        batch = numbered(len(records), count)
        data += write_batch(batch, BatchHeader(compression=codec))
        records += batch

    assert all_rows(fetched(data), max_bytes) == records


def test_neighbours_become_one_run() -> None:
    """Forty batches of ten records are read at once."""
    data = b"".join(write_batch(numbered(first, 10)) for first in range(0, 400, 10))

    (run,) = record_runs(fetched(data))

    assert isinstance(run, RecordRun)
    assert run.origin == Origin(KEY, -1, "CreateTime", is_aborted=False, is_control=False)
    assert len(run.columns) == 400
    assert run.next_offset == 400


def test_a_run_is_about_as_large_as_it_may_be() -> None:
    """A batch that is larger than that makes a run of its own."""
    small = [write_batch(numbered(first, 10)) for first in range(0, 100, 10)]
    large = write_batch([Record(100, 0, None, b"x" * 5000)])
    batches = fetched(b"".join([*small, large, write_batch(numbered(101, 1))]))

    runs = list(record_runs(batches, len(small[0]) * 4))

    counts = [len(run.columns) for run in runs if isinstance(run, RecordRun)]
    assert counts[-2:] == [1, 1]
    assert max(counts) <= 50
    assert sum(counts) == 102


def test_what_differs_is_told_apart() -> None:
    """Partition, leader epoch, kind of timestamp, aborted and control make runs of their own."""
    plain = write_batch(numbered(0, 2))
    later = write_batch(numbered(2, 2), BatchHeader(partition_leader_epoch=4))
    appended = BatchHeader(timestamp_type=TimestampType.LOG_APPEND_TIME, max_timestamp=77)
    control = BatchHeader(is_control=True, is_transactional=True)
    batches = [
        *fetched(plain),
        *fetched(plain, key=OTHER),
        *fetched(later),
        *fetched(write_batch(numbered(4, 200), appended)),
        *fetched(write_batch(numbered(204, 1), control)),
        FetchedBatch(KEY, read_batches(plain).batches[0], 0, OPEN_END, is_aborted=True),
    ]

    origins = [run.origin for run in record_runs(batches)]

    assert [each.key for each in origins] == [KEY, OTHER, KEY, KEY, KEY, KEY]
    assert [each.leader_epoch for each in origins] == [-1, -1, 4, -1, -1, -1]
    assert [each.timestamp_type for each in origins][3] == "LogAppendTime"
    assert [each.is_control for each in origins] == [False] * 4 + [True, False]
    assert [each.is_aborted for each in origins] == [False] * 5 + [True]
    assert {each.timestamp for each in all_rows(batches[3:4])} == {77}


@pytest.mark.parametrize("count", [20, 300])
def test_only_what_is_wanted_is_there(count: int) -> None:
    """The batch at the start is cut at the start, the one at the stop at the stop."""
    data = b"".join(write_batch(numbered(first, count)) for first in (0, count, 2 * count))
    batches = fetched(data, start=5, stop=2 * count + 3)

    records = all_rows(batches)

    assert [each.offset for each in records] == list(range(5, 2 * count + 3))
    assert [run.next_offset for run in record_runs(batches)] == [count, 2 * count, 2 * count + 3]


def test_single_records_of_one_batch_can_be_wanted_in_any_order() -> None:
    """As the last records of a topic are, which are in the order of time."""
    (batch,) = read_batches(write_batch(numbered(0, 9), BatchHeader(compression="gzip"))).batches
    others = [read_batches(write_batch(numbered(n, 2))).batches[0] for n in range(20, 30, 2)]
    wanted = [FetchedBatch(KEY, batch, 7, 8)]
    wanted += [FetchedBatch(OTHER, each, each.base_offset, each.base_offset + 1) for each in others]
    wanted += [FetchedBatch(KEY, batch, 2, 4)]

    assert [each.offset for each in all_rows(wanted)] == [7, 20, 22, 24, 26, 28, 2, 3]


@pytest.mark.parametrize("magic", [0, 1])
def test_old_messages_are_runs_as_well(magic: int) -> None:
    """A message of magic 0 or 1, or a wrapper of several, is a batch."""
    records = [Record(number, -1, None, b"v%d" % number) for number in range(4)]
    plain = write_batch(records[:2], BatchHeader(magic=magic))
    packed = write_batch(records[2:], BatchHeader(magic=magic, compression="gzip"))

    assert all_rows(fetched(plain + packed, start=1)) == records[1:]


def test_rows_can_be_chosen() -> None:
    """Of few records and of many."""
    for count in (5, 500):
        (run,) = record_runs(fetched(write_batch(numbered(0, count))))
        assert isinstance(run, RecordRun)
        chosen = run._replace(columns=run.columns.only([0, 3, 4]))
        every = numbered(0, count)
        assert rows(chosen) == [every[0], every[3], every[4]]


@pytest.mark.parametrize("count", [4, 200])
def test_a_wrong_batch_stands_between_good_ones(count: int) -> None:
    """It is told with its last offset, and what stands around it is read."""
    good = [write_batch(numbered(first, count)) for first in (0, 2 * count)]
    wrong = miscounted(numbered(count, count))
    runs = list(record_runs(fetched(good[0] + wrong + good[1])))

    assert [type(run) for run in runs] == [RecordRun, Unreadable, RecordRun]
    assert isinstance(runs[1], Unreadable)
    assert (runs[1].offset, runs[1].next_offset) == (count, 2 * count)
    last = 2 * count - 1
    assert runs[1].why.startswith(f"the batch that ends with offset {last} cannot be read: ")


def test_a_wrong_batch_of_which_a_part_is_wanted_is_told() -> None:
    """It cannot be cut, so none of it can be had."""
    (run,) = record_runs(fetched(miscounted(numbered(0, 4)), start=2))

    assert isinstance(run, Unreadable)
    assert run.offset == 2


def test_records_that_contradict_their_batch_are_named() -> None:
    """The checksum is right, and the count is not."""
    (batch,) = read_batches(miscounted(numbered(0, 3))).batches
    (run,) = record_runs([FetchedBatch(KEY, batch, 0, OPEN_END)])

    assert isinstance(run, Unreadable)
    assert "records[3]" in run.why


@given(st.lists(st.integers(1, 90), min_size=1, max_size=9))
def test_values_alone_can_be_had_faster_and_the_rest_is_still_there(counts: list[int]) -> None:
    """Whoever asks for values only may look at the other columns after all."""
    records: list[Record] = []
    data = b""
    for count in counts:
        batch = numbered(len(records), count)
        data += write_batch(batch, BatchHeader(compression="gzip"))
        records += batch
    runs = list(record_runs(fetched(data), only_values=True))

    assert all(isinstance(run, RecordRun) for run in runs)
    values = [value for run in runs if isinstance(run, RecordRun) for value in run.columns.values()]
    assert values == [each.value for each in records]
    assert [record for run in runs for record in rows(run)] == records
    first = runs[0]
    assert isinstance(first, RecordRun)
    assert first.columns.only([0]).values() == values[:1]


def test_a_wrong_batch_is_told_where_values_are_asked_for() -> None:
    """What stands before it is read."""
    batches = fetched(write_batch(numbered(0, 3)) + miscounted(numbered(3, 3)))

    runs = list(record_runs(batches, only_values=True))

    assert [type(run) for run in runs] == [RecordRun, Unreadable]
