"""Staging: Arrow files in a folder of the run, by which tasks hand rows on to later tasks.

Rows go from one Python process to the next without Spark's own row format, which would cost more
than all the work on them. A task that runs twice writes files of different names; only those in its
result count.
"""

from collections.abc import Callable, Iterable, Iterator
from itertools import pairwise
from typing import Final, NamedTuple
from uuid import uuid4

import pyarrow as pa
from pyarrow import fs, ipc

from kdiag.pipeline.rows.frames import span_bytes
from kdiag.report.uri import create_parent, resolve

_MOST_OPEN: Final = 64


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


class StagedPiece(NamedTuple):
    """Some batches of a staged file: from one on, to another that is not among them."""

    file: Staged
    first: int
    last: int

    @property
    def batches(self) -> tuple[int, int]:
        """Return which they are, for `read_staged`."""
        return self.first, self.last


class Staging:
    """Writes the batches of one task, a file for each name, or several where there are many."""

    def __init__(self, folder: str, part: int) -> None:
        self._folder = folder
        self._part = part
        self._attempt = uuid4().hex[:12]
        self._files: dict[str, _StagedFile] = {}
        self._done: list[Staged] = []
        self._count = 0

    def write(self, name: str, batch: pa.RecordBatch) -> None:
        """Write a batch."""
        if name not in self._files:
            if len(self._files) >= _MOST_OPEN:
                self._complete(next(iter(self._files)))
            uri = f"{self._folder}/{name}-{self._part}-{self._attempt}-{self._count}.arrow"
            self._count += 1
            self._files[name] = _StagedFile(uri, batch.schema)
        self._files[name].write(batch)

    def close(self) -> list[Staged]:
        """Complete the files, and return them."""
        for name in list(self._files):
            self._complete(name)
        return self._done

    def _complete(self, name: str) -> None:
        self._done.append(Staged(name, self._part, *self._files.pop(name).close()))


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


def cut(
    files: Iterable[Staged], piece_bytes: float, weight: Callable[[Staged], float]
) -> Iterator[StagedPiece]:
    """Yield all files in pieces of about the same size, between batches.

    Args:
        files: at least a batch in each.
        piece_bytes: how many bytes a piece is to have.
        weight: how many bytes a file counts for.
    """
    for file in files:
        count = max(1, min(file.batches, round(weight(file) / piece_bytes)))
        edges = [file.batches * index // count for index in range(count + 1)]
        for first, last in pairwise(edges):
            yield StagedPiece(file, first, last)


def read_all(files: Iterable[Staged]) -> Iterator[pa.RecordBatch]:
    """Yield the record batches of some files."""
    for file in files:
        yield from read_staged(file.uri)
