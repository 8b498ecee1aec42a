"""Rows of `exchanges` -> rows of `latency_minutes`, many at once.

    counts = LatencyCounts(schema, emit)
    counts.add(exchanges)                    # a batch of the table
    counts.flush()                           # emit("latency_minutes", rows)

Those rows have all that is counted, and Arrow groups a whole batch of them at once.
"""

from collections.abc import Callable
from typing import Final

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from pyarrow import compute

from kdiag.clock import NS_PER_S
from kdiag.report.tables.latency_minutes import LATENCY_MINUTES, LatencyColumns, latency_cells

MINUTE_NS: Final = 60 * NS_PER_S
_EXACT_BITS: Final = 7
"""Latencies of so many bits have a bucket of their own: 64 of them begin with a one."""

_POWERS: Final = 1 << np.arange(63, dtype=np.int64)
_OF_EXCHANGES: Final = ("broker", "client_host", "client_id", "api_key", "api")
_LATENCY_BETWEEN: Final = ("response_first_byte_ns", "request_last_byte_ns")
_BATCHES_KEPT: Final = 4

Int64s = npt.NDArray[np.int64]


class LatencyCounts:
    """Counts the latencies in rows of exchanges."""

    def __init__(
        self,
        schema: pa.Schema,
        emit: Callable[[str, pa.RecordBatch], object],
        max_rows: int,
    ) -> None:
        """Begin with no counts.

        Args:
            schema: of the rows to emit; columns behind those of the table are taken from exchanges.
            emit: called with the table's name and a batch.
            max_rows: how many a batch has at most; four times as many counts are kept.
        """
        self._schema = schema
        self._emit = emit
        self._max_rows = max_rows
        self._more = schema.names[len(LATENCY_MINUTES.columns) :]
        self._keys = ["time_ns", *_OF_EXCHANGES, "from_ns", *self._more]
        self._counts: list[pa.Table] = []
        self._rows = 0

    def add(self, exchanges: pa.RecordBatch) -> None:
        """Count the latencies in rows of `exchanges`; those that are not known are not counted."""
        latencies = compute.subtract(*(exchanges.column(name) for name in _LATENCY_BETWEEN))
        is_known = compute.greater_equal(latencies, 0)  # null where one end was not seen
        latency_ns = latencies.filter(is_known).to_numpy()
        if not len(latency_ns):
            return
        shift = shift_of(latency_ns)
        known = exchanges.select(["time_ns", *_OF_EXCHANGES, *self._more]).filter(is_known)
        minutes = known.column("time_ns").to_numpy() // MINUTE_NS * MINUTE_NS
        keys = pa.Table.from_batches([known.drop_columns("time_ns")])
        keys = keys.append_column("time_ns", [minutes])
        keys = keys.append_column("from_ns", [latency_ns >> shift << shift])
        self._keep(keys.group_by(self._keys, use_threads=False).aggregate([([], "count_all")]))
        if self._rows >= self._max_rows * _BATCHES_KEPT:
            self._add_up()
            if self._rows * 2 >= self._max_rows * _BATCHES_KEPT:
                self.flush()

    def flush(self) -> None:
        """Emit the rows of what was counted."""
        if not self._counts:
            return
        self._add_up()
        (sums,) = self._counts
        self._counts, self._rows = [], 0
        rows = pa.table(self._columns(sums.combine_chunks()), schema=self._schema)
        for batch in rows.to_batches(self._max_rows):
            self._emit(LATENCY_MINUTES.name, batch)

    def _add_up(self) -> None:
        """Make one table of all that are kept."""
        groups = pa.concat_tables(self._counts).group_by(self._keys, use_threads=False)
        self._counts, self._rows = [], 0
        self._keep(groups.aggregate([("answers", "sum")]))

    def _keep(self, counts: pa.Table) -> None:
        self._counts.append(counts.rename_columns([*self._keys, "answers"]))
        self._rows += counts.num_rows

    def _columns(self, sums: pa.Table) -> list[pa.ChunkedArray]:
        time_ns, from_ns = (sums.column(name).to_numpy() for name in ("time_ns", "from_ns"))
        columns = LatencyColumns(
            time_ns=time_ns,
            **{name: sums.column(name) for name in _OF_EXCHANGES},
            from_ns=from_ns,
            below_ns=from_ns + (1 << shift_of(from_ns)),
            answers=sums.column("answers"),
        )
        return [*latency_cells(columns), *(sums.column(name) for name in self._more)]


def shift_of(latency_ns: Int64s) -> Int64s:
    """Return how many of the last bits the latencies of each bucket differ in."""
    bits = np.searchsorted(_POWERS, latency_ns, side="right")
    return np.maximum(bits - _EXACT_BITS, 0)
