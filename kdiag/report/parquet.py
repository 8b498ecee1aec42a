"""Tables as Parquet files: one for each table, complete or absent."""

from collections.abc import Callable, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import pyarrow as pa
from pyarrow import parquet

from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.errors import ReportError
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Gap
from kdiag.exchange.secrets.new_file import open_new
from kdiag.pcap.files.capture_facts import CaptureFacts
from kdiag.report.arrow import TableBatches, arrow_schema
from kdiag.report.tables.catalog import DEFAULT_CHOICE, TABLES, TableChoice

_COMPRESSION: Final = "zstd"


class ParquetTables:
    """Writes exchanges, gaps and connections into a folder.

    A batch of rows becomes a row group, so memory does not grow with the capture. Rows go to
    hidden files. `finish` gives these the names of the tables, `exchanges.parquet` and so on; until
    then the tables of an earlier run stay.
    """

    def __init__(
        self,
        folder: Path,
        names: TopicNames,
        choice: TableChoice = DEFAULT_CHOICE,
        captures: Callable[[], Iterable[CaptureFacts]] = tuple,
    ) -> None:
        """Open the files.

        Args:
            folder: made if it does not exist.
            names: the names of topic ids; whoever adds exchanges adds to them.
            choice: of tables.
            captures: returns, at the end, the captures that were read.

        Raises:
            ReportError: if the folder cannot be written to.
        """
        self._folder = folder
        self._captures = captures
        self._writers: dict[str, parquet.ParquetWriter] = {}
        groups = CaptureEvents(names.name)
        self._batches = TableBatches(self._write, names, choice, groups=groups)
        try:
            folder.mkdir(parents=True, exist_ok=True)
            for table in choice.tables:
                open_new(self._hidden(table.name), is_private=choice.show_secrets).close()
                self._writers[table.name] = parquet.ParquetWriter(
                    self._hidden(table.name), arrow_schema(table), compression=_COMPRESSION
                )
        except OSError as error:
            self.discard()
            raise self._failure(error) from error

    def exchange(self, dissection: Dissection) -> None:
        """Write an exchange.

        Raises:
            ReportError: if the disk is full.
        """
        self._batches.exchange(dissection)

    def gap(self, gap: Gap) -> None:
        """Write a gap."""
        self._batches.gap(gap)

    def connection(self, connection: Connection) -> None:
        """Write a connection that has ended."""
        self._batches.connection(connection)

    def finish(self) -> None:
        """Complete the files and give them their names.

        Raises:
            ReportError: if that fails.
        """
        for each in self._captures():
            self._batches.capture(each)
        self._batches.flush()
        try:
            for writer in self._writers.values():
                writer.close()
            for name in TABLES:
                if name in self._writers:
                    self._hidden(name).replace(table_file(self._folder, name))
                else:
                    table_file(self._folder, name).unlink(missing_ok=True)
        except OSError as error:
            raise self._failure(error) from error
        self._writers.clear()

    def discard(self) -> None:
        """Remove the unfinished files; do nothing after `finish`."""
        for name, writer in self._writers.items():
            with suppress(OSError):  # the disk may be full, which was reported
                writer.close()
            self._hidden(name).unlink(missing_ok=True)
        self._writers.clear()

    def _write(self, name: str, batch: pa.RecordBatch) -> None:
        try:
            self._writers[name].write_batch(batch)
        except OSError as error:
            raise self._failure(error) from error

    def _hidden(self, name: str) -> Path:
        return self._folder / f".{name}.parquet.partial"

    def _failure(self, error: OSError) -> ReportError:
        return ReportError(str(self._folder), f"cannot be written: {error.strerror or error}")


def table_file(folder: Path, name: str) -> Path:
    """Return the file of a table."""
    return folder / f"{name}.parquet"


def row_counts(folder: Path) -> dict[str, int]:
    """Return how many rows each table in a folder has, by its name."""
    files = sorted(folder.glob("*.parquet"))
    return {each.stem: parquet.read_metadata(each).num_rows for each in files}
