import pytest

from programs.kdiag_program import kdiag


@pytest.mark.parametrize("command", ["run", "stream", "report"])
def test_help_of_each_command_has_examples(command: str) -> None:
    """And says with which codes it ends."""
    done = kdiag("pipeline", command, "--help")

    assert done.code == 0
    assert f"kdiag pipeline {command}" in done.out
    assert "Exit codes: 0 done" in done.out


def test_a_mode_that_there_is_not_is_refused() -> None:
    """Before anything is started."""
    done = kdiag("pipeline", "run", "a.pcap", "--out", "tables", "--mode", "other")

    assert done.code == 2
    assert "permissive" in done.err


def test_only_a_stream_that_ends_can_be_closed() -> None:
    """Otherwise more may come."""
    done = kdiag("pipeline", "stream", ".", "--out", "t", "--checkpoint", "c", "--close")

    assert done.code == 2
    assert "needs --once" in done.err


def test_a_run_of_new_captures_replaces_none() -> None:
    """So it has no name that could be another's."""
    done = kdiag("pipeline", "run", "a.pcap", "--out", "t", "--new", "--name", "x")

    assert done.code == 2
    assert "adds a run, and --name replaces one" in done.err
