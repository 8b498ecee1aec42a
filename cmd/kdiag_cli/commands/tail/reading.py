"""Reads a tail to its end: prints its records, says what happens, and where it stopped."""

import sys
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Final, NamedTuple, Protocol

from kdiag.client.fetch.position import (
    FetchedBatch,
    FetchPosition,
    Notice,
    NoticeKind,
    PartitionKey,
)
from kdiag.clock import NS_PER_MS, Clock
from kdiag.errors import ConfigError
from kdiag.probe.tail.follower import Tail
from kdiag.probe.tail.offset_spec import At, Position
from kdiag.probe.tail.record_runs import RecordRun, Unreadable, record_runs
from kdiag_cli.commands.tail.filter import RecordFilter
from kdiag_cli.commands.tail.options import TailOptions
from kdiag_cli.commands.tail.printer import RecordPrinter
from kdiag_cli.commands.tail.resume import ResumeFile, resume_arguments, resume_line
from kdiag_cli.commands.tail.status import TailStatus
from kdiag_cli.ending import close_quietly
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.interruption import Interruption
from kdiag_cli.output.terminal import require_reader, say

_POLL_NS: Final = 250_000_000
_KEEP_NS: Final = 2_000_000_000


class RecordSource(Protocol):
    """Whatever records are read from: topics, or the partitions of a member."""

    @property
    def positions(self) -> Mapping[PartitionKey, FetchPosition]:
        """Return the position in each partition."""
        ...

    @property
    def is_done(self) -> bool:
        """Return whether everything has been read."""
        ...

    @property
    def is_partial(self) -> bool:
        """Return whether something was given up."""
        ...

    def take_notices(self) -> list[Notice]:
        """Return the notices since the last call."""
        ...

    def poll(self, deadline_ns: int) -> list[FetchedBatch]:
        """Return batches in the order of offsets; none if none came by the deadline."""
        ...


class RecordOutput(NamedTuple):
    """Which records are printed, and how.

    Attributes:
        printer: prints them.
        options: as they were given.
        chosen: the filter.
    """

    printer: RecordPrinter
    options: TailOptions
    chosen: RecordFilter


class RecordReading(ABC):
    """Polls a source and prints its records.

    Attributes:
        printed: the offset up to which each partition was certainly written out.
    """

    def __init__(
        self,
        clock: Clock,
        source: RecordSource,
        output: RecordOutput,
        printed: dict[PartitionKey, int] | None = None,
    ) -> None:
        """Begin with nothing printed.

        Args:
            clock: of the source.
            source: is read.
            output: prints the records.
            printed: shared with a source that commits it.
        """
        printer, options, chosen = output
        self.printed: dict[PartitionKey, int] = {} if printed is None else printed
        self._clock = clock
        self._records = source
        self._printer = printer
        self._options = options
        self._chosen = chosen
        self._left = options.limit
        self._is_partial = False
        self._only_values = printer.only_values and chosen.takes_all and options.limit is None
        self._until_ns = None if chosen.before_ms is None else chosen.before_ms * NS_PER_MS
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
            self._abandon()
            raise
        except BaseException as error:
            self._status.clear()
            if not isinstance(error, Exception):
                close_quietly()  # the reader of stdout may have paused: do not wait for it
            self._printer.finish()
            self._stop()
            raise
        self._status.clear()
        self._printer.finish()
        self._end()
        is_partial = self._is_partial or self._records.is_partial
        return ExitCode.PARTIAL if is_partial else ExitCode.DONE

    @abstractmethod
    def _end(self) -> None:
        """Do what is to be done once all is printed."""

    @abstractmethod
    def _stop(self) -> None:
        """Report where it stopped."""

    def _abandon(self) -> None:  # noqa: B027 - a source that nobody waits for needs nothing
        """Do what is to be done once nobody reads the output any more."""

    def _begin(self) -> None:  # noqa: B027 - some have nothing to say yet
        """Tell a person at a terminal what will be read."""

    def _keep_now_and_then(self) -> None:  # noqa: B027 - some keep nothing
        """Keep how far it is, so that not much is read twice if the process is killed."""

    def _loop(self) -> None:
        source = self._records
        self._note_positions()
        self._begin()
        while not source.is_done and self._left != 0 and not self._is_late():
            batches = self._poll()
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

    def _poll(self) -> list[FetchedBatch]:
        """Return the next batches of the source."""
        return self._records.poll(self._clock.monotonic_ns() + _POLL_NS)

    def _note_positions(self) -> None:
        """Note that everything read so far is printed; what could not be read is not."""
        positions = self._records.positions.items()
        self.printed.update((key, each.resume_offset) for key, each in positions)

    def _is_late(self) -> bool:
        """Return whether the moment of `--until` has passed."""
        return self._until_ns is not None and self._clock.epoch_ns() >= self._until_ns

    def _report_notices(self) -> list[Notice]:
        """Print what has happened to partitions, and return it."""
        notices = self._records.take_notices()
        self._status.count(0, notices)
        is_quiet = self._options.printing.is_quiet
        told = [each for each in notices if each.kind is NoticeKind.CORRUPT or not is_quiet]
        if told:
            self._status.clear()
            say(*(each.text for each in told))
        return notices

    def _print(self, batches: Sequence[FetchedBatch]) -> None:
        """Print batches, up to `--count` records."""
        if batches:
            self._status.clear()
        for each in batches:
            self.printed.setdefault(each.key, each.start)
        for run in record_runs(batches, self._printer.run_bytes, only_values=self._only_values):
            with self._interruption.postponed():
                next_offset = self._print_run(run)
                self._note_printed(run.origin.key, next_offset)
            if self._left == 0:
                return

    def _note_printed(self, key: PartitionKey, next_offset: int) -> None:
        """Note that a partition is printed up to an offset, or up to what could not be read."""
        position = self._records.positions.get(key)
        held_at = None if position is None else position.held_at
        if held_at is not None:
            next_offset = min(next_offset, held_at)
        self.printed[key] = max(self.printed[key], next_offset)

    def _print_run(self, run: RecordRun | Unreadable) -> int:
        """Print the chosen records of a run; return the offset to go on at."""
        if isinstance(run, Unreadable):
            self._is_partial = True
            say(f"{run.origin.key}: {run.why}")
            position = self._records.positions.get(run.origin.key)
            if position is not None and not self._options.skips_damaged:
                position.hold(run.offset)
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


class TailReading(RecordReading):
    """Reads topics; says, and keeps in a file, how to go on."""

    def __init__(self, clock: Clock, source: Tail, output: RecordOutput) -> None:
        super().__init__(clock, source, output)
        options = output.options
        self._source = source
        self._file = None if options.resume_file is None else ResumeFile(options.resume_file)
        self._keep_at_ns = 0

    def _begin(self) -> None:
        """Tell a person at a terminal what will be read."""
        if sys.stderr.isatty() and not self._options.printing.is_quiet:
            topics = ", ".join(sorted({key.topic for key in self.printed}))
            isolation = "read_committed" if self._options.is_committed_only else "read_uncommitted"
            count = len(self.printed)
            say(f"{topics}: {count} partition{'s' * (count != 1)}, {isolation}")

    def _end(self) -> None:
        self._keep()

    def _stop(self) -> None:
        if self._source.is_searching:
            line = resume_line(self._arguments(), self._options.repeated)
            say(f"stopped, with not all of the last records shown; to go on behind them: {line}")
            return
        file = self._options.resume_file
        try:
            self._keep()
        except ConfigError as trouble:
            say(str(trouble))
            file = None
        line = resume_line(self._arguments(), self._options.repeated, file)
        say(f"stopped; to go on from here: {line}")

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
        """Write that file while reading.

        Raises:
            ConfigError: if it cannot be written.
        """
        now_ns = self._clock.monotonic_ns()
        if self._file is not None and not self._source.is_searching and now_ns > self._keep_at_ns:
            self._keep_at_ns = now_ns + _KEEP_NS
            self._keep()
