import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

from folders import CAPTURES
from kdiag_cli.app import COMMANDS, app
from kdiag_cli.options.help_page import heading_of, is_paged
from programs.kdiag_program import Screen, kdiag, kdiag_on_terminal
from tiers.cases import for_each

CAPTURE = CAPTURES / "acks.pcap"
UNDER_OPTIONS = {"--help", "--dry-run", "--yes", "--api-version"}
"""What only one command has, or says what is to be done."""


def options() -> Iterator[str]:
    """Yield the long names of all options of all commands."""
    root: Any = get_command(app)
    above = root.make_context("kdiag", ["help"], resilient_parsing=True)
    found = list(root.commands.items())
    while found:
        name, command = found.pop()
        context = command.make_context(name, ["--help"], above, resilient_parsing=True)
        found += getattr(context.command, "commands", {}).items()
        for param in context.command.get_params(context):
            if param.param_type_name == "option" and not hasattr(context.command, "commands"):
                yield max(param.opts, key=lambda each: (heading_of(each) != "Options", len(each)))


@pytest.mark.thorough
def test_every_option_has_a_heading() -> None:
    """But for those few that are listed here."""
    assert {each for each in options() if heading_of(each) == "Options"} == UNDER_OPTIONS


@pytest.mark.thorough
@for_each("name", COMMANDS)
def test_examples_stand_before_options(name: str) -> None:
    """Who looks up a command wants to copy a line first."""
    page = kdiag(name, "--help").out

    if "Examples:" in page:
        assert page.index("Examples:") < page.index("  -h, --help")
    assert "\b" not in page


def test_many_arguments_are_shown_as_many() -> None:
    """Three dots say that more can follow."""
    for name in ("decode", "tables", "report", "tail", "find-coordinator", "errcode"):
        assert "]..." in kdiag(name, "--help").out.partition("\n")[0], name


@pytest.fixture
def pager(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the file that the pager fills; the terminal has 40 lines."""
    file = tmp_path / "paged"
    script = tmp_path / "pager"
    script.write_text(f"#!/bin/sh\ncat > {file}\n")
    script.chmod(0o700)
    monkeypatch.setenv("PAGER", str(script))
    monkeypatch.setenv("LINES", "40")
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setattr(sys, "stdin", Screen(is_terminal=True))
    return file


@pytest.mark.thorough
def test_a_page_that_is_longer_than_the_terminal_goes_through_the_pager(pager: Path) -> None:
    """One that fits is printed; so is any in a pipe."""
    assert kdiag_on_terminal(80, "decode", "--help") == (0, "", "")
    assert "Usage: kdiag decode" in pager.read_text()
    pager.unlink()
    assert kdiag_on_terminal(80, "help", "connecting") == (0, "", "")
    assert "listener" in pager.read_text()
    pager.unlink()

    assert "Usage: kdiag completion" in kdiag_on_terminal(80, "completion", "--help").out
    assert "Limits:" in kdiag("decode", "--help").out
    assert not pager.exists()


@pytest.mark.parametrize("command", ["", "cat", "there-is-no-such-pager", "less '"])
def test_a_page_is_printed_where_no_pager_is_wanted(
    command: str, pager: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nor where there is none, nor on a terminal that knows plain lines only."""
    monkeypatch.setattr(sys, "stdout", Screen(is_terminal=True))
    monkeypatch.setenv("PAGER", command)
    assert not is_paged("a\n" * 50, height=10)
    monkeypatch.setenv("PAGER", str(pager.with_name("pager")))
    monkeypatch.setenv("TERM", "dumb")
    assert not is_paged("b\n" * 50, height=10)

    assert not pager.exists()


def test_colours_can_be_chosen_for_every_command(monkeypatch: pytest.MonkeyPatch) -> None:
    """For one run; JSON in a pipe never has any."""
    monkeypatch.delenv("NO_COLOR", raising=False)
    line = kdiag("decode", CAPTURE, "--color", "always")
    document = kdiag("decode", CAPTURE, "--color=always", "-o", "jsonl")
    plain = kdiag("decode", CAPTURE)

    assert "\x1b[" in line.out
    assert "\x1b[" not in document.out + plain.out
    assert re.sub(r"\x1b\[[0-9;]*m", "", line.out) == plain.out
    assert kdiag("errcode", "3", "--color", "sometimes").code == 2
