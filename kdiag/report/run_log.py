"""The log of the runs that have written into a folder of tables: which of its files count.

    DIR/exchanges/date=2026-11-01/RUN-t0-ATTEMPT.parquet
    DIR/_runs/RUN.json                                        the run's entry: its files

An entry is one small file that takes its place by one rename, after the files that it names. So
readers see all files of a run or none, and a run that is repeated replaces all its files at once.
Files that no entry names are those of a run under way, or of one that was killed: nobody reads
them. In a folder without a log, as others write them, all files count.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
from pyarrow import fs

from kdiag.errors import ReportError

RUNS: Final = "_runs"
_ENTRY: Final = ".json"


class ReadCapture(msgspec.Struct, frozen=True):
    """A capture that a run has read.

    Attributes:
        uri: of the file, the same however it was spelled.
        size: in bytes, before it was read.
        mtime_ns: when it was written last, then.
        first_ns, last_ns: the earliest and the latest time of its packets; the former is the larger
            if it has none.
    """

    uri: str
    size: int
    mtime_ns: int
    first_ns: int
    last_ns: int


class LoggedRun(msgspec.Struct, frozen=True):
    """An entry of the log: a run that is complete.

    Attributes:
        run: its name.
        rows: how many of each table.
        files: their paths in the folder of tables.
        warnings: about captures that could not be read completely.
        captures: what it has read; none in entries of older releases.
        from_ns, to_ns: the times that packets were wanted from; None for no limit.
        stream: the id of the stream that it is a batch of; empty if it is none.
        checkpoint: the folder of that stream's state.
        kdiag: the version that has written it.
        is_complete: false in entries of older releases whose run broke off while they moved files.
        schema: number of this document's shape.
    """

    run: str
    rows: dict[str, int] = {}
    files: list[str] = []
    warnings: list[str] = []
    captures: list[ReadCapture] = []
    from_ns: int | None = None
    to_ns: int | None = None
    stream: str = ""
    checkpoint: str = ""
    kdiag: str = ""
    is_complete: bool = True
    schema: int = 2


class RunLog:
    """The log of a folder of tables. An entry is read once, and again if it was replaced."""

    def __init__(self, system: fs.FileSystem, root: str) -> None:
        """Read nothing yet.

        Args:
            system: where the folder is.
            root: its path there.
        """
        self._system = system
        self._folder = f"{root}/{RUNS}"
        self._entries: dict[tuple[str, int, int], LoggedRun] = {}

    @property
    def exists(self) -> bool:
        """Return whether the folder has a log, though it may be empty."""
        return bool(self._system.get_file_info(self._folder).type == fs.FileType.Directory)

    def runs(self) -> list[LoggedRun]:
        """Return the complete runs by name.

        Raises:
            ReportError: if an entry cannot be read.
        """
        found = self._system.get_file_info(fs.FileSelector(self._folder, allow_not_found=True))
        entries = {}
        for each in found:
            if each.base_name.endswith(_ENTRY):
                key = str(each.path), int(each.size or 0), int(each.mtime_ns or 0)
                entries[key] = self._entries.get(key) or self._read(key[0])
        self._entries = entries
        return [entries[key] for key in sorted(entries) if entries[key].is_complete]

    def _read(self, path: str) -> LoggedRun:
        with self._system.open_input_stream(path) as stream:
            data = stream.read()
        try:
            return msgspec.json.decode(data, type=LoggedRun)
        except msgspec.DecodeError as error:
            raise ReportError(path, f"is no entry of a run of this release: {error}") from error


def entry_path(root: str, run: str) -> str:
    """Return the path of a run's entry, which may not exist yet."""
    return f"{root}/{RUNS}/{run}{_ENTRY}"


def files_of(runs: Sequence[LoggedRun], table: str) -> list[str]:
    """Return the files of a table that runs have written, as paths in the folder of tables."""
    return [file for each in runs for file in each.files if file.startswith(f"{table}/")]
