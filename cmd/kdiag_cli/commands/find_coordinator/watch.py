"""`kdiag find-coordinator --watch`: asks again and again, and prints what changes.

17:04:11.204  orders  coordinator is broker 2 at kafka-2:9092
17:05:40.911  orders  broker 2 cannot be used: no answer within 1.0 s
17:05:49.014  orders  coordinator is broker 3 at kafka-3:9092, was broker 2, after 9.1 s without

A look never waits long for a broker that hangs: about a second for one that has answered the look
before, half of it for one that has not. While there is no coordinator, looks follow one another
sooner, so that the end of the outage is seen as exactly as its beginning: the start of the first
look that failed.
"""

from typing import Any, Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_S, Clock
from kdiag.diagnosis.coordinator import BrokerAnswer, CoordinatorReport, report_on
from kdiag.diagnosis.coordinator_changes import changes as changes_between
from kdiag.diagnosis.coordinator_changes import known_after
from kdiag.exchange.documents.document import Clockface
from kdiag.exchange.line.shown_time import ZoneNotice, time_of_day, zone_suffix
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
from kdiag_cli.output.terminal import BOLD, DIM, Output, harmless, print_paragraph

_SHORT_BACKOFF: Final = "reconnect.backoff.max.ms=200"
"""A broker that is back is to be seen at once; a setting of the user's counts more."""

_FIRST_ROUND_NS: Final = 2 * NS_PER_S
"""How long the first look may wait for a broker, with all its connections to make."""

_MOST_ROUND_NS: Final = 7 * NS_PER_S // 4
"""How long others may at the most: with a second between looks, a loss is reported within three."""

_ROUND_NS: Final = NS_PER_S
_SILENT_ROUND_NS: Final = NS_PER_S // 2
_TRIPS: Final = 6
"""So many round trips it takes to connect with TLS and SASL, and to ask."""

_HURRY_NS: Final = NS_PER_S // 4
"""How long to wait between two looks while a coordinator is lost: longer than the backoff, or the
next look would find no connection."""


def watch(options: FindCoordinatorOptions, live: LiveOptions) -> ExitCode:
    """Print the state, then every change, until `--count` or Ctrl-C."""
    names = all_names(options.names)
    output = Output()
    output.is_prompt = True
    impatient = live._replace(properties=[_SHORT_BACKOFF, *(live.properties or [])])
    with live_session(impatient, is_endless=True) as client:
        keys = keys_of(client, options.kind, names)
        changes = _ChangePrinter(output, client.clock, is_json=live.output is ResultFormat.JSON)
        looks = _Looks(client, options.kind, keys)
        while True:
            began_ns = client.clock.monotonic_ns()
            for report in looks.look():
                changes.add(report, began_ns)
            if options.looks is not None and looks.count >= options.looks:
                return ExitCode.DONE
            least_ns = _HURRY_NS if looks.is_any_silent else 0
            client.wait(_HURRY_NS if changes.is_any_lost else max(options.interval_ns, least_ns))


class _Looks:
    """Looks at coordinators, each time as patiently as the brokers deserve.

    Attributes:
        count: how many looks there were.
        is_any_silent: whether a broker did not answer the last of them.
    """

    def __init__(self, client: ClusterClient, kind: CoordinatorKind, keys: list[str]) -> None:
        self.count = 0
        self.is_any_silent = False
        self._client = client
        self._kind = kind
        self._keys = keys
        self._round_ns = _FIRST_ROUND_NS
        self._rtt_ns = 0

    def look(self) -> list[CoordinatorReport]:
        """Ask once; that nobody answers is a report, too."""
        self.count += 1
        facts = find_coordinators(
            self._client, self._keys, self._kind, patience_ns=0, round_ns=self._round_ns
        )
        reports = [report_on(key, facts) for key in self._keys]
        answers = [answer for report in reports for answer in report.answers]
        times_ns = [each.rtt_ns for each in answers if each.rtt_ns is not None]
        self._rtt_ns = max([self._rtt_ns * 7 // 8, *times_ns])
        self.is_any_silent = any(each.failure is not None for each in answers)
        least_ns = _SILENT_ROUND_NS if self.is_any_silent else _ROUND_NS
        self._round_ns = min(least_ns + _TRIPS * self._rtt_ns, _MOST_ROUND_NS)
        return reports


class _ChangePrinter:
    """Prints what is different from the look before, a line each."""

    def __init__(self, output: Output, clock: Clock, *, is_json: bool) -> None:
        self._output = output
        self._clock = clock
        self._is_json = is_json
        self._zone = ZoneNotice()
        self._last: dict[str, CoordinatorReport] = {}
        self._lost_ns: dict[str, int] = {}

    @property
    def is_any_lost(self) -> bool:
        """Return whether a coordinator is lost at the moment."""
        return bool(self._lost_ns)

    def add(self, report: CoordinatorReport, began_ns: int) -> None:
        """Print how a report differs from the last of its key.

        Args:
            report: of a look.
            began_ns: when the look began, on the monotonic clock.
        """
        before = self._last.get(report.key)
        self._last[report.key] = known_after(before, report)
        texts = changes_between(before or _nothing_known(report), report)
        texts = self._with_outage(report, texts, began_ns)
        if not texts and before is not None:
            return
        if self._is_json:
            self._print_document(report, texts)
        else:
            self._print_lines(report, texts)
        self._output.flush()

    def _with_outage(self, report: CoordinatorReport, texts: list[str], began_ns: int) -> list[str]:
        """Add to a coordinator that is back how long there was none that could be used."""
        if report.coordinator is None or not report.reachable:
            self._lost_ns.setdefault(report.key, began_ns)
            return texts
        lost_ns = self._lost_ns.pop(report.key, None)
        if lost_ns is None or not texts:
            return texts
        without_s = (self._clock.monotonic_ns() - lost_ns) / NS_PER_S
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
        now_ns = self._clock.epoch_ns()
        time, paint = time_of_day(now_ns), self._output.paint
        if not self._output.is_terminal:
            time += zone_suffix(now_ns)
        elif notice := self._zone.due(now_ns):
            self._output.line(paint(notice, DIM))
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
        is_group_known=False,
    )
