"""Rows that become record batches."""

import pyarrow as pa

from kdiag.report.row_batches import RowBatches

SCHEMA = pa.schema([("text", pa.string()), ("texts", pa.list_(pa.string()))])


def test_a_batch_is_emitted_when_it_is_full_by_rows_or_by_bytes() -> None:
    """And what is left when that is asked for."""
    emitted: list[tuple[str, int]] = []
    rows = RowBatches(
        "t", SCHEMA, lambda name, batch: emitted.append((name, batch.num_rows)), 3, 100
    )
    for _ in range(4):
        rows.add(("a", []), 1)
    rows.add(("b", []), 99)
    rows.add(("c", []), 0)
    assert emitted == [("t", 3), ("t", 2)]
    rows.flush()
    rows.flush()
    assert emitted == [("t", 3), ("t", 2), ("t", 1)]


def test_text_that_is_not_unicode_has_replacement_characters() -> None:
    """Arrow holds UTF-8 alone; a client id may be anything."""
    batches: list[pa.RecordBatch] = []
    rows = RowBatches("t", SCHEMA, lambda _, batch: batches.append(batch), 1, 100)
    rows.add(("a\udcff", ["b\udcfe", "c"]), 0)
    assert batches[0].to_pylist() == [{"text": "a\ufffd", "texts": ["b\ufffd", "c"]}]
