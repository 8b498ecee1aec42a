"""Measures the timing wheel against a heap and against Python's `sched`, in turns.

    PYTHONPATH=tests/rig python tests/bench/lab/timers.py [--rounds 3]

adds 10**3 to 10**6 timers of up to a minute, cancels nine of ten, as a purgatory does, and has time
pass until the rest have run. Prints a Markdown table: the microseconds that each step takes for one
timer, the median of all rounds. A heap cannot remove what is cancelled: it is passed over when its
time comes.
"""

import argparse
import sched
import statistics
import sys
import time
from heapq import heappop, heappush
from random import Random
from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from kdiag.clock import NS_PER_MS, NS_PER_S, ManualClock
from kdiag.lab.timer.system_timer import SystemTimer
from kdiag.lab.timer.wheel import TimerTask

if TYPE_CHECKING:
    from collections.abc import Callable

COUNTS: Final = (1_000, 10_000, 100_000, 1_000_000)
SPAN_NS: Final = 60 * NS_PER_S
KEPT: Final = 10
STEP_NS: Final = 50 * NS_PER_MS


class Contender(Protocol):
    """A timer, as it is measured."""

    def add(self, delay_ns: int) -> object:
        """Add a timer that does nothing."""
        ...

    def cancel(self, timer: object) -> None:
        """Cancel it."""
        ...

    def run(self, now_ns: int) -> None:
        """Run what is due."""
        ...


class Wheel:
    """Ours."""

    def __init__(self) -> None:
        self._clock = ManualClock()
        self._timer = SystemTimer(self._clock)

    def add(self, delay_ns: int) -> object:
        """Add a timer."""
        return self._timer.add(delay_ns, nothing)

    def cancel(self, timer: object) -> None:
        """Cancel it."""
        assert isinstance(timer, TimerTask)
        timer.cancel()

    def run(self, now_ns: int) -> None:
        """Run what is due."""
        self._clock.advance(now_ns - self._clock.monotonic_ns())
        self._timer.advance()


class Heap:
    """A heap, with what is cancelled in it until its time."""

    def __init__(self) -> None:
        self._heap: list[tuple[int, int, list[Callable[[], None] | None]]] = []
        self._count = 0

    def add(self, delay_ns: int) -> object:
        """Add a timer."""
        self._count += 1
        entry: list[Callable[[], None] | None] = [nothing]
        heappush(self._heap, (delay_ns, self._count, entry))
        return entry

    def cancel(self, timer: object) -> None:
        """Cancel it."""
        assert isinstance(timer, list)
        timer[0] = None

    def run(self, now_ns: int) -> None:
        """Run what is due."""
        while self._heap and self._heap[0][0] <= now_ns:
            run = heappop(self._heap)[2][0]
            if run is not None:
                run()


class Scheduler:
    """Python's own."""

    def __init__(self) -> None:
        self._now_ns = 0
        self._scheduler = sched.scheduler(lambda: self._now_ns, lambda _: None)

    def add(self, delay_ns: int) -> object:
        """Add a timer."""
        return self._scheduler.enter(delay_ns, 0, nothing)

    def cancel(self, timer: object) -> None:
        """Cancel it."""
        assert isinstance(timer, sched.Event)
        self._scheduler.cancel(timer)

    def run(self, now_ns: int) -> None:
        """Run what is due."""
        self._now_ns = now_ns
        self._scheduler.run(blocking=False)


class Steps(NamedTuple):
    """The microseconds of each step for one timer."""

    insert: float
    cancel: float
    expire: float


def nothing() -> None:
    """Do nothing."""


def measure(timer: Contender, count: int) -> Steps:
    """Return what a timer takes."""
    random = Random(count)
    delays = [random.randrange(SPAN_NS) for _ in range(count)]
    began = time.perf_counter_ns()
    timers = [timer.add(delay_ns) for delay_ns in delays]
    added = time.perf_counter_ns()
    dropped = [each for number, each in enumerate(timers) if number % KEPT]
    chosen = time.perf_counter_ns()
    for each in dropped:
        timer.cancel(each)
    cancelled = time.perf_counter_ns()
    for now_ns in range(0, SPAN_NS + 2 * STEP_NS, STEP_NS):
        timer.run(now_ns)
    ended = time.perf_counter_ns()
    kept = count - len(dropped)
    return Steps(
        (added - began) / count / 1000,
        (cancelled - chosen) / len(dropped) / 1000,
        (ended - cancelled) / kept / 1000,
    )


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    rounds = parser.parse_args().rounds
    contenders: dict[str, Callable[[], Contender]] = {
        "timing wheel": Wheel,
        "heapq": Heap,
        "sched": Scheduler,
    }
    lines = ["| timers | | insert us | cancel us | expire us |", "|---|---|---|---|---|"]
    for count in COUNTS:
        found: dict[str, list[Steps]] = {name: [] for name in contenders}
        for _ in range(rounds):
            for name, make in contenders.items():
                if name == "sched" and count > COUNTS[1]:
                    continue  # it searches its list for each timer that is cancelled: hours
                found[name].append(measure(make(), count))
        for name, steps in found.items():
            cells = ["-"] * 3
            if steps:
                cells = [f"{statistics.median(each):.2f}" for each in zip(*steps, strict=True)]
            lines.append(f"| {count:,} | {name} | {' | '.join(cells)} |")
    sys.stdout.write("\n".join([*lines, ""]))


if __name__ == "__main__":
    main()
