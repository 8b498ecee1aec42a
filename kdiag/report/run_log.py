"""The log of the runs that have written into a folder of tables: which of its files count.

    DIR/exchanges/date=2026-11-01/RUN-t0-ATTEMPT.parquet
    DIR/_runs/RUN.json                                        the run's entry: its files

An entry is one small file that takes its place by one rename, after the files that it names. So
readers see all files of a run or none, and a run that is repeated replaces all its files at once.
Files that no entry names are those of a run under way, or of one that was killed: nobody reads
them. In a folder without a log, as others write them, all files count.
"""

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from kdiag.errors import ReportError
from kdiag.report.sql_report import Query

if TYPE_CHECKING:
    from pyarrow import fs

RUNS: Final = "_runs"
PARQUET: Final = "parquet"
SCHEMA: Final = 3
_TELLS_WITHOUT: Final = 3
_YOUNGER: Final = ("latency_minutes", "rebalances", "members", "captures", "not_understood")
"""The tables that not all releases have made which wrote entries of earlier shapes."""
_AS_ASKED: Final = {
    "tcp": "it is made only when asked for, by --tcp of decode or pipeline",
    "records": "it is made only when asked for, by --values",
}
_BESIDE: Final = {"tcp": "connections", "records": "batches"}
"""The tables that have rows wherever these would have some."""
_BY_OTHERS: Final = (
    "older releases made fewer tables, and their streams none of groups; "
    "kdiag pipeline run over their captures makes them"
)
_NAMED: Final = 3
_ENTRY: Final = ".json"


class TableStore(NamedTuple):
    """Where a run puts its tables.

    Attributes:
        format: `parquet` for files that this log names, or `delta` or `iceberg`, which keep a log
            of their own in each table.
        catalog: the name in a catalog of Spark that all tables lie in, such as `lake.kafka`; empty
            where they lie in the folder.
    """

    format: str = PARQUET
    catalog: str = ""

    @property
    def is_files(self) -> bool:
        """Return whether the log of runs names the files of the tables."""
        return self.format == PARQUET


PARQUET_FILES: Final = TableStore()


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
        format, catalog: where its tables are, as in `TableStore`.
        is_complete: false while a run replaces rows of Delta or Iceberg, and where it broke off; in
            entries of older releases, where it broke off while files were moved.
        without: tables that it has not made, though its captures may give rows for them.
        replaced: files of the entry before this one, whose readers may not have finished.
        parts: what its rows in Delta or Iceberg have in the column `run`, if not its name alone.
        schema: number of this document's shape; before 3, `without` was not told.
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
    format: str = PARQUET
    catalog: str = ""
    is_complete: bool = True
    without: list[str] = []
    replaced: list[str] = []
    parts: list[str] = []
    schema: int = 2

    @property
    def store(self) -> TableStore:
        """Return where its tables are."""
        return TableStore(self.format, self.catalog)

    @property
    def names(self) -> list[str]:
        """Return what its rows have in the column `run`."""
        return self.parts or [self.run]

    def may_lack(self, table: str) -> bool:
        """Return whether a table may be without rows that its captures would give."""
        if table in _BESIDE:
            return bool(self.rows.get(_BESIDE[table])) and table not in self.rows
        if self.schema >= _TELLS_WITHOUT:
            return table in self.without
        return table in _YOUNGER and table not in self.rows


class RunLog:
    """The log of a folder of tables. An entry is read once, and again if it was replaced."""

    def __init__(self, system: "fs.FileSystem", root: str) -> None:
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
        from pyarrow import fs  # noqa: PLC0415 - an extra, which help does without

        return bool(self._system.get_file_info(self._folder).type == fs.FileType.Directory)

    def runs(self) -> list[LoggedRun]:
        """Return the complete runs by name.

        Raises:
            ReportError: if an entry cannot be read.
        """
        return [each for each in self.all_runs() if each.is_complete]

    def all_runs(self) -> list[LoggedRun]:
        """Return all runs by name, also those that are not complete.

        Raises:
            ReportError: if an entry cannot be read.
        """
        from pyarrow import fs  # noqa: PLC0415 - as above

        found = self._system.get_file_info(fs.FileSelector(self._folder, allow_not_found=True))
        entries = {}
        for each in found:
            if each.base_name.endswith(_ENTRY):
                key = str(each.path), int(each.size or 0), int(each.mtime_ns or 0)
                entries[key] = self._entries.get(key) or self._read(key[0])
        self._entries = entries
        return [entries[key] for key in sorted(entries)]

    def _read(self, path: str) -> LoggedRun:
        with self._system.open_input_stream(path) as stream:
            data = stream.read()
        try:
            return msgspec.json.decode(data, type=LoggedRun)
        except msgspec.DecodeError as error:
            raise ReportError(path, f"not a run log of this kdiag release: {error}") from error


def entry_path(root: str, run: str) -> str:
    """Return the path of a run's entry, which may not exist yet."""
    return f"{root}/{RUNS}/{run}{_ENTRY}"


def files_of(runs: Sequence[LoggedRun], table: str) -> list[str]:
    """Return the files of a table that runs have written, as paths in the folder of tables."""
    return [file for each in runs for file in each.files if file.startswith(f"{table}/")]


def notes_on(runs: Sequence[LoggedRun], query: Query, unmade: Sequence[str] = ()) -> list[str]:
    """Return a note for each table of a query that is not made of all captures.

    Args:
        runs: those that have written the tables.
        query: what was asked.
        unmade: tables that nobody has made.
    """
    notes = []
    if not runs:
        notes = [f"{each}: is empty: {_AS_ASKED[each]}" for each in unmade if query.may_name(each)]
    for table in (*_YOUNGER, *_AS_ASKED):
        lacking = [each.run for each in runs if query.may_name(table) and each.may_lack(table)]
        if lacking and table in query.tables():  # records, too, is the name of a column
            names = ", ".join(lacking[:_NAMED]) + (", ..." if len(lacking) > _NAMED else "")
            why = f"{len(lacking)} of {len(runs)} runs are without it ({names})"
            notes.append(f"{table}: {why}: {_AS_ASKED.get(table, _BY_OTHERS)}")
    return notes


def is_unmade(runs: Sequence[LoggedRun], table: str) -> bool:
    """Return whether no run has made a table though the captures of some may give rows for it."""
    is_made = any(table in each.rows for each in runs)
    return not is_made and any(each.may_lack(table) for each in runs)
