"""The run of `kdiag tail`: reads, prints, reports what happens and where it stopped."""

import sys
from collections.abc import Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import FetchedBatch, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.clock import NS_PER_MS, Clock, SystemClock
from kdiag.errors import ConfigError
from kdiag.probe.tail.follower import Tail, TailRequest
from kdiag.probe.tail.offset_spec import At, Position
from kdiag.probe.tail.record_runs import RecordRun, Unreadable, record_runs
from kdiag.probe.tail.topic_selection import TopicSelector
from kdiag.probe.tail.topic_wait import TopicWait
from kdiag_cli.commands.tail.filter import RecordFilter
from kdiag_cli.commands.tail.format_string import parse_format
from kdiag_cli.commands.tail.json_columns import json_template
from kdiag_cli.commands.tail.options import TailOptions, filter_of, offsets_of, selectors_of
from kdiag_cli.commands.tail.printer import (
    JsonPrinter,
    LinePrinter,
    RecordPrinter,
    TerminalPrinter,
    default_template,
)
from kdiag_cli.commands.tail.resume import ResumeFile, resume_arguments, resume_line
from kdiag_cli.commands.tail.status import TailStatus
from kdiag_cli.commands.tail.text_columns import TextColumns
from kdiag_cli.ending import close_quietly
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.interruption import Interruption
from kdiag_cli.live.run import run_live
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions, client_config
from kdiag_cli.output.terminal import Output, require_reader, say, widen

_POLL_NS: Final = 250_000_000
_KEEP_NS: Final = 2_000_000_000


def run(options: TailOptions, live: LiveOptions) -> ExitCode:
    """Print records until it is enough; return the exit code of the program."""
    return run_live(lambda: tail(options, live), live.timeout_ns)


def tail(options: TailOptions, live: LiveOptions) -> ExitCode:
    """Print records until it is enough.

    Raises:
        KdiagError: if an option is wrong, or the cluster cannot be read.
    """
    now_ms = SystemClock().epoch_ns() // NS_PER_MS
    offsets = offsets_of(options, now_ms)
    chosen = filter_of(options.filters, offsets, now_ms)
    rack = options.rack or client_config(live).client_rack
    selectors = selectors_of(options)
    if options.resume_file is not None:
        selectors += ResumeFile(options.resume_file).read(selectors)
    request = TailRequest(
        topics=selectors,
        offsets=offsets,
        stops_at_end=options.stops_at_end,
        limits=FetchLimits(is_committed_only=options.is_committed_only, rack=rack),
        is_visible=lambda fetched: chosen.shows(
            is_control=fetched.batch.is_control, is_aborted=fetched.is_aborted
        ),
    )
    printer = make_printer(options, Output())
    widen(sys.stdout)
    with live_session(live, is_endless=True) as client:
        if options.waits:
            request = request._replace(topics=await_topics(client, selectors))
        source = Tail(client, request)
        return TailReading(client.clock, source, printer, options, chosen).run()


def await_topics(client: ClusterClient, selectors: Sequence[TopicSelector]) -> list[TopicSelector]:
    """Wait until all topics exist, and return their selectors; say once what is waited for.

    Raises:
        KdiagError: if a topic can never exist, or the cluster cannot be asked.
    """
    wait = TopicWait(client, selectors)
    told: set[str] = set()
    while (missing := wait.look()) is not None:
        if missing.key not in told:
            told.add(missing.key)
            say(f"{missing.key}: {missing.why}; waiting for it")
        client.wait(TopicWait.INTERVAL_NS)
    return wait.selectors


def make_printer(options: TailOptions, output: Output) -> RecordPrinter:
    """Return the printer of the records.

    Raises:
        ConfigError: if the format string is wrong.
    """
    printing = options.printing
    columns = TextColumns(output.is_terminal, printing.key_format, printing.value_format)
    if printing.out is not None:
        from kdiag_cli.commands.tail.parquet import ParquetPrinter  # noqa: PLC0415 - pyarrow is an extra

        return ParquetPrinter(printing.out)
    if printing.format is not None:
        return LinePrinter(output, parse_format(printing.format, columns))
    if printing.output != "text":
        return JsonPrinter(output, json_template(printing.key_format, printing.value_format))
    if output.is_terminal:
        return TerminalPrinter(output, columns, is_wide=printing.is_wide)
    has_marks = options.filters.shows_aborted or options.filters.shows_control
    return LinePrinter(output, default_template(columns, has_marks=has_marks))


class TailReading:
    """Polls a tail and prints its records.

    Attributes:
        printed: the offset up to which each partition was certainly written out.
    """

    def __init__(
        self,
        clock: Clock,
        source: Tail,
        printer: RecordPrinter,
        options: TailOptions,
        chosen: RecordFilter,
    ) -> None:
        self.printed: dict[PartitionKey, int] = {}
        self._clock = clock
        self._source = source
        self._printer = printer
        self._options = options
        self._chosen = chosen
        self._left = options.limit
        self._is_partial = False
        self._only_values = printer.only_values and chosen.takes_all and options.limit is None
        self._until_ns = None if chosen.before_ms is None else chosen.before_ms * NS_PER_MS
        self._file = None if options.resume_file is None else ResumeFile(options.resume_file)
        self._keep_at_ns = 0
        self._status = TailStatus(clock)
        self._interruption = Interruption()

    def run(self) -> ExitCode:
        """Print until the end; if anything else ends it, report where it stopped.

        Raises:
            KdiagError: if the cluster cannot be read any more, or a file not be written.
        """
        try:
            with self._interruption:
                self._loop()
        except BrokenPipeError:
            raise
        except BaseException as error:
            self._stop(error)
            raise
        self._status.clear()
        self._printer.finish()
        self._keep()
        is_partial = self._is_partial or self._source.is_partial
        return ExitCode.PARTIAL if is_partial else ExitCode.DONE

    def _loop(self) -> None:
        source = self._source
        self._note_positions()
        self._begin()
        while not source.is_done and self._left != 0 and not self._is_late():
            batches = source.poll(self._clock.monotonic_ns() + _POLL_NS)
            self._report_notices()
            self._print(batches)
            if self._left == 0:
                break
            self._note_positions()
            if self._options.printing.out is None:
                self._keep_now_and_then()
                require_reader(sys.stdout)
            if not self._options.printing.is_quiet:
                self._status.show(source.positions.values())
        self._report_notices()

    def _begin(self) -> None:
        """Tell a person at a terminal what will be read."""
        if sys.stderr.isatty() and not self._options.printing.is_quiet:
            topics = ", ".join(sorted({key.topic for key in self.printed}))
            isolation = "read_committed" if self._options.is_committed_only else "read_uncommitted"
            count = len(self.printed)
            say(f"{topics}: {count} partition{'s' * (count != 1)}, {isolation}")

    def _stop(self, error: BaseException) -> None:
        """Report where it stopped, and finish the printer."""
        self._status.clear()
        if not isinstance(error, Exception):
            close_quietly()  # the reader of stdout may have paused: do not wait for it
        self._printer.finish()
        if self._source.is_searching:
            line = resume_line(self._arguments())
            say(f"stopped, with not all of the last records shown; to go on behind them: {line}")
            return
        file = self._options.resume_file
        try:
            self._keep()
        except ConfigError as trouble:
            say(str(trouble))
            file = None
        say(f"stopped; to go on from here: {resume_line(self._arguments(), file)}")

    def _arguments(self) -> list[str]:
        """Return the arguments that go on where everything is printed."""
        printed = {key: Position(At.OFFSET, offset) for key, offset in self.printed.items()}
        return resume_arguments({**self._source.unplaced, **printed}, self._source.topics)

    def _keep(self) -> None:
        """Write the file to go on from, if there is to be one.

        Raises:
            ConfigError: if it cannot be written.
        """
        if self._file is None:
            return
        if self._source.is_searching:
            say(f"{self._options.resume_file}: not written; not all of the last records were shown")
        else:
            self._file.write(self._arguments())

    def _keep_now_and_then(self) -> None:
        """Write that file while reading, so that not much is read twice if the process is killed.

        Raises:
            ConfigError: if it cannot be written.
        """
        now_ns = self._clock.monotonic_ns()
        if self._file is not None and not self._source.is_searching and now_ns > self._keep_at_ns:
            self._keep_at_ns = now_ns + _KEEP_NS
            self._keep()

    def _note_positions(self) -> None:
        """Note that everything read so far is printed."""
        self.printed.update((key, each.offset) for key, each in self._source.positions.items())

    def _is_late(self) -> bool:
        """Return whether the moment of `--until` has passed."""
        return self._until_ns is not None and self._clock.epoch_ns() >= self._until_ns

    def _report_notices(self) -> None:
        """Print what has happened to partitions."""
        notices = self._source.take_notices()
        self._status.count(0, notices)
        if notices and not self._options.printing.is_quiet:
            self._status.clear()
            say(*(each.text for each in notices))

    def _print(self, batches: Sequence[FetchedBatch]) -> None:
        """Print batches, up to `--count` records."""
        if batches:
            self._status.clear()
        for each in batches:
            self.printed.setdefault(each.key, each.start)
        for run in record_runs(batches, self._printer.run_bytes, only_values=self._only_values):
            with self._interruption.postponed():
                next_offset = self._print_run(run)
                key = run.origin.key
                self.printed[key] = max(self.printed[key], next_offset)
            if self._left == 0:
                return

    def _print_run(self, run: RecordRun | Unreadable) -> int:
        """Print the chosen records of a run; return the offset to go on at."""
        if isinstance(run, Unreadable):
            self._is_partial = True
            say(f"{run.origin.key}: {run.why}")
            return run.next_offset
        chosen = self._chosen.choose(run)
        next_offset = run.next_offset
        if self._left is not None:
            if len(chosen.columns) >= self._left:
                chosen = chosen._replace(columns=chosen.columns.only(range(self._left)))
                next_offset = chosen.columns.offsets()[-1] + 1
            self._left -= len(chosen.columns)
        if len(chosen.columns):
            self._printer.write(chosen)
            self._status.count(len(chosen.columns), ())
        return next_offset
