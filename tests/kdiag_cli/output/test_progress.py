import pytest

from kdiag.clock import ManualClock
from kdiag_cli.output.progress import Progress

SECOND_NS = 1_000_000_000


def test_progress_is_silent_for_a_second(capsys: pytest.CaptureFixture[str]) -> None:
    """Small captures are read before anybody wonders."""
    clock = ManualClock()
    progress = Progress(10_000_000, clock)

    progress.update(1_000_000)
    clock.advance(SECOND_NS - 1)
    progress.update(2_000_000)
    progress.clear()

    assert capsys.readouterr().err == ""


def test_progress_is_rewritten_five_times_a_second(capsys: pytest.CaptureFixture[str]) -> None:
    """The line is cleared before it is written again, and no line feed is sent."""
    clock = ManualClock()
    progress = Progress(10_000_000, clock)
    clock.advance(SECOND_NS)

    progress.update(2_000_000)
    progress.update(2_500_000)
    clock.advance(SECOND_NS // 5)
    progress.update(3_000_000)

    said = capsys.readouterr()
    assert said.out == ""
    assert said.err.split("\r\x1b[K") == [
        "",
        " 20%, 2 MB read, 2 MB/s, 4 s left",
        " 30%, 3 MB read, 2 MB/s, 3 s left",
    ]


def test_progress_leaves_nothing_behind(capsys: pytest.CaptureFixture[str]) -> None:
    """Clearing it twice is clearing it once."""
    clock = ManualClock()
    progress = Progress(None, clock)
    clock.advance(SECOND_NS)
    progress.update(1)
    capsys.readouterr()

    progress.clear()
    progress.clear()

    assert capsys.readouterr().err == "\r\x1b[K"


def test_progress_through_a_pipe_knows_no_end() -> None:
    """How much is left is told only where the size is known."""
    assert Progress(None, ManualClock()).text(5_000_000, SECOND_NS) == "5 MB read, 5 MB/s"


@pytest.mark.parametrize(("bytes_read", "elapsed_ns"), [(0, 0), (0, SECOND_NS), (20, 0)])
def test_progress_divides_by_no_zero(bytes_read: int, elapsed_ns: int) -> None:
    """Neither no time nor no bytes are an error; more than all is all."""
    text = Progress(10, ManualClock()).text(bytes_read, elapsed_ns)

    assert "MB read" in text
    assert "200%" not in text


def test_the_clock_of_the_machine_is_the_one_that_counts(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Without another one nothing is shown right after the start."""
    Progress(1).update(1)

    assert capsys.readouterr().err == ""
