"""The run of `kdiag tune-buffers -b`: measures the paths, proves what helps, and prints it.

Whatever ends it, the measurements are printed once kdiag's own topic is removed.
"""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from kdiag.client.channel_builder import channel_maker
from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.session import require_record_batches
from kdiag.clock import SystemClock
from kdiag.diagnosis.buffers.facts import BrokerPath, KernelLimits, LoadKind
from kdiag.diagnosis.buffers.findings import Measured
from kdiag.diagnosis.buffers.report import BufferReport, report
from kdiag.diagnosis.buffers.trials import size_text
from kdiag.diagnosis.connection_finding import connection_finding
from kdiag.errors import ConnectError, KdiagError
from kdiag.findings.finding import Finding
from kdiag.probe.buffers.load import Target
from kdiag.probe.buffers.path import look_at_paths, read_kernel_limits
from kdiag.probe.buffers.proof import Connector, Proof, ProofPlan, ProofProgress
from kdiag.probe.buffers.target import own_targets, own_topic, topic_targets
from kdiag.probe.topic import CLEANUP_NS, probe_topic
from kdiag_cli.commands.tune_buffers.document import document
from kdiag_cli.commands.tune_buffers.options import TuneBuffersOptions
from kdiag_cli.commands.tune_buffers.page import write_buffer_page
from kdiag_cli.commands.tune_buffers.text import print_reports
from kdiag_cli.ending import left_on_cluster
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.run import run_live
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions, client_config
from kdiag_cli.output.pages.html_page import require_drawer
from kdiag_cli.output.progress import StepProgress
from kdiag_cli.output.result import CommandResult, print_result

COMMAND: Final = "tune-buffers"


def run(options: TuneBuffersOptions, live: LiveOptions) -> ExitCode:
    """Measure, prove and print; return the exit code of the program."""
    return run_live(
        TuningRun(options, live).run,
        live.timeout_ns,
        command=COMMAND,
        output=live.output,
        cleanup_ns=CLEANUP_NS,
    )


class TuningRun:
    """One run of the command."""

    def __init__(self, options: TuneBuffersOptions, live: LiveOptions) -> None:
        self._options = options
        self._live = live
        self._limits = KernelLimits()
        self._paths: list[BrokerPath] = []
        self._proof: Proof | None = None
        self._warnings: list[str] = []
        self._problems: list[KdiagError | str | ExitCode] = []
        self._progress = StepProgress()

    def run(self) -> ExitCode:
        """Measure and print.

        Raises:
            KdiagError: if the cluster cannot be reached, or an option is wrong.
        """
        if self._options.html is not None:
            require_drawer()
        try:
            self._measure()
        except KeyboardInterrupt:
            if self._paths:
                self._warnings.append("interrupted: fewer runs than planned")
                self._print()
            raise
        return self._print()

    def _measure(self) -> None:
        clock = SystemClock()
        make_channel = channel_maker(client_config(self._live), clock)
        self._limits = read_kernel_limits()
        with live_session(self._live, clock) as client:
            if (
                self._live.timeout_ns is not None
            ):  # so that there is time left to report and to clean up
                client.deadline_ns = clock.monotonic_ns() + self._live.timeout_ns * 8 // 10
            self._paths = look_at_paths(client, self._options.rtt_ns)
            try:
                self._prove(client, Connector(client, make_channel))
            except KdiagError as error:
                self._problems.append(error)
                self._warnings.append(str(error))
            finally:
                self._progress.clear()

    def _prove(self, client: ClusterClient, connector: Connector) -> None:
        """Try the sizes on the paths where they can matter."""
        options = self._options
        paths = [each for each in self._paths if self._is_worth(each)]
        if not paths:
            return
        require_record_batches(client)
        if options.topic is None and options.reads_only:
            self._warnings.append("no proof: --read-only needs a --topic with records")
            return
        plan = ProofPlan(
            options.sizes,
            options.rounds,
            options.time_ns,
            options.max_bytes,
            options.bits_per_s,
            self._limits,
        )
        self._proof = Proof(connector, plan, self._report_step)
        if options.topic is not None:
            targets = topic_targets(client, options.topic, writes=options.writes_to_topic)
            self._try_all(paths, targets)
            return
        node_ids = [each.node_id for each in paths]
        with left_on_cluster() as left, probe_topic(client, own_topic(node_ids)) as topic:
            left.append(f"topic {topic.name}")
            self._try_all(paths, own_targets(client, topic, node_ids, self._proof.batch))

    def _try_all(self, paths: Sequence[BrokerPath], targets: Mapping[int, Target]) -> None:
        assert self._proof is not None
        for number, path in enumerate(paths):
            target = targets.get(path.node_id)
            if target is None:
                self._warnings.append(f"broker {path.node_id} leads no partition with records")
                continue
            self._proof.run(path, target, 1 / (len(paths) - number))
        if self._proof.why_ended is not None:
            self._warnings.append(f"fewer runs than planned: {self._proof.why_ended}")
        if self._proof.is_late:
            self._problems.append(ExitCode.TIMEOUT)

    def _report_step(self, progress: ProofProgress) -> None:
        """Show which run begins."""
        step = progress.step
        what = (
            size_text(step.size_bytes)
            if step.load is LoadKind.FULL
            else "kernel, client's defaults"
        )
        part = (progress.number - 1) / progress.total
        run = f"broker {progress.node_id}, run {progress.number} of {progress.total}"
        hint = "Ctrl-C ends it and prints what was measured"
        self._progress.update(f"{run}: {step.direction}, buffers {what} ({hint})", part)

    def _is_worth(self, path: BrokerPath) -> bool:
        """Return whether to try the sizes on a path."""
        if path.error is not None or path.rtt_ns is None or self._options.proves is False:
            return False
        return self._options.proves or not path.is_short

    def _print(self) -> ExitCode:
        """Print what was measured; return the exit code."""
        runs = {} if self._proof is None else self._proof.runs
        reports = [
            report(
                Measured(
                    path,
                    runs.get(path.node_id, ()),
                    self._limits,
                    self._options.bits_per_s,
                    self._options.sizes,
                )
            )
            for path in self._paths
        ]
        findings = [*self._unreached(), *(each for one in reports for each in one.findings)]
        result = CommandResult(
            COMMAND,
            lambda: [document(each) for each in reports],
            partial(print_reports, reports=reports, has_headers=self._options.has_headers),
            self._warnings,
            findings,
        )
        print_result(result, self._live.output, is_wide=self._live.is_wide)
        self._write_page(reports)
        errors = [each.error for each in self._paths if each.error is not None]
        if len(errors) == len(self._paths):
            self._problems += errors
        return exit_code_of(
            self._problems, findings, self._options.fail_on, is_partial=bool(errors)
        )

    def _unreached(self) -> list[Finding]:
        errors = (each.error for each in self._paths)
        return [connection_finding(each) for each in errors if isinstance(each, ConnectError)]

    def _write_page(self, reports: Sequence[BufferReport]) -> None:
        if self._options.html is not None:
            write_buffer_page(self._options.html, reports)
