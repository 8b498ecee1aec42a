"""A capture as programs use it: its exchanges one after the other, or its tables.

with_errors = [each for each in open_capture("traffic.pcap") if each.error]
tables = open_capture("traffic.pcap").tables()
"""

from collections.abc import Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.errors import CaptureError, ReportError, install_command
from kdiag.exchange.context.fetch_session import FetchSessions
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.pcap.decoder import Item, decode_reader
from kdiag.pcap.look_ahead import find_client_randoms
from kdiag.pcap.reader import CaptureReader, Source
from kdiag.pcap.tls.keylog import KeyLog
from kdiag.pcap.tls.keylog_file import SearchedKeyLog
from kdiag.report.tables.catalog import DEFAULT_CHOICE, TableChoice

if TYPE_CHECKING:
    import pyarrow as pa

    from kdiag.pcap.files.capture_facts import CaptureFacts


def open_capture(
    *sources: Source, keylog: Path | str | None = None, ports: Sequence[int] = ()
) -> "Capture":
    """Return captures as one recording; they are read when it is iterated.

    Args:
        sources: files, folders of files, or open binary files.
        keylog: a file with the secrets of TLS connections.
        ports: those that carry Kafka whatever the bytes look like.

    Raises:
        CaptureError: if the key log cannot be read.
    """
    return Capture(sources, _read_keylog(keylog, sources), ports)


class Capture:
    """One recording; each iteration reads it again.

    Attributes:
        names: the names of topic ids that the exchanges so far have told.
        warnings: what could not be read, such as a file that ends early; complete once the last
            exchange has been read.
        files: the captures, in the order in which they were opened; complete likewise.
    """

    def __init__(self, sources: Sequence[Source], keylog: KeyLog, ports: Sequence[int]) -> None:
        """Note what to read; `open_capture` has the meaning of the arguments."""
        self.names = TopicNames()
        self.warnings: list[CaptureError] = []
        self.files: list[CaptureFacts] = []
        self._sources = sources
        self._keylog = keylog
        self._ports = ports

    def __iter__(self) -> Iterator[Dissection]:
        """Yield each request with its response, when it is complete.

        Raises:
            CaptureError: if an input is not a capture or cannot be read.
        """
        sessions = FetchSessions()
        for item in self.items():
            if isinstance(item, Exchange):
                dissection = Dissection(item)
                self.names.learn(dissection)
                sessions.follow(dissection)
                yield dissection

    def items(self) -> Iterator[Item]:
        """Yield also gaps, and connections when they have ended.

        Raises:
            CaptureError: as above.
        """
        reader = CaptureReader(self._sources)
        self.warnings = reader.warnings
        self.files = reader.files
        return decode_reader(reader, ports=self._ports, keylog=self._keylog)

    def tables(self, choice: TableChoice = DEFAULT_CHOICE) -> "dict[str, pa.Table]":
        """Return the tables of the capture by their names, all in memory.

        `kdiag tables` explains their columns.

        Raises:
            CaptureError: as above.
            ReportError: if pyarrow is not installed.
        """
        try:
            import pyarrow as pa  # noqa: PLC0415 - pyarrow is an extra

            from kdiag.report.arrow import TableBatches, arrow_schema  # noqa: PLC0415 - as above
        except ImportError:
            raise ReportError("tables", f"need pyarrow: {install_command('report')}") from None
        batches: dict[str, list[Any]] = {table.name: [] for table in choice.tables}
        groups = CaptureEvents(self.names.name)
        rows = TableBatches(
            lambda name, batch: batches[name].append(batch), self.names, choice, groups=groups
        )
        for item in self.items():
            rows.add(item)
        for each in self.files:
            rows.capture(each)
        rows.flush()
        return {
            table.name: pa.Table.from_batches(batches[table.name], arrow_schema(table))
            for table in choice.tables
        }


def _read_keylog(file: Path | str | None, sources: Sequence[Source]) -> KeyLog:
    keylog = SearchedKeyLog()
    keylog.find_own_randoms = partial(find_client_randoms, sources)
    if file is not None:
        try:
            keylog.add_file(Path(file), partial(find_client_randoms, sources))
        except OSError as error:
            raise CaptureError(str(file), error.strerror or str(error)) from None
    return keylog
