"""The run of `kdiag decode`: captures in, lines or documents out, an exit code at the end."""

import shlex
import stat
import sys
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from os import fstat
from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.document import DocumentEncoder, Documents
from kdiag.exchange.documents.tcp import tcp_document
from kdiag.exchange.line.phrase import count
from kdiag.exchange.model import Connection, Status
from kdiag.exchange.selection import Selection, is_in_order
from kdiag.pcap.look_ahead import can_read_twice
from kdiag_cli.captures.extract import extract_document, extract_text
from kdiag_cli.captures.more import command_for
from kdiag_cli.captures.printer import Printer, SortedPrinter
from kdiag_cli.captures.reading import CaptureReading, CaptureResult, run_on_captures
from kdiag_cli.commands.decode.options import DecodeOptions
from kdiag_cli.commands.decode.printers import (
    CsvRows,
    JsonDocument,
    JsonLines,
    SingleExchange,
    absence_text,
)
from kdiag_cli.commands.decode.summary import gaps_text, health, print_head, print_tables
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.options.results import require_report_extra
from kdiag_cli.output.exchanges.text import not_understood_text
from kdiag_cli.output.findings import print_findings
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.progress import LiveStatus
from kdiag_cli.output.tcp_text import tcp_lines
from kdiag_cli.output.terminal import (
    BOLD,
    Output,
    can_write_over,
    print_paragraph,
    require_reader,
    say,
)
from kdiag_cli.pager import paged

if TYPE_CHECKING:
    from kdiag.findings.finding import Finding  # which loads all rules
    from kdiag.pcap.writer.extract import ExtractCounts  # 10 ms, for one option


def run(options: DecodeOptions) -> ExitCode:
    """Decode captures as the options say; return the exit code."""
    return run_on_captures(lambda: _run(options))


def _run(options: DecodeOptions) -> ExitCode:
    if options.out is not None:
        return _write_tables(options, options.out)
    with ExitStack() as pages:
        stream = pages.enter_context(paged(sys.stdout)) if options.pager else sys.stdout
        output = Output(stream, is_wide=options.is_wide)
        code = _DecodeRun(options, output, pages.close).run()
        output.flush()
    return code


def _write_tables(options: DecodeOptions, folder: Path) -> ExitCode:
    """Write the tables of `--output parquet`."""
    require_report_extra()
    from kdiag_cli.captures.tables import tables_of, written_text  # noqa: PLC0415 - an extra

    result = tables_of(options.inputs, folder, options.contents, options.selection)
    _say_end(result)
    say(written_text(folder))
    return result.exit_code


def _say_end(result: CaptureResult) -> None:
    """Print on stderr what could not be read, or what was read until Ctrl-C."""
    if not result.is_interrupted:
        result.say_warnings()
        return
    say("interrupted; this was read so far:")
    output = Output(sys.stderr)
    print_head(output, result.summary, result.totals)
    print_tables(output, result.summary, result.totals)
    output.flush()


class _DecodeRun:
    """One run that prints exchanges, one exchange or their counts."""

    def __init__(
        self, options: DecodeOptions, output: Output, leave_pager: Callable[[], None]
    ) -> None:
        """Open the inputs.

        Args:
            options: of the command.
            output: where exchanges go.
            leave_pager: waits until the person has left the pager, if there is one.
        """
        self._leave_pager = leave_pager
        self._options = options
        self._output = output
        self._reading = CaptureReading(
            options.inputs, follows_tcp=options.tcp, shows_secrets=options.show_secrets
        )
        self._documents = Documents(self._reading.names, options.form, self._reading.brokers)
        number = options.show or options.explain
        self._single = None if number is None else SingleExchange(number)
        is_stored = can_read_twice(options.inputs.files) or _is_file(sys.stdin)
        is_live = options.inputs.live is not None
        output.is_prompt = is_live or not is_stored
        self._status: LiveStatus | None = None
        if is_live and can_write_over(sys.stderr):
            self._status = LiveStatus()
            output.before_writing = self._status.clear

    def run(self) -> ExitCode:
        """Read everything, or up to what was asked for; return the exit code."""
        printer = self._single or self._make_printer()
        is_in_the_way = self._output.is_terminal and printer is not None
        selection = self._options.selection(self._reading.first_ns)
        result = self._reading.read(
            printer,
            selection,
            after_batch=self._after_batch,
            shows_progress=not is_in_the_way and self._status is None,
            judges_traffic=self._options.summary,
        )
        if self._status is not None:
            self._status.clear()
        if self._single is not None:
            if result.is_interrupted and self._single.found is None:
                return ExitCode.INTERRUPTED
            return self._show(self._single, result)
        written: ExtractCounts | None = None
        if self._options.summary:
            written = self._write_extract(result)  # first: the JSON has the counts
            self._print_summary(result, written)
            if result.absence is not None and result.exchange_count:
                self._output.flush()
                say(result.absence)
        else:
            self._output.flush()
            self._leave_pager()
            _say_end(result)
            if selection == Selection():
                self._say_health(result)
            if self._options.errors and result.totals.gaps:
                say(f"{gaps_text(result.totals)}; without --errors each gap is shown")
            if self._options.errors and result.totals.not_understood:
                say(f"{not_understood_text(result.totals)}; without --errors all are listed")
            written = self._write_extract(result)
        if written is not None and self._options.inputs.write is not None:
            self._output.flush()
            say(extract_text(self._options.inputs.write, written))
        return self._exit_code(result)

    def _say_health(self, result: CaptureResult) -> None:
        """Print on stderr, below a listing of captures, how many requests failed."""
        files = list(map(str, self._options.inputs.files))
        is_read = result.exchange_count and not result.is_interrupted and result.absence is None
        can_read_again = bool(files) and "-" not in files
        if is_read and can_read_again and self._options.output == "text":
            command = shlex.join(["kdiag", "decode", *files, "--summary"])
            say(f"{health(result.summary)}; {command} judges them")

    def _exit_code(self, result: CaptureResult) -> ExitCode:
        """Return the exit code: a finding that was asked for counts more than a cut input."""
        fail_on, code = self._options.fail_on, result.exit_code
        if self._lacks_records() and code is ExitCode.DONE:
            code = ExitCode.PARTIAL
        if fail_on is None or code not in {ExitCode.DONE, ExitCode.PARTIAL}:
            return code
        found = exit_code_of((), result.findings, fail_on)
        return code if found is ExitCode.DONE else found

    def _write_extract(self, result: CaptureResult) -> "ExtractCounts | None":
        """Write the packets of the chosen connections, if that was asked for."""
        if self._options.inputs.live is not None or self._options.inputs.write is None:
            return None
        self._output.flush()
        if result.is_interrupted:
            say(f"{self._options.inputs.write} is not written: reading was interrupted")
            return None
        return self._reading.write_extract()

    def _after_batch(self) -> bool:
        """Flush what a live reader waits for; return whether there is more to look for."""
        if self._output.is_prompt:
            self._output.flush()
            require_reader(sys.stdout)
        if self._status is not None:
            self._status.update(*self._reading.live_counts)
        is_found = self._single is not None and self._single.found is not None
        return not is_found or self._options.tcp

    def _make_printer(self) -> Printer | None:
        """Return what prints the exchanges; None if they are only counted."""
        options = self._options
        if options.summary:
            return None
        printer: Printer
        if options.output == "text":
            from kdiag_cli.output.exchanges.lines import ExchangeLines  # noqa: PLC0415 - 5 ms
            from kdiag_cli.output.exchanges.times import LineTimes  # noqa: PLC0415 - as above

            printer = ExchangeLines(
                self._output,
                self._reading.names,
                self._reading.brokers,
                lists_all=options.lists_all or bool(options.connections),
                times=LineTimes(self._output, options.time_style, self._reading.first_ns),
            )
        elif options.output == "json":
            printer = JsonDocument(
                self._output, self._documents, lambda: self._reading.account().document()
            )
        elif options.output == "csv":
            printer = CsvRows(self._output, self._documents, is_safe=options.csv_safe)
        else:
            printer = JsonLines(self._output, self._documents)
        return SortedPrinter(printer) if options.sort else printer

    def _print_summary(self, result: CaptureResult, written: "ExtractCounts | None") -> None:
        if self._options.output == "text":
            summary, totals = result.summary, result.totals
            print_head(self._output, summary, totals)
            self._print_verdict(result)
            print_tables(self._output, summary, totals, result.rebalances, result.groups)
        else:
            document = result.summary.document(result.totals)
            document["rebalances"] = result.rebalances
            document["groups"] = result.groups
            document["findings"] = [
                msgspec.structs.asdict(each) | {"more": self._more(each)}
                for each in result.findings
            ]
            if written is not None and self._options.inputs.write is not None:
                document["written"] = extract_document(self._options.inputs.write, written)
            print_json(self._output, DocumentEncoder().encode(document))

    def _print_verdict(self, result: CaptureResult) -> None:
        """Print the findings: trouble, then style; and what was not judged."""
        self._output.line("")
        trouble, style = _apart(result.findings)
        if trouble:
            print_findings(self._output, trouble, more=self._more)
        else:
            print_paragraph(self._output, self._no_trouble(result))
        if style:
            self._output.line(self._output.paint("could be better:", BOLD))
            print_findings(self._output, style, more=self._more)
        unjudged = [
            *(() if self._judges_groups else ("groups (filters leave requests out)",)),
            *(() if self._options.tcp else ("TCP, apart from closed windows (--tcp)",)),
        ]
        if unjudged:
            self._output.line(f"not judged: {'; '.join(unjudged)}")

    @property
    def _judges_groups(self) -> bool:
        return self._options.selection(self._reading.first_ns).has_whole_groups

    def _no_trouble(self, result: CaptureResult) -> str:
        """Return that no rule found trouble, beside what failed nevertheless."""
        judged = "clients, brokers and groups" if self._judges_groups else "clients and brokers"
        text = f"no rule for connections, {judged} found trouble"
        failed = result.summary.errors.total() + result.summary.status[Status.UNANSWERED]
        if not failed:
            return text
        files = list(map(str, self._options.inputs.files))
        command = shlex.join(["kdiag", "decode", *files, "--all", "--errors"])
        return f"{text}; requests that failed: {command}"

    def _more(self, finding: "Finding") -> str:
        """Return the command that shows more of a finding."""
        return command_for(finding, list(map(str, self._options.inputs.files)))

    def _show(self, single: SingleExchange, result: CaptureResult) -> ExitCode:
        """Print the one exchange that was asked for."""
        dissection = single.found
        if dissection is None:
            say(absence_text(single.number, result.exchange_count))
            return ExitCode.USAGE
        if self._options.output == "text":
            self._show_text(dissection)
        else:
            print_json(self._output, DocumentEncoder().encode(self._document(dissection)))
        is_whole = is_in_order(dissection.status) and not self._lacks_records()
        return ExitCode.DONE if is_whole else ExitCode.PARTIAL

    def _lacks_records(self) -> bool:
        """Report the records that are not shown in full; return whether there are any."""
        documents = self._documents
        if documents.cut_records:
            what = f"{count(documents.cut_records, 'record')} with fields too long to show"
            say(f"{what}: start, size and SHA-256 stand for them; --raw keeps batches whole")
        if documents.unread_batches:
            what = count(documents.unread_batches, "exchange")
            say(f"{what} with records that are not shown: `why` in the document gives the reason")
        return bool(documents.cut_records or documents.unread_batches)

    def _document(self, dissection: Dissection) -> object:
        if self._options.show is not None:
            document = self._documents.exchange(dissection)
            facts = dissection.exchange.connection.tcp
            return document if facts is None else document | {"tcp": tcp_document(facts)}
        from kdiag_cli.commands.decode.tree import explanation_document  # noqa: PLC0415 - 8 ms

        return explanation_document(dissection, show_secrets=self._options.show_secrets)

    def _show_text(self, dissection: Dissection) -> None:
        from kdiag_cli.commands.decode.tree import ExchangeView  # noqa: PLC0415 - 8 ms

        view = ExchangeView(self._output, self._reading.names, self._documents)
        if self._options.show is not None:
            view.show(dissection)
            self._show_tcp(dissection.exchange.connection)
        else:
            view.explain(dissection, show_secrets=self._options.show_secrets)

    def _show_tcp(self, connection: Connection) -> None:
        """Print what TCP did on a connection, if that was asked for."""
        if connection.tcp is not None:
            self._output.line("")
            self._output.line(self._output.paint(f"tcp of connection {connection.number}", BOLD))
            for line in tcp_lines(connection.tcp):
                print_paragraph(self._output, line)


def _is_file(stream: object) -> bool:
    """Return whether a stream is a file, which has an end, rather than a pipe or a terminal."""
    try:
        return stat.S_ISREG(fstat(stream.fileno()).st_mode)  # type: ignore[attr-defined]
    except (OSError, ValueError, AttributeError):
        return False


def _apart(findings: "Sequence[Finding]") -> "tuple[list[Finding], list[Finding]]":
    if not findings:
        return [], []
    from kdiag.findings.finding import apart  # noqa: PLC0415 - loads all rules, 5 ms

    return apart(findings)
