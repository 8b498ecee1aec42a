"""A source of Spark's streams: the captures that appear in a folder, in the order of their writing.

A log in the checkpoint remembers them, each once and for all; an offset is a number of its entries.
The capture that is written last is left alone until another follows it, or until it has been quiet
for a while: its recorder may still be at it.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

import msgspec
from pyarrow import fs
from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.types import StructType

from kdiag.clock import NS_PER_S, SystemClock
from kdiag.pipeline.output.checkpoint import read_whole, write_whole
from kdiag.pipeline.uri import resolve

FORMAT: Final = "kdiag_folder"


class FolderSource(DataSource):
    """The captures in a folder, as rows of one column: `place`.

    Options: `path`, the folder; `log`, the file that remembers; `quiet_s`, how long the newest
    must have been quiet; `most`, how many captures a batch has at most.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Return the only column."""
        return "place string"

    def streamReader(self, schema: StructType) -> "FolderReader":  # noqa: N802, ARG002 - PySpark's
        """Return what follows the folder."""
        return FolderReader(self.options)


class FolderReader(DataSourceStreamReader):
    """Follows a folder."""

    def __init__(self, options: Mapping[str, str]) -> None:
        self._folder = options["path"].rstrip("/")
        self._log = options["log"]
        self._quiet_ns = round(float(options.get("quiet_s", "60")) * NS_PER_S)
        self._most = int(options.get("most", "16"))

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - PySpark's
        """Begin with the first capture."""
        return {"files": 0}

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802, ARG002
        """Return how far the next batch goes."""
        known = self._update()
        return {"files": min(len(known), start["files"] + self._most)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return the captures of a batch."""
        return [InputPartition(_read_log(self._log)[start["files"] : end["files"]])]

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        """Yield the captures of a batch."""
        for place in partition.value:
            yield (place,)

    def _update(self) -> list[str]:
        """Add the captures that are complete to the log, and return it."""
        known = _read_log(self._log)
        system, path = resolve(self._folder)
        found = system.get_file_info(fs.FileSelector(path))
        files = sorted(
            (each for each in found if each.type == fs.FileType.File and not _is_hidden(each)),
            key=lambda each: (each.mtime_ns, each.path),
        )
        if files and SystemClock().epoch_ns() - files[-1].mtime_ns < self._quiet_ns:
            files.pop()
        places = [f"{self._folder}/{each.base_name}" for each in files]
        new = [place for place in places if place not in set(known)]
        if new:
            known += new
            write_whole(self._log, msgspec.json.encode(known))
        return known


def _is_hidden(file: fs.FileInfo) -> bool:
    return bool(file.base_name.startswith((".", "_")))


def _read_log(place: str) -> list[str]:
    data = read_whole(place)
    return [] if data is None else msgspec.json.decode(data, type=list[str])
