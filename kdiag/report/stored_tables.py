"""A folder of tables, here or in an object store: which files of it count.

DIR/exchanges.parquet                   as `kdiag decode --output parquet` writes it
DIR/exchanges/date=2026-11-01/...       as the pipeline writes it; its log says which files count
DIR/exchanges/...                       as others write it: all of them
"""

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Final

import pyarrow as pa
from pyarrow import dataset, fs

from kdiag.clock import TimeRange
from kdiag.errors import ReportError
from kdiag.report.layout import by_keys, files_during
from kdiag.report.run_log import LoggedRun, RunLog, files_of
from kdiag.report.uri import resolve

_KEY_TYPES: Final = {"date": pa.date32(), "hour": pa.int64()}
_BY_SPARK: Final = (
    "holds its tables as {format}, which Spark reads: kdiag pipeline query or report, with "
    "the jars of {format} by --packages"
)
_ENDING: Final = ".parquet"
_MISSING: Final = (
    "is missing, and a run in the log (_runs) has written it: repeat that run, or remove its entry"
)


class StoredTables:
    """The files of tables in a folder.

    Attributes:
        root: its path in its file system.
    """

    def __init__(self, folder: str) -> None:
        """Read nothing yet.

        Args:
            folder: a path or a URI.

        Raises:
            CaptureError: if no file system has the URI's scheme.
        """
        self._folder = folder
        self._system, self.root = resolve(folder.rstrip("/") or "/")

    @property
    def is_local(self) -> bool:
        """Return whether it is on this machine."""
        return isinstance(self._system, fs.LocalFileSystem)

    @property
    def has_log(self) -> bool:
        """Return whether it has a log of runs."""
        return self._runs is not None

    @property
    def runs(self) -> list[LoggedRun]:
        """Return the complete runs; none without a log."""
        return self._runs or []

    def files(self, table: str) -> list[str]:
        """Return the files of a table that count, as paths in the folder.

        Raises:
            ReportError: if one in the log is missing.
        """
        whole = f"{table}{_ENDING}"
        if self._is_file(whole):
            return [whole]
        if self._runs is not None:
            return files_of(self._runs, table)
        selector = fs.FileSelector(f"{self.root}/{table}", allow_not_found=True, recursive=True)
        paths = (str(each.path) for each in self._system.get_file_info(selector) if each.is_file)
        start = len(self.root.rstrip("/")) + 1
        return sorted(path[start:] for path in paths if path.endswith(_ENDING))

    def datasets(self, table: str, files: Sequence[str], times: TimeRange) -> list[dataset.Dataset]:
        """Return the rows of files of a table, as one dataset for each way in which files lie.

        Args:
            table: its name.
            files: at least one.
            times: of the rows; files of other days are left out.

        Raises:
            ReportError: if a file cannot be read.
        """
        wanted = files_during(files, times) or [files[0]]
        try:
            return [self._dataset(table, *group) for group in by_keys(wanted).items()]
        except (pa.ArrowException, OSError) as error:
            raise ReportError(f"{self._folder}/{table}", f"cannot be read: {error}") from error

    def _dataset(self, table: str, keys: Sequence[str], files: Iterable[str]) -> dataset.Dataset:
        types = pa.schema([(key, _KEY_TYPES.get(key, pa.string())) for key in keys])
        options = dataset.FileSystemFactoryOptions(
            partition_base_dir=f"{self.root}/{table}",
            partitioning=dataset.HivePartitioning(types),
        )
        paths = [f"{self.root}/{file}" for file in files]
        found = dataset.FileSystemDatasetFactory(
            self._system, paths, dataset.ParquetFileFormat(), options
        )
        return found.finish(pa.unify_schemas(found.inspect_schemas()))

    @cached_property
    def _runs(self) -> list[LoggedRun] | None:
        """Return the complete runs, whose files are all there; None without a log.

        Raises:
            ReportError: if one is not, and that was not because its run was replaced meanwhile; or
                if the tables are not files.
        """
        log = RunLog(self._system, self.root)
        runs = log.runs() if log.exists else None
        for each in runs or ():
            if not each.store.is_files:
                raise ReportError(self._folder, _BY_SPARK.format(format=each.format))
        for missing in self._missing(runs):
            if (replaced := log.runs()) == runs:
                raise ReportError(f"{self._folder}/{missing}", _MISSING)
            return replaced
        return runs

    def _missing(self, runs: Iterable[LoggedRun] | None) -> Iterator[str]:
        files = [file for run in runs or () for file in run.files]
        infos = self._system.get_file_info([f"{self.root}/{file}" for file in files])
        return (file for file, info in zip(files, infos, strict=True) if not info.is_file)

    def _is_file(self, file: str) -> bool:
        return bool(self._system.get_file_info(f"{self.root}/{file}").is_file)
