"""Packets on their way to a part."""

from itertools import chain

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.pipeline.rows import bundles as module
from kdiag.pipeline.rows.bundles import BUNDLES, bundle, unbundle

SCHEMA = pa.schema([("packet", pa.int64()), ("payload", pa.binary())])


def rows_of(*packets: int, payload: bytes = b"x") -> pa.RecordBatch:
    """Return packets with these numbers."""
    return pa.RecordBatch.from_arrays(
        [pa.array(packets, pa.int64()), pa.array([payload] * len(packets))], schema=SCHEMA
    )


def packets_of(batches: list[pa.RecordBatch]) -> list[list[int]]:
    """Return the numbers of the packets of each batch."""
    return [batch["packet"].to_pylist() for batch in batches]


def sent(*batches: tuple[pa.RecordBatch, list[int]], part: int = 0) -> list[pa.RecordBatch]:
    """Return what comes to a part, in the order in which Spark brings it."""
    rows = [each for batch, parts in batches for each in bundle(batch, np.array(parts))]
    mine = [row for row in rows if row["part"][0].as_py() == part]
    return list(unbundle(sorted(mine, key=lambda row: row["packet"][0].as_py()), SCHEMA))


def test_a_bundle_is_one_row_for_each_part() -> None:
    """It is known by its first packet."""
    rows = list(bundle(rows_of(4, 5, 7, 9), np.array([1, 0, 1, 1])))

    assert all(row.schema == BUNDLES for row in rows)
    assert [(row["part"][0].as_py(), row["packet"][0].as_py()) for row in rows] == [(0, 5), (1, 4)]
    assert packets_of(list(unbundle(rows[1:], SCHEMA))) == [[4, 7, 9]]


def test_bundles_come_out_in_the_order_of_the_capture() -> None:
    """Whichever split was read first."""
    assert packets_of(sent((rows_of(5, 6), [0, 0]), (rows_of(1, 2), [0, 0]))) == [[1, 2], [5, 6]]


def test_bundles_that_overlap_are_put_in_order() -> None:
    """A datagram that begins in one split and ends in another is a bundle of its own."""
    found = sent((rows_of(1, 2), [0, 0]), (rows_of(5), [0]), (rows_of(3, 4, 6, 7), [0] * 4))

    assert packets_of(found) == [[1, 2], [3, 4, 5, 6, 7]]


def test_a_large_bundle_comes_in_several_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Spark holds a row in memory as a whole."""
    monkeypatch.setattr(module, "_MOST_BYTES", 1000)
    rows = list(bundle(rows_of(*range(10), payload=bytes(400)), np.zeros(10, np.int64)))

    assert len(rows) > 3
    assert [*chain(*packets_of(list(unbundle(rows, SCHEMA))))] == list(range(10))


@given(st.lists(st.lists(st.integers(0, 50), min_size=1, max_size=8), max_size=8))
def test_nothing_is_lost_and_all_is_sorted_whatever_the_bundles_hold(
    batches: list[list[int]],
) -> None:
    """For any bundles whose rows are in order."""
    given_rows = [(rows_of(*sorted(each)), [0] * len(each)) for each in batches]
    found = [*chain(*packets_of(sent(*given_rows)))]

    assert found == sorted(chain(*batches))
