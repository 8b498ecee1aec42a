"""The run of `kdiag decode`: captures in, lines or documents out, an exit code at the end."""

import stat
import sys
from collections.abc import Callable
from os import fstat
from typing import Final

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.document import DocumentEncoder, Documents
from kdiag.exchange.documents.tcp import tcp_document
from kdiag.exchange.line.phrase import count
from kdiag.exchange.model import Connection
from kdiag.exchange.selection import is_in_order
from kdiag.exchange.summary.counts import Totals
from kdiag.exchange.topic_names import TopicNames
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag.pcap.look_ahead import can_read_twice, learn_all_names
from kdiag.pcap.packets.index import SegmentBatch
from kdiag_cli.captures.run import run_on_captures
from kdiag_cli.captures.source import note_disorder, note_drops, open_traffic, read_keylogs
from kdiag_cli.captures.tables import open_parquet_tables
from kdiag_cli.commands.decode.options import DecodeOptions
from kdiag_cli.commands.decode.pipeline import ExchangePipeline
from kdiag_cli.commands.decode.printers import (
    CsvRows,
    JsonDocument,
    JsonLines,
    Printer,
    SingleExchange,
    SortedPrinter,
    absence_text,
)
from kdiag_cli.commands.decode.summary import print_summary
from kdiag_cli.commands.decode.tree import ExchangeView, explanation_document
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.output.exchange_lines import ExchangeLines
from kdiag_cli.output.pipe import require_reader
from kdiag_cli.output.progress import Progress
from kdiag_cli.output.tcp_text import tcp_lines
from kdiag_cli.output.terminal import BOLD, Output, say

_MACHINE_PRINTERS: Final[dict[str, Callable[[Output, Documents], Printer]]] = {
    "jsonl": JsonLines,
    "json": JsonDocument,
    "csv": CsvRows,
}


def run(options: DecodeOptions) -> ExitCode:
    """Decode captures as the options say; return the exit code."""
    return run_on_captures(lambda: _run(options))


def _run(options: DecodeOptions) -> ExitCode:
    output = Output(sys.stdout)
    work = _Decoding(options, output)
    try:
        code = work.run()
    finally:
        work.close()
    output.flush()
    return code


class _Decoding:
    """One run."""

    def __init__(self, options: DecodeOptions, output: Output) -> None:
        self._options = options
        self._output = output
        self._keylog = read_keylogs(options.keylogs)
        self._reader = open_traffic(options)
        self._decoder = CaptureDecoder(
            self._reader.addresses.endpoint_text,
            ports=options.ports,
            keylog=self._keylog,
            limits=options.limits,
        )
        if options.tcp:
            self._decoder.follow_tcp()
        self._names = TopicNames(options.topic_names)
        self._documents = Documents(self._names, options.form)
        number = options.show or options.explain
        self._single = None if number is None else SingleExchange(number)
        self._tables = None if options.out is None else open_parquet_tables(options, self._names)
        self._printer = self._single or self._make_printer()
        self._pipeline = ExchangePipeline(
            self._names,
            options.selection,
            self._printer,
            self._make_look_ahead(),
            may_wait=options.live is None,
        )
        self._first_ns = self._last_ns = 0
        is_stored = can_read_twice(options.files) or _is_file(sys.stdin)
        output.is_prompt = options.live is not None or not is_stored

    def close(self) -> None:
        """Remove tables that were not finished."""
        if self._tables is not None:
            self._tables.discard()

    def run(self) -> ExitCode:
        """Read everything, or up to what was asked for; return the exit code."""
        is_interrupted = self._read()
        self._pipeline.finish()
        totals = self._totals()
        if self._single is not None:
            if is_interrupted and self._single.found is None:
                return ExitCode.INTERRUPTED
            return self._show(self._single)
        if self._options.summary:
            self._print_summary(totals)
        elif is_interrupted:
            self._output.flush()
            say("interrupted; this was read so far:")
            print_to_stderr = Output(sys.stderr)
            print_summary(print_to_stderr, self._pipeline.summary, totals)
            print_to_stderr.flush()
        else:
            say(*totals.warnings)
            self._say_if_nothing_was_found(totals)
        if is_interrupted:
            return ExitCode.INTERRUPTED
        is_partial = self._pipeline.is_partial or totals.gaps or self._reader.warnings
        return ExitCode.PARTIAL if is_partial else ExitCode.DONE

    def _read(self) -> bool:
        """Pass the captures through the pipeline; return whether that was interrupted."""
        progress = self._make_progress()
        is_interrupted = False
        try:
            for batch in self._reader.read_segments():
                self._note_times(batch)
                self._keylog.add_secrets(self._reader.secrets)
                self._take(self._decoder.feed(batch))
                if progress is not None:
                    progress.update(self._reader.bytes_read)
                if self._has_found():
                    return False
        except KeyboardInterrupt:
            is_interrupted = True
        finally:
            if progress is not None:
                progress.clear()
        self._take(self._decoder.finish())
        return is_interrupted

    def _has_found(self) -> bool:
        """Return whether the one exchange wanted is here, and with it all that is to be told."""
        is_found = self._single is not None and self._single.found is not None
        return is_found and not self._options.tcp

    def _take(self, items: list[Item]) -> None:
        self._pipeline.take(items)
        if self._output.is_prompt:
            self._output.flush()
            if self._tables is None:
                require_reader(sys.stdout)

    def _note_times(self, batch: SegmentBatch) -> None:
        if len(batch.time_ns):
            first_ns, last_ns = int(batch.time_ns.min()), int(batch.time_ns.max())
            self._first_ns = min(self._first_ns or first_ns, first_ns)
            self._last_ns = max(self._last_ns, last_ns)

    def _make_printer(self) -> Printer | None:
        """Return what prints the exchanges; None if they are only counted."""
        options = self._options
        if options.summary:
            return None
        printer: Printer
        if self._tables is not None:
            printer = self._tables
        elif options.output == "text":
            printer = ExchangeLines(self._output, self._names)
        else:
            printer = _MACHINE_PRINTERS[options.output](self._output, self._documents)
        return SortedPrinter(printer) if options.sort else printer

    def _make_look_ahead(self) -> Callable[[], None] | None:
        files, ports = self._options.files, self._options.ports
        if not files or not can_read_twice(files):
            return None
        return lambda: learn_all_names(self._names, files, ports=ports, keylog=self._keylog)

    def _make_progress(self) -> Progress | None:
        """Return what shows progress, where it does not get between the lines."""
        prints_lines = self._printer is not None and self._tables is None
        is_in_the_way = self._output.is_terminal and prints_lines
        if is_in_the_way or not sys.stderr.isatty():
            return None
        return Progress(self._reader.total_bytes)

    def _totals(self) -> Totals:
        counts, reader = self._decoder.counts, self._reader
        return Totals(
            packets=reader.packets,
            bytes=reader.index.bytes,
            first_ns=self._first_ns,
            last_ns=self._last_ns,
            connections=counts.connections,
            duplicates=counts.duplicates,
            gaps=counts.gaps,
            gap_bytes=counts.gap_bytes,
            warnings=[*map(str, reader.warnings), *note_disorder(counts), *note_drops(reader)],
        )

    def _print_summary(self, totals: Totals) -> None:
        if self._options.output == "text":
            print_summary(self._output, self._pipeline.summary, totals)
        else:
            document = self._pipeline.summary.document(totals)
            self._output.write(DocumentEncoder().encode(document) + b"\n")

    def _show(self, single: SingleExchange) -> ExitCode:
        """Print the one exchange that was asked for."""
        dissection = single.found
        if dissection is None:
            say(absence_text(single.number, self._decoder.counts.exchanges))
            return ExitCode.USAGE
        if self._options.output == "text":
            self._show_text(dissection)
        else:
            self._output.write(DocumentEncoder().encode(self._document(dissection)) + b"\n")
        return ExitCode.DONE if is_in_order(dissection.status) else ExitCode.PARTIAL

    def _document(self, dissection: Dissection) -> object:
        if self._options.show is not None:
            document = self._documents.exchange(dissection)
            facts = dissection.exchange.connection.tcp
            return document if facts is None else document | {"tcp": tcp_document(facts)}
        show_secrets = self._options.form.show_secrets
        return explanation_document(dissection, show_secrets=show_secrets)

    def _show_text(self, dissection: Dissection) -> None:
        view = ExchangeView(self._output, self._names, self._documents)
        if self._options.show is not None:
            view.show(dissection)
            self._show_tcp(dissection.exchange.connection)
        else:
            view.explain(dissection, show_secrets=self._options.form.show_secrets)

    def _show_tcp(self, connection: Connection) -> None:
        """Print what TCP did on a connection, if that was asked for."""
        if connection.tcp is not None:
            self._output.line("")
            self._output.line(self._output.paint(f"tcp of connection {connection.number}", BOLD))
            for line in tcp_lines(connection.tcp):
                self._output.line(line)

    def _say_if_nothing_was_found(self, totals: Totals) -> None:
        """Tell what there was instead, if there was no exchange at all."""
        if self._decoder.counts.exchanges:
            return
        protocols = self._pipeline.summary.protocols
        found = ", ".join(f"{number} {each.value}" for each, number in protocols.most_common())
        say(
            f"no Kafka in {count(totals.packets, 'packet')}, "
            f"{count(totals.connections, 'connection')}{f' ({found})' if found else ''}; "
            "--port N reads a port as Kafka whatever the bytes look like"
        )


def _is_file(stream: object) -> bool:
    """Return whether a stream is a file, which has an end, rather than a pipe or a terminal."""
    try:
        return stat.S_ISREG(fstat(stream.fileno()).st_mode)  # type: ignore[attr-defined]
    except (OSError, ValueError, AttributeError):
        return False
