"""A source for Spark streams: the captures that appear in a folder, in the order of their writing.

An offset is a number of entries in the log of captures, which lies in the checkpoint.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final

from pyspark.sql.datasource import DataSource, DataSourceStreamReader, InputPartition
from pyspark.sql.streaming.datasource import SupportsTriggerAvailableNow
from pyspark.sql.types import StructType

from kdiag.clock import SystemClock
from kdiag.pipeline.streams.capture_log import (
    DEFAULT_QUIET_NS,
    DEFAULT_WAIT_NS,
    CaptureLog,
    FolderRules,
)

FORMAT: Final = "kdiag_folder"


class FolderSource(DataSource):
    """The captures in a folder, as rows of three columns: `uri`, `content` and `host`.

    Options: `path`, the folder; `log`, the file of the log; `most`, how many captures a batch has
    at most; and those of `FolderRules`.
    """

    @classmethod
    def name(cls) -> str:
        """Return the name of the format."""
        return FORMAT

    def schema(self) -> str:
        """Return the columns."""
        return "uri string, content string, host string"

    def streamReader(self, schema: StructType) -> "FolderReader":  # noqa: N802, ARG002 - PySpark's
        """Return the reader of the folder."""
        return FolderReader(self.options)


class FolderReader(DataSourceStreamReader, SupportsTriggerAvailableNow):
    """Follows a folder, or with `Trigger.AvailableNow` reads what is there when it begins."""

    def __init__(self, options: Mapping[str, str]) -> None:
        rules = FolderRules(
            int(options.get("quiet_ns", DEFAULT_QUIET_NS)),
            int(options.get("wait_ns", DEFAULT_WAIT_NS)),
            options.get("host_of", ""),
        )
        self._log = CaptureLog(options["path"], options["log"], rules)
        self._most = int(options.get("most", "16"))
        self._there: int | None = None

    def initialOffset(self) -> dict[str, int]:  # noqa: N802 - PySpark's
        """Begin with the first capture."""
        return {"files": 0}

    def prepareForTriggerAvailableNow(self) -> None:  # noqa: N802 - PySpark's
        """Look into the folder once: what comes later is left to the next time."""
        self._there = len(self._log.poll(SystemClock().epoch_ns()))

    def latestOffset(self, start: dict[str, int], limit: Any) -> dict[str, int]:  # noqa: N802, ARG002
        """Return the end of the next batch."""
        there = self._there
        if there is None:
            there = len(self._log.poll(SystemClock().epoch_ns()))
        return {"files": min(there, start["files"] + self._most)}

    def partitions(self, start: dict[str, int], end: dict[str, int]) -> Sequence[InputPartition]:
        """Return the captures of a batch."""
        entries = self._log.entries()[start["files"] : end["files"]]
        return [InputPartition([(each.uri, each.content.value, each.host) for each in entries])]

    def read(self, partition: InputPartition) -> Iterator[tuple[str, str, str]]:
        """Yield the captures of a batch, each with how its content relates to earlier ones."""
        yield from partition.value
