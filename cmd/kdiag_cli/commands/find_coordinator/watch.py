"""`kdiag find-coordinator --watch`: asks again and again, and prints what changes.

17:04:11.204  orders  coordinator is broker 2 at kafka-2:9092
17:05:40.911  orders  no coordinator: COORDINATOR_NOT_AVAILABLE
17:05:44.014  orders  coordinator is broker 3 at kafka-3:9092, after 3.1 s without
"""

from typing import Any

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_S, Clock
from kdiag.diagnosis.coordinator import BrokerAnswer, CoordinatorReport, report_on
from kdiag.diagnosis.coordinator_changes import changes as changes_between
from kdiag.errors import KdiagError
from kdiag.exchange.documents.document import Clockface, moment_of
from kdiag.probe.coordinator.search import find_coordinators
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag_cli.commands.find_coordinator.options import (
    COMMAND,
    FindCoordinatorOptions,
    all_names,
    keys_of,
)
from kdiag_cli.commands.find_coordinator.text import document
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.live.session import live_session
from kdiag_cli.options.live import LiveOptions
from kdiag_cli.output.json_text import print_json
from kdiag_cli.output.result import SCHEMA, ResultFormat, encode
from kdiag_cli.output.terminal import BOLD, DIM, Output, harmless, print_paragraph, say


def watch(options: FindCoordinatorOptions, live: LiveOptions) -> ExitCode:
    """Print the state, then every change, until `--count` or Ctrl-C."""
    names = all_names(options.names)
    output = Output()
    output.is_prompt = True
    with live_session(live) as client:
        keys = keys_of(client, options.kind, names)
        changes = _ChangePrinter(output, client.clock, is_json=live.output is ResultFormat.JSON)
        look = 0
        while options.looks is None or look < options.looks:
            if look:
                client.wait(options.interval_ns)
            look += 1
            _look(client, options.kind, keys, changes)
    return ExitCode.DONE


def _look(
    client: ClusterClient, kind: CoordinatorKind, keys: list[str], changes: "_ChangePrinter"
) -> None:
    """Ask once; that nobody can be asked is reported, and does not end the watch."""
    try:
        facts = find_coordinators(client, keys, kind, patience_ns=0)
    except KdiagError as error:
        say(str(error))
        return
    for key in keys:
        changes.add(report_on(key, facts))


class _ChangePrinter:
    """Prints what is different from the look before, a line each."""

    def __init__(self, output: Output, clock: Clock, *, is_json: bool) -> None:
        self._output = output
        self._clock = clock
        self._is_json = is_json
        self._last: dict[str, CoordinatorReport] = {}
        self._lost_ns: dict[str, int] = {}

    def add(self, report: CoordinatorReport) -> None:
        """Print how a report differs from the last of its key."""
        before = self._last.get(report.key)
        self._last[report.key] = report
        texts = changes_between(before or _nothing_known(report), report)
        texts = self._with_outage(report, texts)
        if not texts and before is not None:
            return
        if self._is_json:
            self._print_document(report, texts)
        else:
            self._print_lines(report, texts)
        self._output.flush()

    def _with_outage(self, report: CoordinatorReport, texts: list[str]) -> list[str]:
        """Add to a coordinator that is back how long there was none that could be used."""
        now_ns = self._clock.monotonic_ns()
        if report.coordinator is None or not report.reachable:
            self._lost_ns.setdefault(report.key, now_ns)
            return texts
        lost_ns = self._lost_ns.pop(report.key, None)
        if lost_ns is None or not texts:
            return texts
        without_s = (now_ns - lost_ns) / NS_PER_S
        return [f"{texts[0]}, after {without_s:.1f} s without", *texts[1:]]

    def _print_document(self, report: CoordinatorReport, texts: list[str]) -> None:
        line: dict[str, Any] = {
            "schema": SCHEMA,
            "command": COMMAND,
            "time": Clockface().text(self._clock.epoch_ns()),
            "changes": texts,
            **document(report),
        }
        print_json(self._output, encode(line), is_line=True)

    def _print_lines(self, report: CoordinatorReport, texts: list[str]) -> None:
        seconds, rest_ns = divmod(self._clock.epoch_ns(), NS_PER_S)
        time = f"{moment_of(seconds):%H:%M:%S}.{rest_ns // 1_000_000:03}"
        paint = self._output.paint
        for text in texts:
            key = paint(harmless(report.key), BOLD)
            print_paragraph(self._output, f"{paint(time, DIM)}  {key}  {harmless(text)}")


def _nothing_known(report: CoordinatorReport) -> CoordinatorReport:
    """Return a report that knows nothing, so that the first look prints everything."""
    return CoordinatorReport(
        key=report.key,
        kind=report.kind,
        coordinator=None,
        error=None,
        message=None,
        partition=None,
        answers=[BrokerAnswer(node_id=each.node_id) for each in report.answers],
        reachable=False,
        why_unreachable=None,
        group=None,
    )
