"""Rows that become Arrow record batches of bounded size, one schema each."""

from collections.abc import Callable, Sequence
from typing import Any, TypeAlias

import pyarrow as pa

from kdiag.exchange.documents.document import without_surrogates

Emit: TypeAlias = Callable[[str, pa.RecordBatch], object]
"""Takes a name and a batch."""


class RowBatches:
    """The rows of one kind that are not emitted yet."""

    def __init__(
        self, name: str, schema: pa.Schema, emit: Emit, max_rows: int, max_bytes: int
    ) -> None:
        """Have `emit` called with the name whenever so many rows, or bytes, have come together."""
        self._name = name
        self._schema = schema
        self._emit = emit
        self._max_rows = max_rows
        self._max_bytes = max_bytes
        self._rows: list[tuple[Any, ...]] = []
        self._bytes = 0

    def add(self, row: tuple[Any, ...], size: int) -> None:
        """Add a row that counts for so many bytes; emit a batch if it is full."""
        self._rows.append(row)
        self._bytes += size
        if len(self._rows) >= self._max_rows or self._bytes >= self._max_bytes:
            self.flush()

    def flush(self) -> None:
        """Emit the rows, if there are any."""
        if not self._rows:
            return
        columns = zip(*self._rows, strict=True)
        arrays = [
            _array(column, field.type) for column, field in zip(columns, self._schema, strict=True)
        ]
        self._rows.clear()
        self._bytes = 0
        self._emit(self._name, pa.RecordBatch.from_arrays(arrays, schema=self._schema))


def _array(values: Sequence[Any], type_: pa.DataType) -> pa.Array:
    """Return values as a column; text that is not Unicode gets replacement characters."""
    try:
        return pa.array(values, type_)
    except UnicodeEncodeError:
        return pa.array([without_surrogates(value) for value in values], type_)
