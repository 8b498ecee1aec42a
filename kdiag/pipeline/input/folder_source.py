"""A source for Spark streams: the captures that appear in a folder, in the order of their writing.

A log in the checkpoint lists each capture once; an offset is a number of its entries. The newest
capture waits until another follows it, or until it has been quiet for a while: its recorder may
still be writing it.
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
    """The captures in a folder, as rows of one column: `uri`.

    Options: `path`, the folder; `log`, the file with the list; `quiet_s`, how long the newest
    must have been quiet; `most`, how many captures a batch has at most.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Return the only column."""
        return "uri string"

    def streamReader(self, schema: StructType) -> "FolderReader":  # noqa: N802, ARG002 - PySpark's
        """Return the reader of the folder."""
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
        """Return the end of the next batch."""
        known = self._update()
        return {"files": min(len(known), start["files"] + self._most)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return the captures of a batch."""
        return [InputPartition(_read_log(self._log)[start["files"] : end["files"]])]

    def read(self, partition: InputPartition) -> Iterator[tuple[str]]:
        """Yield the captures of a batch."""
        for uri in partition.value:
            yield (uri,)

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
        uris = [f"{self._folder}/{each.base_name}" for each in files]
        new = [uri for uri in uris if uri not in set(known)]
        if new:
            known += new
            write_whole(self._log, msgspec.json.encode(known))
        return known


def _is_hidden(file: fs.FileInfo) -> bool:
    return bool(file.base_name.startswith((".", "_")))


def _read_log(uri: str) -> list[str]:
    data = read_whole(uri)
    return [] if data is None else msgspec.json.decode(data, type=list[str])
