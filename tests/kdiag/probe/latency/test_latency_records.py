from kdiag.probe.latency.latency_records import MarkedRecords, next_offset
from kdiag.probe.latency.plan import RecordShape
from kdiag.wire.records.batches import read_batches
from recordings.exchange_maker import make_batch

NOW_NS = 1_767_323_045_000_000_006


def test_a_batch_says_which_request_it_came_in() -> None:
    """Batches of others, markers and tombstones are passed over."""
    records = MarkedRecords(RecordShape())
    other = MarkedRecords(RecordShape())
    data = b"".join(
        [
            records.batch(7, NOW_NS),
            other.batch(8, NOW_NS),
            make_batch(b"short", b"x"),
            records.batch(9, NOW_NS),
        ]
    )
    batches = read_batches(data).batches
    assert list(records.numbers(batches)) == [7, 9]
    assert list(other.numbers(batches)) == [8]


def test_records_have_the_shape_that_was_asked_for() -> None:
    """Keys and headers too; a header may be null."""
    shape = RecordShape(40, 5, headers=2, header_key_bytes=3, header_value_bytes=-1)
    (batch,) = read_batches(MarkedRecords(shape).batch(1, NOW_NS)).batches
    (record,) = batch.records()
    assert (len(record.value or b""), len(record.key or b"")) == (40, 5)
    assert record.headers == ((b"kkk", None), (b"kkk", None))
    assert record.timestamp == NOW_NS // 1_000_000


def test_a_request_may_carry_many_records() -> None:
    """All of them in one batch, which counts once."""
    records = MarkedRecords(RecordShape(batch_records=5, headers=1, header_value_bytes=4))
    (batch,) = read_batches(records.batch(3, NOW_NS)).batches
    assert batch.record_count == 5
    assert list(records.numbers([batch])) == [3]


def test_the_next_offset_is_behind_the_last_batch() -> None:
    """Without any it stays."""
    batches = read_batches(make_batch(b"a", b"b", b"c")).batches
    assert next_offset(batches, 0) == 3
    assert next_offset(batches, 100) == 100
    assert next_offset([], 5) == 5
