"""The log of the runs that have written into a folder of tables: which of its files count.

    DIR/exchanges/date=2026-11-01/broker=10.0.0.1%3A9092/RUN-PART-ATTEMPT-N.parquet
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


class LoggedRun(msgspec.Struct, frozen=True):
    """An entry of the log: a run that is complete.

    Attributes:
        run: its name.
        rows: how many of each table.
        files: their paths in the folder of tables.
        warnings: about captures that could not be read completely.
        kdiag: the version that has written it.
        is_complete: false in entries of older releases whose run broke off while they moved files.
        schema: number of this document's shape.
    """

    run: str
    rows: dict[str, int] = {}
    files: list[str] = []
    warnings: list[str] = []
    kdiag: str = ""
    is_complete: bool = True
    schema: int = 2


def read_log(system: fs.FileSystem, root: str) -> list[LoggedRun] | None:
    """Return the complete runs of a folder of tables by name; None if it has no log.

    Raises:
        ReportError: if an entry cannot be read.
    """
    folder = f"{root}/{RUNS}"
    if system.get_file_info(folder).type != fs.FileType.Directory:
        return None
    found = system.get_file_info(fs.FileSelector(folder))
    paths = sorted(str(each.path) for each in found if each.base_name.endswith(_ENTRY))
    runs = [_read_entry(system, path) for path in paths]
    return [each for each in runs if each.is_complete]


def read_run(system: fs.FileSystem, root: str, run: str) -> LoggedRun | None:
    """Return the entry of a run; None if it has none.

    Raises:
        ReportError: if it cannot be read.
    """
    path = entry_path(root, run)
    if system.get_file_info(path).type != fs.FileType.File:
        return None
    return _read_entry(system, path)


def entry_path(root: str, run: str) -> str:
    """Return the path of a run's entry, which may not exist yet."""
    return f"{root}/{RUNS}/{run}{_ENTRY}"


def files_of(runs: Sequence[LoggedRun], table: str) -> list[str]:
    """Return the files of a table that runs have written, as paths in the folder of tables."""
    return [file for each in runs for file in each.files if file.startswith(f"{table}/")]


def _read_entry(system: fs.FileSystem, path: str) -> LoggedRun:
    with system.open_input_stream(path) as stream:
        data = stream.read()
    try:
        return msgspec.json.decode(data, type=LoggedRun)
    except msgspec.DecodeError as error:
        raise ReportError(path, f"is no entry of a run of this release: {error}") from error
