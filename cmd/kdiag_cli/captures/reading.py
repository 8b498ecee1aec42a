"""One reading of captures: packets in, exchanges to a printer, totals at the end."""

import ctypes
import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextvars import copy_context
from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.errors import CaptureError, ConfigError, ReportError
from kdiag.exchange.context.broker_ids import BrokerIds
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.line.phrase import count
from kdiag.exchange.model import Protocol
from kdiag.exchange.selection import Selection
from kdiag.exchange.summary.counts import FOLLOWED_BYTES, Summary, Totals
from kdiag.exchange.summary.largest import LargestConnections
from kdiag.exchange.tcp_facts import WindowStall
from kdiag.pcap.decoder import CaptureDecoder, Item
from kdiag.pcap.files.capture_facts import CaptureFacts
from kdiag.pcap.look_ahead import can_read_twice, learn_all_names
from kdiag.pcap.memory_budget import MemoryBudget
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.tcp.closed_windows import ClosedWindows
from kdiag.wire.records.compression import ALLOWANCE
from kdiag_cli.captures.account import CaptureAccount, account_of, port_hint
from kdiag_cli.captures.extract import CaptureExtract, start_extract
from kdiag_cli.captures.pipeline import ExchangePipeline
from kdiag_cli.captures.printer import Printer
from kdiag_cli.captures.source import (
    decoder_limits,
    note_disorder,
    note_late_packets,
    note_left_out,
    note_memory,
    note_repeats,
    open_traffic,
    read_keylogs,
    read_topic_ids,
)
from kdiag_cli.ending import close_quietly
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.interruption import Interruption, TimeUp, limited, timeout_text
from kdiag_cli.options.captures import CaptureInputs
from kdiag_cli.output.exchanges.text import protocol_text
from kdiag_cli.output.progress import ReadingProgress
from kdiag_cli.output.terminal import say

if TYPE_CHECKING:
    from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
    from kdiag.diagnosis.rebalance.model import GroupHistory
    from kdiag.findings.finding import Finding  # which loads all rules
    from kdiag.pcap.writer.extract import ExtractCounts  # 10 ms, for one option

_ALL = Selection()
_CLEANUP_NS: Final = 5 * NS_PER_S
"""How long after its time a command may remove the tables that it has made."""
_FOLLOWED_SHARE: Final = 4
"""Of the budget of memory, for the facts of TCP on connections that have ended."""
_MALLOC_SETTINGS: Final = {-1: 32 << 20, -3: 4 << 20}
"""By their numbers in <malloc.h>: M_TRIM_THRESHOLD and M_MMAP_THRESHOLD."""


def run_on_captures(work: Callable[[], ExitCode], timeout_ns: int | None = None) -> ExitCode:
    """Run the work of a command that reads captures; return the exit code of the program.

    Errors of captures and questions go to stderr; the reader of stdout may go away.

    Args:
        work: prints its results and returns the exit code.
        timeout_ns: the longest it may take, as for `limited`.
    """

    def report_timeout() -> ExitCode:
        say(timeout_text(timeout_ns))
        return ExitCode.TIMEOUT

    try:
        with limited(timeout_ns, report_timeout, _CLEANUP_NS):
            return copy_context().run(work)  # `ALLOWANCE` is limited for this run alone
    except (CaptureError, ConfigError, ReportError) as error:
        say(*str(error).splitlines())
        return ExitCode.USAGE
    except TimeUp:
        return report_timeout()
    except BrokenPipeError:
        close_quietly()
        return ExitCode.DONE
    except KeyboardInterrupt:
        return ExitCode.INTERRUPTED


def _keep_freed_memory() -> None:
    """Have glibc keep what is freed for the next packets, which take as much as the last.

    By itself it gives it back to the kernel, which then has to clear every page anew.
    """
    if sys.platform == "linux":
        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)  # musl has none
        if mallopt is not None:
            for setting, value in _MALLOC_SETTINGS.items():
                mallopt(setting, value)


class CaptureResult(NamedTuple):
    """The counts of a reading, and how it ended.

    Attributes:
        summary: of the exchanges that were chosen.
        totals: of the captures.
        account: of their packets.
        exchange_count: how many exchanges there are, chosen or not.
        is_interrupted: whether Ctrl-C ended the reading.
        is_partial: whether bytes are missing, malformed or cut.
        absence: that the options choose none of the exchanges, and what there is; None otherwise.
        findings: what the connections and exchanges that were chosen prove.
        rebalances: how many groups rebalanced for each cause, if that was to be counted.
        groups: how often each group rebalanced, likewise.
    """

    summary: Summary
    totals: Totals
    account: CaptureAccount
    exchange_count: int
    is_interrupted: bool
    is_partial: bool
    absence: str | None = None
    findings: "Sequence[Finding]" = ()
    rebalances: Mapping[str, int] = {}
    groups: Mapping[str, int] = {}

    @property
    def exit_code(self) -> ExitCode:
        """Return the exit code of a command that prints the whole result."""
        if self.is_interrupted:
            return ExitCode.INTERRUPTED
        return ExitCode.PARTIAL if self.is_partial else ExitCode.DONE

    def say_warnings(self) -> None:
        """Print on stderr what could not be read, and what was found if there is no Kafka."""
        say(*self.totals.warnings)
        if self.totals.closing_line:
            say(self.totals.closing_line)
        if self.exchange_count:
            if self.absence is not None:
                say(self.absence)
            return
        protocols = self.summary.protocols.most_common()
        found = ", ".join(f"{number} {protocol_text(each)}" for each, number in protocols)
        say(
            f"no {'readable ' if self.summary.protocols[Protocol.TLS] else ''}Kafka in "
            f"{count(self.totals.packets, 'packet')}, "
            f"{count(self.totals.connections, 'connection')}{f' ({found})' if found else ''}"
            f"{port_hint(self.summary)}"
        )


class CaptureReading:
    """Reads captures, or a live interface, once.

    Attributes:
        names: topic names by topic id; they grow while captures are read.
        brokers: node ids by address, which grow likewise.
    """

    def __init__(
        self, inputs: CaptureInputs, *, follows_tcp: bool = False, shows_secrets: bool = False
    ) -> None:
        """Open the inputs.

        Args:
            inputs: where packets come from.
            follows_tcp: whether connections get the facts of TCP.
            shows_secrets: whether secrets stay in an extract of the captures.

        Raises:
            CaptureError: an input cannot be read.
            typer.BadParameter: an extract cannot be made of these inputs.
        """
        _keep_freed_memory()
        self.names = TopicNames(read_topic_ids(inputs.topic_ids))
        self.brokers = BrokerIds()
        self._inputs = inputs
        self._traffic = open_traffic(inputs)
        self._keylog = read_keylogs(inputs.keylogs, self._traffic)
        limits = decoder_limits(inputs)
        self._decoder = CaptureDecoder(
            self._traffic.addresses,
            ports=inputs.ports,
            keylog=self._keylog,
            limits=limits,
        )
        self._budget = MemoryBudget(limits.max_memory_bytes)
        ALLOWANCE.limit(self._measure_room)
        if not inputs.each_interface:
            self._decoder.link_sightings()
        self._follows_tcp = follows_tcp
        if follows_tcp:
            self._decoder.follow_tcp()
        self._extract: CaptureExtract | None = None
        if inputs.write is not None and isinstance(self._traffic, CaptureReader):
            self._extract = start_extract(
                inputs, self._traffic, self._decoder, shows_secrets=shows_secrets
            )
        self._first_ns = self._last_ns = 0
        self._windows: ClosedWindows | None = None

    @property
    def files(self) -> Sequence[CaptureFacts]:
        """Return what was read of each capture; none of a live interface."""
        return self._traffic.files if isinstance(self._traffic, CaptureReader) else ()

    @property
    def first_ns(self) -> int | None:
        """Return the time of the first packet, since 1970; None if no file tells it beforehand."""
        return self._traffic.first_ns if isinstance(self._traffic, CaptureReader) else None

    def read(
        self,
        printer: Printer | None,
        selection: Selection = _ALL,
        *,
        after_batch: Callable[[], bool] = lambda: True,
        shows_progress: bool = True,
        judges_traffic: bool = False,
    ) -> CaptureResult:
        """Read everything, or up to Ctrl-C.

        Args:
            printer: receives what is chosen; None to count only.
            selection: which exchanges are chosen.
            after_batch: is called after each batch of packets; returns whether to go on.
            shows_progress: whether a person at a terminal sees how far the reading is.
            judges_traffic: whether rebalances are counted, and groups, clients and brokers judged.

        Raises:
            CaptureError: an input cannot be read.
        """
        look_ahead, may_wait = self._make_look_ahead(), self._inputs.live is None
        if self._extract is not None:
            printer = self._extract.watch(printer)
        pipeline = ExchangePipeline(self.names, selection, printer, look_ahead, may_wait=may_wait)
        most_followed = self._budget.max_bytes // _FOLLOWED_SHARE // FOLLOWED_BYTES
        pipeline.summary.tcp = LargestConnections(most_followed)
        pipeline.brokers = None if printer is None else self.brokers
        if judges_traffic:
            self._judge(pipeline, with_own=bool(selection.clients))
        progress = None
        if shows_progress and sys.stderr.isatty():
            progress = ReadingProgress(self._traffic.total_bytes)
        is_interrupted = self._read_into(pipeline, after_batch, progress)
        pipeline.finish()
        account = self.account()
        totals = self._totals(account)
        if pipeline.recorded.left_out:
            totals.warnings.append(f"faults left out: {pipeline.recorded.left_out:,}")
        if pipeline.traffic is not None and pipeline.traffic.left_out:
            why = "there are too many clients and partitions to judge each"
            totals.warnings.append(f"{why}; left out {pipeline.traffic.left_out:,} times")
        totals.warnings += note_left_out(pipeline.summary.tcp.left_out)
        is_partial = pipeline.is_partial or totals.gaps or totals.not_understood
        is_partial = is_partial or bool(self._traffic.warnings)
        histories = _histories(pipeline.groups)
        return CaptureResult(
            pipeline.summary,
            totals,
            account,
            self._decoder.counts.exchanges,
            is_interrupted,
            bool(is_partial) or account.is_partial(pipeline.summary),
            None if pipeline.alternatives.is_over else pipeline.alternatives.text(),
            _findings(
                pipeline,
                histories if selection.has_whole_groups else (),
                [] if self._windows is None else self._windows.finish(self._last_ns),
            ),
            *_count_rebalances(histories),
        )

    def _judge(self, pipeline: ExchangePipeline, *, with_own: bool) -> None:
        """Have rebalances counted, and clients and brokers judged, kdiag itself if asked for."""
        from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents  # noqa: PLC0415 - 8 ms
        from kdiag.diagnosis.traffic.traffic import Traffic  # noqa: PLC0415 - as above

        pipeline.judge(Traffic(self.names, with_own=with_own), CaptureEvents(self.names.name))
        if not self._follows_tcp:
            self._windows = ClosedWindows(self._traffic.addresses)
        else:
            from kdiag.diagnosis.tcp.worst_connections import WorstConnections  # noqa: PLC0415 - as above

            pipeline.paths = WorstConnections()

    def _read_into(
        self,
        pipeline: ExchangePipeline,
        after_batch: Callable[[], bool],
        progress: ReadingProgress | None,
    ) -> bool:
        """Pass the captures through the pipeline; return whether that was interrupted."""
        is_interrupted = False
        try:
            with Interruption() as interruption:
                for batch in self._traffic.read_segments():
                    with interruption.postponed():
                        goes_on = self._pass_batch(batch, pipeline, after_batch)
                    if progress is not None:
                        progress.update(self._traffic.bytes_read)
                    if not goes_on:
                        return False
        except KeyboardInterrupt:
            is_interrupted = True
        finally:
            if progress is not None:
                progress.clear()
        self._pass_on(self._decoder.finish(), pipeline)
        after_batch()
        return is_interrupted

    @property
    def live_counts(self) -> tuple[int, int, int, int]:
        """Return packets, exchanges, connections and what the kernel dropped, so far."""
        counts, traffic = self._decoder.counts, self._traffic
        dropped = 0 if isinstance(traffic, CaptureReader) else traffic.dropped
        return traffic.packets, counts.exchanges, counts.connections, dropped

    def write_extract(self) -> "ExtractCounts | None":
        """Write the packets of the chosen connections; return the counts of what was written.

        Returns:
            None if nobody asked for that.

        Raises:
            CaptureError: the file cannot be written.
        """
        return None if self._extract is None else self._extract.write()

    def _measure_room(self) -> int:
        """Return how much decompressed bytes may take: their pieces, when joined, take it twice."""
        return self._budget.room_bytes(self._decoder.all_flows()) // 2

    def _pass_batch(
        self, batch: SegmentBatch, pipeline: ExchangePipeline, after_batch: Callable[[], bool]
    ) -> bool:
        """Pass a batch of packets through the pipeline; return whether to go on."""
        self._note_times(batch)
        if self._windows is not None:
            self._windows.add(batch)
        self._keylog.add_secrets(self._traffic.secrets)
        for part in self._decoder.parts(batch):
            self._pass_on(self._decoder.feed(part), pipeline)
        return after_batch()

    def _pass_on(self, items: list[Item], pipeline: ExchangePipeline) -> None:
        if self._extract is not None:
            self._extract.note(items)
        pipeline.add(items)

    def _make_look_ahead(self) -> Callable[[], None] | None:
        inputs = self._inputs
        if not inputs.files or not can_read_twice(inputs.files):
            return None
        return lambda: learn_all_names(
            self.names,
            inputs.files,
            ports=inputs.ports,
            keylog=self._keylog,
            tunnel_ports=inputs.tunnel_ports,
        )

    def _note_times(self, batch: SegmentBatch) -> None:
        if len(batch.time_ns):
            first_ns, last_ns = int(batch.time_ns.min()), int(batch.time_ns.max())
            self._first_ns = min(self._first_ns or first_ns, first_ns)
            self._last_ns = max(self._last_ns, last_ns)

    def account(self) -> CaptureAccount:
        """Return what became of the packets so far."""
        return account_of(self._traffic, self._decoder.counts, self._keylog)

    def _totals(self, account: CaptureAccount) -> Totals:
        counts, traffic = self._decoder.counts, self._traffic
        return Totals(
            packets=traffic.packets,
            bytes=traffic.index.bytes,
            first_ns=self._first_ns,
            last_ns=self._last_ns,
            connections=counts.connections,
            sightings=counts.sightings,
            duplicates=counts.duplicates,
            gaps=counts.gaps,
            gap_bytes=counts.gap_bytes,
            not_understood=counts.not_understood,
            not_understood_bytes=counts.not_understood_bytes,
            warnings=[
                *map(str, traffic.warnings),
                *note_repeats(traffic),
                *note_late_packets(traffic),
                *note_disorder(counts),
                *note_memory(counts),
                *account.warnings(),
            ],
            capture=account.document(),
            closing_line=account.closing_line(),
        )


def _findings(
    pipeline: ExchangePipeline,
    histories: "Sequence[GroupHistory]",
    stalls: Sequence[WindowStall],
) -> "list[Finding]":
    """Return all findings, the worst first."""
    findings = pipeline.recorded.findings()
    if stalls:
        from kdiag.diagnosis.tcp.findings import closed_windows  # noqa: PLC0415 - 5 ms

        findings += closed_windows(stalls, pipeline.summary.brokers)
    if pipeline.traffic is not None:
        findings += pipeline.traffic.findings()
    if pipeline.paths is not None:
        findings += pipeline.paths.findings()
    if histories:
        from kdiag.diagnosis.rebalance import findings as of_groups  # noqa: PLC0415 - 12 ms

        findings = of_groups.joined(findings, of_groups.find_all(histories))
    if not findings:
        return findings
    from kdiag.findings.finding import by_harm  # noqa: PLC0415 - 30 ms: all rules

    return by_harm(findings)


def _histories(groups: "CaptureEvents | None") -> "list[GroupHistory]":
    """Return the histories of all groups, if these were to be followed."""
    events = [] if groups is None else groups.in_order()
    if not events:
        return []
    from kdiag.diagnosis.rebalance.histories import histories_of  # noqa: PLC0415 - 12 ms

    return histories_of(events, "capture")


def _count_rebalances(
    histories: "Sequence[GroupHistory]",
) -> tuple[dict[str, int], dict[str, int]]:
    """Return how many rebalances there were by cause, and by group, the commonest first."""
    causes = (str(each.cause.cause) for history in histories for each in history.rebalances)
    by_group = {
        f"{history.group}{history.cluster_text}": len(history.rebalances) for history in histories
    }
    return dict(Counter(causes).most_common()), dict(Counter(by_group).most_common())
