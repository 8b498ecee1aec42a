"""Staging: Arrow files in a folder of the run, by which tasks hand rows on to later tasks.

Rows go from one Python process to the next without Spark's own row format, which would cost more
than all the work on them. A task that runs twice writes files of different names; only those in its
result count.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs, ipc

from kdiag.pipeline.rows.frames import span_bytes
from kdiag.pipeline.uri import create_parent, resolve


class Staged(NamedTuple):
    """A file that a task has written.

    Attributes:
        name: of its kind of rows.
        part: of the run that it comes from.
        uri: of the file.
        batches: how many record batches it has.
        rows: how many rows.
        bytes: their size in memory, with that of frames in spans.
    """

    name: str
    part: int
    uri: str
    batches: int
    rows: int
    bytes: int


class Staging:
    """Writes the batches of one task, a file for each name."""

    def __init__(self, folder: str, part: int) -> None:
        self._folder = folder
        self._part = part
        self._attempt = uuid4().hex[:12]
        self._files: dict[str, _StagedFile] = {}

    def write(self, name: str, batch: pa.RecordBatch) -> None:
        """Write a batch."""
        if name not in self._files:
            uri = f"{self._folder}/{name}-{self._part}-{self._attempt}.arrow"
            self._files[name] = _StagedFile(uri, batch.schema)
        self._files[name].write(batch)

    def close(self) -> Iterator[Staged]:
        """Complete the files, and yield them."""
        for name, file in self._files.items():
            yield Staged(name, self._part, *file.close())


class _StagedFile:
    """A staged file under way."""

    def __init__(self, uri: str, schema: pa.Schema) -> None:
        self._uri = uri
        system, path = resolve(uri)
        create_parent(system, path)
        self._stream = system.open_output_stream(path)
        self._writer = ipc.new_file(self._stream, schema)
        self._batches = self._rows = self._bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)
        self._batches += 1
        self._rows += batch.num_rows
        self._bytes += batch.nbytes + span_bytes(batch)

    def close(self) -> tuple[str, int, int, int]:
        self._writer.close()
        self._stream.close()
        return self._uri, self._batches, self._rows, self._bytes


def read_staged(uri: str, first: int = 0, last: int | None = None) -> Iterator[pa.RecordBatch]:
    """Yield record batches of a file, by default all."""
    system, path = resolve(uri)
    is_local = isinstance(system, fs.LocalFileSystem)
    with pa.memory_map(path) if is_local else system.open_input_file(path) as file:
        reader = ipc.open_file(file)
        for index in range(first, reader.num_record_batches if last is None else last):
            yield reader.get_batch(index)


def read_all(files: Iterable[Staged]) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of some files."""
    for file in files:
        yield from read_staged(file.uri)
