import subprocess
import sys

import pytest

from kdiag.clock import ManualClock
from kdiag_cli.output.progress import LiveStatus, ReadingProgress, StepProgress
from kdiag_cli.output.terminal import columns_of
from programs.kdiag_program import Screen

SECOND_NS = 1_000_000_000
CLEAR = "\r\x1b[K"


def terminal(monkeypatch: pytest.MonkeyPatch, width: int = 80) -> Screen:
    """Return a terminal without colours, which is stderr."""
    screen = Screen(is_terminal=True)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", str(width))
    return screen


def written(screen: Screen) -> list[str]:
    """Return the lines that were written over each other."""
    return screen.text.split(CLEAR)[1:]


def test_progress_is_silent_for_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """Small captures are read before anybody wonders."""
    screen = terminal(monkeypatch)
    clock = ManualClock()
    progress = ReadingProgress(10_000_000, clock)

    progress.update(1_000_000)
    clock.advance(SECOND_NS - 1)
    progress.update(2_000_000)
    progress.clear()

    assert written(screen) == []


def test_progress_is_rewritten_five_times_a_second(monkeypatch: pytest.MonkeyPatch) -> None:
    """The line is cleared before it is written again, and no line feed is sent."""
    screen = terminal(monkeypatch)
    clock = ManualClock()
    progress = ReadingProgress(10_000_000, clock)
    clock.advance(SECOND_NS)

    progress.update(2_000_000)
    progress.update(2_500_000)
    clock.advance(SECOND_NS // 5)
    progress.update(3_000_000)

    first, second = written(screen)
    assert " 20% 2.0/10.0 MB " in first
    assert second.endswith(" 30% 3.0/10.0 MB 5.0 MB/s 0:00:02")
    assert "\n" not in first + second


def test_progress_leaves_nothing_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Clearing it twice is clearing it once."""
    screen = terminal(monkeypatch)
    clock = ManualClock()
    progress = ReadingProgress(None, clock)
    clock.advance(SECOND_NS)
    progress.update(1)

    progress.clear()
    progress.clear()

    assert written(screen)[1:] == [""]


def test_progress_through_a_pipe_knows_no_end(monkeypatch: pytest.MonkeyPatch) -> None:
    """How much is left is told only where the size is known."""
    screen = terminal(monkeypatch)
    clock = ManualClock()
    progress = ReadingProgress(None, clock)
    for read in (4_000_000, 5_000_000):
        clock.advance(SECOND_NS)
        progress.update(read)

    assert written(screen)[-1].endswith(" 5.0/? MB 1.0 MB/s")
    assert "%" not in written(screen)[-1]


@pytest.mark.parametrize("bytes_read", [0, 10, 20])
def test_progress_of_nothing_or_too_much_is_no_error(
    bytes_read: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """More than all is all."""
    screen = terminal(monkeypatch)
    clock = ManualClock()
    progress = ReadingProgress(10, clock)
    clock.advance(SECOND_NS)

    progress.update(bytes_read)

    assert "200%" not in written(screen)[0]
    assert f"{bytes_read * 10 if bytes_read < 20 else 100}%" in written(screen)[0]


@pytest.mark.parametrize("width", [20, 40, 80, 200])
def test_progress_is_never_wider_than_the_terminal(
    width: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It would leave a line behind each time."""
    screen = terminal(monkeypatch, width)
    clock = ManualClock()
    reading, steps = ReadingProgress(10_000_000_000, clock), StepProgress(clock)
    for part in range(5):
        clock.advance(SECOND_NS)
        reading.update(part * 1_000_000_000)
        steps.update("broker 1, run 3 of 24: produce, buffers " + "注文" * 40, part / 4)

    assert len(written(screen)) == 10
    assert max(map(columns_of, written(screen))) < width


def test_a_step_is_told_at_once_with_its_part(monkeypatch: pytest.MonkeyPatch) -> None:
    """From none to all of it."""
    screen = terminal(monkeypatch)
    clock = ManualClock()
    progress = StepProgress(clock)

    progress.update("produce acks=1", -0.1)
    progress.update("produce acks=1", 0.5)
    clock.advance(SECOND_NS)
    progress.update("produce \x1b[2J", 1.5)
    progress.clear()

    assert written(screen) == ["  0%, produce acks=1", "100%, produce \\x1b[2J", ""]


@pytest.mark.parametrize("term", ["dumb", None])
def test_there_is_no_progress_where_nothing_can_be_written_over(
    term: str | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Neither in a pipe nor on a terminal that knows nothing but lines."""
    screen = Screen(is_terminal=term is not None)
    monkeypatch.setattr(sys, "stderr", screen)
    monkeypatch.setenv("TERM", term or "xterm")
    clock = ManualClock()
    reading, steps = ReadingProgress(10, clock), StepProgress(clock)
    clock.advance(SECOND_NS)

    reading.update(5)
    steps.update("produce", 0.5)
    reading.clear()

    assert written(screen) == []


@pytest.mark.thorough
def test_a_pipe_pays_nothing_for_progress() -> None:
    """Nothing of rich is loaded, however long it takes."""
    program = (
        "import sys\n"
        "from kdiag.clock import ManualClock\n"
        "from kdiag_cli.output.progress import ReadingProgress\n"
        "clock = ManualClock()\n"
        "progress = ReadingProgress(10, clock)\n"
        "clock.advance(10**10)\n"
        "progress.update(5)\n"
        "progress.clear()\n"
        "print([name for name in sys.modules if name.startswith('rich')])\n"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=True)

    assert (done.stdout, done.stderr) == (b"[]\n", b"")


def test_the_clock_of_the_machine_is_the_one_that_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Without another one nothing is shown right after the start."""
    screen = terminal(monkeypatch)
    ReadingProgress(1).update(1)

    assert written(screen) == []


def test_the_status_of_an_interface_stays_below_the_lines(monkeypatch: pytest.MonkeyPatch) -> None:
    """Lines remove it, and it comes back at once; it changes five times a second."""
    screen = terminal(monkeypatch)
    clock = ManualClock()
    status = LiveStatus(clock)

    status.update(1, 0, 1, 0)
    status.update(1_500, 7, 2, 0)
    status.clear()
    status.update(1_600, 8, 2, 0)
    clock.advance(62 * SECOND_NS)
    status.update(2_000, 9, 2, 3)
    status.clear()

    assert written(screen) == [
        "live 0:00  1 packet, 1 connection, 0 exchanges",
        "",
        "live 0:00  1 packet, 1 connection, 0 exchanges",
        "live 1:02  2,000 packets, 2 connections, 9 exchanges, 3 dropped by the kernel",
        "",
    ]
