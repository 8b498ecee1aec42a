import signal
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag_cli.output.terminal import Output
from kdiag_cli.pager import paged, pager_command
from programs.kdiag_program import Screen, kdiag, kdiag_on_terminal

GROUP = CAPTURES / "produce_consume_group.pcap"


@pytest.fixture
def seen(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that the pager fills."""
    file = tmp_path / "seen"
    write_pager(tmp_path / "pager", f"cat > {file}")
    monkeypatch.setenv("PAGER", str(tmp_path / "pager"))
    monkeypatch.setenv("TERM", "xterm")
    return file


def write_pager(path: Path, command: str) -> None:
    """Write a pager that is a line of shell."""
    path.write_text(f"#!/bin/sh\n{command}\n")
    path.chmod(0o700)


@pytest.mark.thorough
def test_what_is_printed_goes_through_the_pager_as_on_a_terminal(seen: Path) -> None:
    """With its columns; what is said of the end comes after the person has left it."""
    done = kdiag_on_terminal(100, "decode", GROUP, "--pager")

    assert (done.code, done.out) == (0, "")
    assert seen.read_text() == kdiag_on_terminal(100, "decode", GROUP).out


def test_nothing_is_paged_in_a_pipe(seen: Path) -> None:
    """Programs have no pager."""
    assert kdiag("decode", GROUP, "--pager").out == kdiag("decode", GROUP).out
    assert not seen.exists()


def test_a_filter_that_matches_nothing_starts_no_pager(seen: Path) -> None:
    """It says so, and what there is."""
    done = kdiag_on_terminal(100, "decode", GROUP, "--slow", "1h", "--pager")

    assert (done.code, done.out) == (0, "")
    assert "no exchange of 32 matches" in done.err
    assert not seen.exists()


@pytest.mark.thorough
def test_a_pager_that_is_left_early_ends_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As a pipe that is closed does; Ctrl-C means the program again then."""
    write_pager(tmp_path / "pager", "exit 0")
    monkeypatch.setenv("PAGER", str(tmp_path / "pager"))
    monkeypatch.setenv("TERM", "xterm")
    before = signal.getsignal(signal.SIGINT)

    with pytest.raises(BrokenPipeError):
        _print_much()
    assert signal.getsignal(signal.SIGINT) is before


def _print_much() -> None:
    with paged(Screen(is_terminal=True)) as stream:
        output = Output(stream)
        for _ in range(100_000):
            output.line("x" * 100)
        output.flush()


@pytest.mark.parametrize(("pager", "term"), [("", "xterm"), ("cat", "xterm"), ("sh", "dumb")])
def test_there_may_be_no_pager(pager: str, term: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Then the stream is the terminal itself."""
    monkeypatch.setenv("PAGER", pager)
    monkeypatch.setenv("TERM", term)
    screen = Screen(is_terminal=True)

    assert pager_command() == []
    with paged(screen) as stream:
        assert stream is screen


@pytest.mark.parametrize("also", [("--live", "lo"), (GROUP, "-o", "parquet", "--out", "x")])
def test_what_is_not_printed_of_files_is_not_paged(also: tuple[object, ...]) -> None:
    """An interface goes on for ever, and tables are files."""
    done = kdiag("decode", *also, "--pager")

    assert done.code == 2
    assert "is for what is printed of files" in done.err
