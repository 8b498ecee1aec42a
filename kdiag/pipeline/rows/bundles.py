"""Bundles: packets on their way to a part, many in one row.

A row for each packet would cost Spark more than all the work on the packets. So the packets of a
block that go to one part travel as one row, whose content Spark does not read:

    part      its destination
    packet    the number of its first packet, by which bundles are sorted
    rows      the packets, as an Arrow record batch of a schema that both ends know

Bundles of one split do not overlap, with one exception: a datagram whose fragments lie in two
splits is bundled by the first split and numbered by the second. Overlapping bundles are sorted.
"""

from collections.abc import Iterable, Iterator
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import ipc

BUNDLES: Final = pa.schema([("part", pa.int32()), ("packet", pa.int64()), ("rows", pa.binary())])
BUNDLES_DDL: Final = "part int, packet bigint, rows binary"

_MOST_BYTES: Final = 8 << 20


def bundle(rows: pa.RecordBatch, parts: npt.NDArray[np.integer]) -> Iterator[pa.RecordBatch]:
    """Yield packets as rows of `BUNDLES`.

    Args:
        rows: packets, in their order, with a column `packet`.
        parts: the part of each.
    """
    numbers = np.unique(parts).tolist()
    for part in numbers:
        chosen = rows if len(numbers) == 1 else rows.filter(pa.array(parts == part))
        step = max(1, chosen.num_rows * _MOST_BYTES // max(_MOST_BYTES, chosen.nbytes))
        for first in range(0, chosen.num_rows, step):
            yield _bundle(part, chosen.slice(first, step))


def _bundle(part: int, rows: pa.RecordBatch) -> pa.RecordBatch:
    data = rows.serialize()
    edges = pa.py_buffer(np.array([0, len(data)], np.int32))
    columns = [
        pa.array([part], pa.int32()),
        rows.column("packet").slice(0, 1),
        pa.Array.from_buffers(pa.binary(), 1, [None, edges, data]),
    ]
    return pa.RecordBatch.from_arrays(columns, schema=BUNDLES)


def unbundle(bundles: Iterable[pa.RecordBatch], schema: pa.Schema) -> Iterator[pa.RecordBatch]:
    """Yield the packets of bundles, in their order.

    Args:
        bundles: rows of `BUNDLES`, sorted by their first packets.
        schema: of the packets.
    """
    waiting: list[pa.RecordBatch] = []
    last = -1
    for batch in bundles:
        for data in batch.column("rows"):
            rows = ipc.read_record_batch(data.as_buffer(), schema)
            packets = rows.column("packet")
            if waiting and packets[0].as_py() > last:
                yield _in_order(waiting)
                waiting = []
            waiting.append(rows)
            last = max(last, packets[-1].as_py())
    if waiting:
        yield _in_order(waiting)


def _in_order(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    """Return the rows of batches that overlap, sorted as one."""
    if len(batches) == 1:
        return batches[0]
    (batch,) = pa.Table.from_batches(batches).combine_chunks().sort_by("packet").to_batches()
    return batch
