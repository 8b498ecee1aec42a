"""`kdiag rebalance watch --live`: packets of an interface become rebalances, as they happen.

On a broker every member of its groups is seen, on a client's machine the members there. The state
machines are those of `kdiag rebalance explain`, so the verdicts are the same. They are made anew of
all that was seen, for packets may come in any order; but only where something new was said of a
group, at most twice a second, and so seldom that it takes a twentieth of the time:

    10,000 rebalances seen    a look takes 0.4 s      the next one comes after 8 s
    quiet heartbeats                                  no look
"""

from collections.abc import Collection
from typing import Final

from kdiag.clock import NS_PER_MS, Clock, SystemClock
from kdiag.diagnosis.rebalance.capture.capture_events import CaptureEvents
from kdiag.diagnosis.rebalance.histories import histories_of
from kdiag.diagnosis.rebalance.model import GroupHistory
from kdiag_cli.captures.reading import CaptureReading, run_on_captures
from kdiag_cli.commands.rebalance.fresh import FreshRebalances, RebalancePrinter
from kdiag_cli.commands.rebalance.sources import GroupEventsPrinter, missing_events
from kdiag_cli.exit_code import ExitCode
from kdiag_cli.options.captures import CaptureInputs
from kdiag_cli.output.result import ResultFormat
from kdiag_cli.output.terminal import harmless, say

_LOOK_NS: Final = 500 * NS_PER_MS
_PAUSES_PER_LOOK: Final = 19
"""How many times as long as a look nothing is made anew."""


def run(
    inputs: CaptureInputs, groups: Collection[str], most: int | None, form: ResultFormat
) -> ExitCode:
    """Print the rebalances that packets show, until `--count` or Ctrl-C; return the exit code.

    Args:
        inputs: the interface, or captures.
        groups: those to tell of; all if there are none.
        most: ends after so many rebalances; None for never.
        form: JSON, or for people.
    """
    return run_on_captures(lambda: _run(inputs, groups, most, form))


def _run(
    inputs: CaptureInputs, groups: Collection[str], most: int | None, form: ResultFormat
) -> ExitCode:
    reading = CaptureReading(inputs)
    events = CaptureEvents(reading.names.name)
    watched = PacketWatch(events, groups, RebalancePrinter(form), SystemClock(), most)
    if inputs.live is not None:
        say(f"watching the packets of {harmless(inputs.live)}")
    result = reading.read(
        GroupEventsPrinter(events), after_batch=watched.look, shows_progress=False
    )
    watched.end()
    say(*missing_events(events))
    result.say_warnings()
    is_enough = most is not None and watched.printer.count >= most
    return ExitCode.DONE if is_enough else result.exit_code


class PacketWatch:
    """Prints each rebalance once that the events so far show.

    Attributes:
        printer: what prints them.
    """

    def __init__(
        self,
        events: CaptureEvents,
        groups: Collection[str],
        printer: RebalancePrinter,
        clock: Clock,
        most: int | None,
    ) -> None:
        """Begin with nothing printed.

        Args:
            events: what packets tell; others add to it.
            groups: those to tell of; all if there are none.
            printer: what prints rebalances.
            clock: says when to look again.
            most: ends after so many rebalances; None for never.
        """
        self.printer = printer
        self._events = events
        self._groups = frozenset(groups)
        self._clock = clock
        self._most = most
        self._fresh = FreshRebalances()
        self._next_ns = 0
        self._revision: tuple[int, int] | None = None
        self._histories: list[GroupHistory] = []

    @property
    def _is_enough(self) -> bool:
        return self._most is not None and self.printer.count >= self._most

    def look(self) -> bool:
        """Print what is new, if it is time; return whether to go on."""
        now_ns = self._clock.monotonic_ns()
        if now_ns >= self._next_ns and not self._is_enough:
            self._print(now_ns)
            took_ns = self._clock.monotonic_ns() - now_ns
            self._next_ns = now_ns + took_ns + max(_LOOK_NS, _PAUSES_PER_LOOK * took_ns)
        return not self._is_enough

    def end(self) -> None:
        """Print what is still open: no more packets will come."""
        if not self._is_enough:
            self._print(None)

    def _print(self, now_ns: int | None) -> None:
        for history, each in self._fresh.take(self._seen_groups(), now_ns):
            if not self._is_enough:
                self.printer.add(history, each)
        self.printer.flush()

    def _seen_groups(self) -> list[GroupHistory]:
        """Return the groups as all packets so far tell of them."""
        if self._revision != self._events.revision:
            self._revision = self._events.revision
            found = histories_of(self._events.in_order(), "capture")
            wanted = self._groups
            self._histories = [each for each in found if not wanted or each.group in wanted]
        return self._histories
