"""The printer of `kdiag tail --output parquet --out FILE`."""

from pathlib import Path

from kdiag.exchange.documents.records import control_json
from kdiag.probe.tail.record_runs import MAX_RUN_BYTES, RecordRun
from kdiag.report.record_file import RecordFile, RecordRows
from kdiag_cli.commands.tail.json_columns import records_of


class ParquetPrinter:
    """Writes records to a file, which gets its name once it is complete.

    Attributes:
        run_bytes: about how large the runs shall be.
        only_values: whether it looks at nothing but values.
    """

    def __init__(self, file: Path) -> None:
        """Remember the name of the file, which is opened with the first records."""
        self.run_bytes = MAX_RUN_BYTES
        self.only_values = False
        self._path = file
        self._opened: RecordFile | None = None

    def write(self, run: RecordRun) -> None:
        """Write a row for each record.

        Raises:
            ReportError: if the file cannot be written, or there is no room for them.
        """
        origin, cells = run.origin, run.columns
        controls: list[str | None] = [None] * len(cells)
        if origin.is_control:
            controls = [control_json(each)["control"] for each in records_of(run)]
        self._file().write(
            RecordRows(
                origin.key.topic,
                origin.key.partition,
                origin.timestamp_type,
                origin.leader_epoch,
                origin.is_aborted,
                cells.offsets(),
                cells.timestamps(),
                cells.keys(),
                cells.values(),
                cells.headers(),
                controls,
            )
        )

    def finish(self) -> None:
        """Complete the file, with what was written before an interruption.

        Raises:
            ReportError: if that fails.
        """
        self._file().close()

    def _file(self) -> RecordFile:
        """Return the file, opened."""
        if self._opened is None:
            self._opened = RecordFile(self._path)
        return self._opened
