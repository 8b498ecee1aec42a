"""What the tasks of a run hand on: Arrow files in a folder of the run.

They go from one Python process to the next without Spark's own form of rows between, which would
cost more than all the work on them. A task that is run twice writes files of other names; those
count that it reports as its result.
"""

from collections.abc import Iterable, Iterator
from typing import NamedTuple
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs, ipc

from kdiag.pipeline.rows.frames import placed_bytes
from kdiag.pipeline.uri import create_parent, resolve


class Staged(NamedTuple):
    """A file that a task has written.

    Attributes:
        name: what is in it.
        part: which part of the run it comes from.
        place: where it lies.
        batches: how many record batches it has.
        rows: how many rows.
        bytes: their size in memory, and that of frames which they only tell the places of.
    """

    name: str
    part: int
    place: str
    batches: int
    rows: int
    bytes: int


STAGED_DDL = "name string, part int, place string, batches bigint, rows bigint, bytes bigint"


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
            place = f"{self._folder}/{name}-{self._part}-{self._attempt}.arrow"
            self._files[name] = _StagedFile(place, batch.schema)
        self._files[name].write(batch)

    def close(self) -> Iterator[Staged]:
        """Complete the files, and yield them."""
        for name, file in self._files.items():
            yield Staged(name, self._part, *file.close())


class _StagedFile:
    """A file that is written."""

    def __init__(self, place: str, schema: pa.Schema) -> None:
        self._place = place
        system, path = resolve(place)
        create_parent(system, path)
        self._stream = system.open_output_stream(path)
        self._writer = ipc.new_file(self._stream, schema)
        self._batches = self._rows = self._bytes = 0

    def write(self, batch: pa.RecordBatch) -> None:
        self._writer.write_batch(batch)
        self._batches += 1
        self._rows += batch.num_rows
        self._bytes += batch.nbytes + placed_bytes(batch)

    def close(self) -> tuple[str, int, int, int]:
        self._writer.close()
        self._stream.close()
        return self._place, self._batches, self._rows, self._bytes


def read_staged(place: str, first: int = 0, last: int | None = None) -> Iterator[pa.RecordBatch]:
    """Yield record batches of a file, by default all."""
    system, path = resolve(place)
    is_local = isinstance(system, fs.LocalFileSystem)
    with pa.memory_map(path) if is_local else system.open_input_file(path) as file:
        reader = ipc.open_file(file)
        for index in range(first, reader.num_record_batches if last is None else last):
            yield reader.get_batch(index)


def read_all(files: Iterable[Staged]) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of some files."""
    for file in files:
        yield from read_staged(file.place)
