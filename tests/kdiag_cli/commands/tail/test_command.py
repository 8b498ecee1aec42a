"""`kdiag tail`: what it takes."""

import shlex

import pytest

from kdiag_cli.commands.tail.command import EXAMPLES
from programs.kdiag_program import kdiag
from tiers.cases import for_each


@pytest.mark.thorough
@for_each(
    ("arguments", "why"),
    [
        ([], "give at least one"),
        (["orders", "-F", "-e"], "choose one of --follow and --exit"),
        (["orders", "--output", "parquet"], "--out FILE together"),
        (["orders", "-o", "4x"], "no offset; write"),
        (["orders", "-o", "1", "--from-beginning"], "given before"),
        (["orders", "--grep", "("], "not a regular expression"),
        (["orders", "-f", "%y"], "'%y' at character 1"),
        (["orders:x"], "expected partitions such as"),
        (["orders", "-n", "0"], "0 is not in the range"),
    ],
)
def test_wrong_usage_is_said_before_anything_is_asked(arguments: list[str], why: str) -> None:
    """Exit code 2, and the message says what would be right."""
    done = kdiag("tail", "-b", "localhost:1", *arguments)
    assert done.code == 2
    assert why in done.err
    assert done.out == ""


def test_nothing_listens_is_said_with_the_fix() -> None:
    """Exit code 3, the layer by its name, nothing on stdout."""
    done = kdiag("tail", "-b", "localhost:1", "orders")
    assert (done.code, done.out) == (3, "")
    assert "TCP: connection refused" in done.err
    assert "to go on from here" not in done.err


def test_the_help_names_every_option_and_each_example_begins_as_it_should() -> None:
    """The examples themselves are run in tests/cases."""
    out = kdiag("tail", "--help").out
    options = (
        *("--topic", "--partition", "--offset", "--from-beginning", "--until", "--exit"),
        *("--follow", "--count", "--max-messages", "--grep", "--key", "--header", "--format"),
        *("--output", "--json", "--out", "--isolation", "--show-aborted", "--show-control"),
        *("--key-format", "--value-format", "--rack", "--wide", "--quiet"),
    )
    for option in options:
        assert option in out
    lines = [shlex.split(each) for each in EXAMPLES.splitlines() if each.startswith("  kdiag")]
    assert len(lines) >= 8
    assert all(line[:3] == ["kdiag", "tail", "-b"] for line in lines)
