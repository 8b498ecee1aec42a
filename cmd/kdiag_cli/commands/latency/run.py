"""The run of `kdiag latency`: measures, prints and judges.

Whatever ends it, the measurements are printed once kdiag's own topic and group are removed.
"""

import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.configured_client import configured_client
from kdiag.client.fetch.session import require_record_batches
from kdiag.clock import SteadyClock
from kdiag.diagnosis.latency.findings import JudgedSeries, NodeLatency, find
from kdiag.diagnosis.latency.histogram import LatencyHistogram
from kdiag.errors import AuthorizationError, KdiagError, ProbeError
from kdiag.findings.finding import Finding
from kdiag.probe.latency.commit import ProbeGroup, probe_group
from kdiag.probe.latency.measure import measure
from kdiag.probe.latency.plan import LatencyTarget
from kdiag.probe.latency.results import LatencyResults, NodeShare, Series, SeriesKind
from kdiag.probe.latency.target import chosen_nodes, existing_target, own_target
from kdiag.probe.reach import require_reachable
from kdiag.probe.topic import CLEANUP_NS
from kdiag_cli.commands.latency.document import document, failures, lacking, name_of, unknown
from kdiag_cli.commands.latency.options import LatencyOptions
from kdiag_cli.commands.latency.page import write_latency_page
from kdiag_cli.commands.latency.text import print_results
from kdiag_cli.ending import left_on_cluster
from kdiag_cli.exit_code import ExitCode, exit_code_of
from kdiag_cli.live.run import run_live
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions, client_config
from kdiag_cli.output.pages.html_page import require_drawer
from kdiag_cli.output.progress import StepProgress
from kdiag_cli.output.result import CommandResult, print_result
from kdiag_cli.output.terminal import can_write_over

COMMAND: Final = "latency"

_IN_FLIGHT: Final = "max.in.flight.requests.per.connection"
_MOST_IN_FLIGHT: Final = 1000


def run(options: LatencyOptions, live: LiveOptions) -> ExitCode:
    """Measure and print; return the exit code of the program.

    It keeps the time limit itself: an alarm while topic and group are removed would leave them.
    """
    timeout_ns = live.timeout_ns
    return run_live(
        _LatencyRun(options, live).run,
        None if timeout_ns is None else timeout_ns + CLEANUP_NS,
        command=COMMAND,
        output=live.output,
        cleanup_ns=CLEANUP_NS,
    )


class _LatencyRun:
    """One run of the command."""

    def __init__(self, options: LatencyOptions, live: LiveOptions) -> None:
        self._options = options
        self._live = live
        self._clock = SteadyClock()
        self._results = LatencyResults()

    def run(self) -> ExitCode:
        """Measure and print.

        Raises:
            KdiagError: if nothing could be measured.
        """
        LatencyHistogram()  # fails without its library, before anything is created
        if self._options.html is not None:
            require_drawer()
        try:
            self._measure()
        except KeyboardInterrupt:
            if self._results.has_latencies:
                self._print()
            raise
        except KdiagError as error:
            if not self._results.has_latencies:
                raise
            self._results.fail(error)
            self._results.warn(str(error))
        return self._print()

    def _measure(self) -> None:
        live = _with_room(self._live)
        with live_session(live, self._clock) as client, self._target(client) as place:
            if (
                self._live.timeout_ns is not None
            ):  # so that there is time left to report and to clean up
                now_ns = self._clock.monotonic_ns()
                client.deadline_ns = now_ns + (client.deadline_ns - now_ns) * 8 // 10
            target, group = place
            progress = StepProgress()
            on_time = progress.update if can_write_over(sys.stderr) else None
            try:
                measure(
                    client, target, self._options.plan, self._results, group=group, on_time=on_time
                )
            finally:
                progress.clear()

    @contextmanager
    def _target(self, client: ClusterClient) -> Iterator[tuple[LatencyTarget, ProbeGroup | None]]:
        """Yield the topic to use, and the group that commits in it."""
        require_record_batches(client)
        nodes = chosen_nodes(client, self._options.brokers)
        require_reachable(client, nodes)
        with ExitStack() as opened:
            if not self._options.writes:
                assert self._options.topic is not None
                yield existing_target(client, self._options.topic, frozenset(nodes)), None
                return
            admin = configured_client(client_config(self._live), self._clock)
            opened.enter_context(admin)
            admin.deadline_ns = client.deadline_ns
            admin.connect()
            left = opened.enter_context(left_on_cluster())
            if self._options.topic is None:
                target = opened.enter_context(own_target(admin, nodes))
                left.append(f"topic {target.topic}")
            else:
                target = existing_target(client, self._options.topic, frozenset(nodes))
            group = self._group(admin, opened) if self._options.is_end_to_end else None
            if group is not None:
                left.append(f"group {group.name}")
            yield target, group

    def _group(self, admin: ClusterClient, opened: ExitStack) -> ProbeGroup | None:
        """Return the group, if this user may create one."""
        try:
            return opened.enter_context(probe_group(admin))
        except (AuthorizationError, ProbeError) as error:
            self._results.warn(f"offsets are not committed: {error}")
            return None

    def _print(self) -> ExitCode:
        """Print what was measured; return the exit code."""
        results = self._results
        series = [each for each in results.series.values() if _counts(each)]
        findings = list(find([_judged(each, results.unanswered) for each in series]))
        for each in [*failures(results), *unknown(results), *lacking(results)]:
            results.warn(each)
        if results.is_late:
            results.warn("the time was up before everything was measured (--timeout)")
        result = CommandResult(
            COMMAND,
            partial(document, results),
            partial(print_results, results=results, has_headers=self._options.has_headers),
            results.warnings,
            findings,
        )
        print_result(result, self._live.output, is_wide=self._live.is_wide)
        if self._options.html is not None:
            write_latency_page(self._options.html, results)
        return self._exit_code(findings)

    def _exit_code(self, findings: list[Finding]) -> ExitCode:
        results = self._results
        problems: list[KdiagError | str | ExitCode] = []
        if results.is_late:
            problems.append(ExitCode.TIMEOUT)
        if not results.has_latencies:
            problems += results.problems.values()
        is_partial = results.has_errors
        return exit_code_of(problems, findings, self._options.fail_on, is_partial=is_partial)


def _with_room(live: LiveOptions) -> LiveOptions:
    """Return options with which requests do not wait for others, unless a setting says so.

    A client has five in flight by default, which are used up at 25 requests a second to a broker
    that takes 200 ms; further requests would wait, and the latencies be those of a queue.
    """
    if client_config(live).values.setting(_IN_FLIGHT) is not None:
        return live
    return live._replace(properties=[*(live.properties or ()), f"{_IN_FLIGHT}={_MOST_IN_FLIGHT}"])


def _counts(series: Series) -> bool:
    """Return whether a series shows something that no other series shows."""
    return bool(series.latencies.count) and series.kind is not SeriesKind.COMMITTED


def _judged(series: Series, unanswered: Mapping[int, Sequence[int]]) -> JudgedSeries:
    """Return a series as the diagnosis judges it."""
    median = series.latencies.percentile(0.5).split
    nodes = {
        node: NodeLatency(share.count, share.mean, [*share.sample.values_ns, *waited])
        for node in sorted({*series.nodes, *unanswered})
        for share, waited in [(series.nodes.get(node, NodeShare()), unanswered.get(node, ()))]
    }
    return JudgedSeries(name_of(series), median, series.stalls.stalls(), nodes)
