"""How runs enter the log of a folder of tables, see `kdiag.report.run_log`.

Tasks write into the staging folder of their run. When all have finished, the driver moves their
files to their targets, where no file was before, and then writes the run's entry, which replaces
that of an earlier run of the same name. A driver that is killed before has changed nothing for
readers. What it leaves is swept by the next run.
"""

import re
from collections.abc import Iterable, Sequence
from pathlib import PurePosixPath
from typing import Final

import msgspec
from pyarrow import fs

from kdiag.clock import NS_PER_S
from kdiag.errors import ReportError
from kdiag.pipeline.output.partitions import Written
from kdiag.pipeline.output.read_captures import refuse_doubles
from kdiag.pipeline.output.whole_files import write_whole
from kdiag.report.run_log import RUNS, LoggedRun, RunLog, TableStore, entry_path
from kdiag.report.tables.catalog import TABLES
from kdiag.report.uri import create_parent, resolve

_STAGING: Final = ".staging"
_FORGOTTEN_NS: Final = 86_400 * NS_PER_S
"""How long nothing is written into the staging folder of a run that will not go on."""
_OWN_FILE: Final = re.compile(r"-[cet]\d+-[0-9a-f]{12}(-\d+)?\.parquet$")
"""How `write_file` names a file, and older releases did: nothing else is ever removed."""


def staging_folder(folder: str, run: str) -> str:
    """Return the folder of a run's files until its commit."""
    return f"{folder}/{RUNS}/{run}{_STAGING}"


def open_log(folder: str) -> RunLog:
    """Return the log of a folder of tables."""
    return RunLog(*resolve(folder))


def commit(  # noqa: PLR0913 - the last two are for runs that are replaced again and again
    folder: str,
    log: RunLog,
    run: LoggedRun,
    written: Sequence[Written],
    kept: Sequence[Written] = (),
    *,
    spares_readers: bool = False,
) -> LoggedRun:
    """Move the files of a run to their targets, enter it, and remove those that it replaces.

    Args:
        folder: of the tables.
        log: of the folder.
        run: its entry, but for files and rows.
        written: the files.
        kept: those of an earlier run of this name that stay, as they are.
        spares_readers: whether the files that it replaces stay until it is replaced itself, as it
            is again and again while others read.

    Returns:
        The entry as it is in the log.

    Raises:
        ReportError: if another run has read the same captures in the meantime, or the entry is of
            another stream.
    """
    system, root = resolve(folder)
    runs = log.runs()
    refuse_stores(log, run.store)
    refuse_others(runs, run)
    refuse_doubles(runs, run)
    earlier = [each for each in runs if each.run == run.run]
    for each in written:
        _, source = resolve(each.uri)
        target = f"{root}/{each.target}"
        create_parent(system, target)
        system.move(source, target)
    every = [*kept, *written]
    files = [each.target for each in every]
    rows = {
        name: sum(each.rows for each in every if each.table == name)
        for name in TABLES
        if any(each.table == name for each in every)
    }
    gone = [file for each in earlier for file in each.files if file not in {*files}]
    forgotten = [file for each in earlier for file in each.replaced]
    spared, removed = (gone, forgotten) if spares_readers else ([], [*gone, *forgotten])
    run = msgspec.structs.replace(run, rows=rows, files=files, replaced=spared)
    enter(folder, run)
    _remove(system, [f"{root}/{file}" for file in removed if _is_in_table(file)])
    return run


def _is_in_table(file: str) -> bool:
    """Return whether a path, as the log or a state has it, is one of a table's folder."""
    table, *folders = PurePosixPath(file).parts or ("",)
    return table in TABLES and ".." not in folders


def enter(folder: str, run: LoggedRun) -> None:
    """Write the entry of a run, in place of an earlier one of its name."""
    write_whole(entry_path(folder, run.run), msgspec.json.encode(run))


def refuse_stores(log: RunLog, store: TableStore) -> None:
    """Refuse to put tables elsewhere than the runs of a folder have.

    Raises:
        ReportError: with what to do.
    """
    for each in log.all_runs():
        if each.store != store:
            place = f" in {each.catalog}" if each.catalog else ""
            why = f"has written its tables as {each.format}{place}: one folder is of one kind"
            raise ReportError(f"run {each.run}", f"{why}, so give another --out")


def refuse_others(runs: Iterable[LoggedRun], run: LoggedRun) -> None:
    """Refuse to replace a batch of a stream by anything but the same stream.

    Raises:
        ReportError: with what to do.
    """
    for each in runs:
        if each.run == run.run and each.stream != run.stream:
            owner = f"the stream with checkpoint {each.checkpoint}" if each.stream else "another"
            todo = "go on with that one, or give --name another name"
            raise ReportError(f"run {run.run}", f"is of {owner}, and would be replaced: {todo}")


def sweep(folder: str, now_ns: int) -> None:
    """Remove what runs have left that were killed: files that no entry names.

    Other runs may write into the folder at the same time: their files stay, as long as they write.
    So files are listed first, then what is under way, then the log: a run enters the log before it
    removes its staging folder.

    Args:
        folder: of the tables.
        now_ns: the time since 1970.
    """
    system, root = resolve(folder)
    selectors = [
        fs.FileSelector(f"{root}/{table}", allow_not_found=True, recursive=True) for table in TABLES
    ]
    found = [each for selector in selectors for each in system.get_file_info(selector)]
    under_way = _under_way(system, root, now_ns)
    runs = open_log(folder).runs()
    named = {f"{root}/{file}" for run in runs for file in (*run.files, *run.replaced)}
    orphans = [
        str(each.path)
        for each in found
        if _OWN_FILE.search(each.base_name)
        and each.path not in named
        and not each.base_name.startswith(under_way)
    ]
    _remove(system, orphans)


def _under_way(system: fs.FileSystem, root: str, now_ns: int) -> tuple[str, ...]:
    """Return how files of runs under way begin; remove what those have staged that are not."""
    beginnings = []
    for each in system.get_file_info(fs.FileSelector(f"{root}/{RUNS}", allow_not_found=True)):
        if not each.base_name.endswith(_STAGING):
            continue
        staged = system.get_file_info(fs.FileSelector(each.path, allow_not_found=True))
        if max((file.mtime_ns or 0 for file in staged), default=0) < now_ns - _FORGOTTEN_NS:
            system.delete_dir(each.path)
        else:
            beginnings.append(f"{each.base_name.removesuffix(_STAGING)}-")
    return tuple(beginnings)


def _remove(system: fs.FileSystem, paths: Sequence[str]) -> None:
    for path in paths:
        if system.get_file_info(path).type == fs.FileType.File:
            system.delete_file(path)
