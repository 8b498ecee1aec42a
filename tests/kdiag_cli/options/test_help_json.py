import json
from collections.abc import Iterator
from typing import Any

import pytest

from kdiag_cli.app import COMMANDS
from programs.kdiag_program import kdiag


def described(*arguments: str) -> dict[str, Any]:
    """Return the document."""
    done = kdiag(*arguments, "--help-json")
    assert (done.code, done.err) == (0, "")
    document: dict[str, Any] = json.loads(done.out)
    return document


def test_a_command_is_described_with_all_that_it_takes() -> None:
    """Arguments and options, each with what it means and what it may be."""
    document = described("decode")

    assert document["schema"] == 1
    assert document["command"].endswith(" decode")
    assert "kdiag decode traffic.pcap" in document["examples"]
    assert document["notes"].startswith("Exit codes: 0 done")
    assert document["arguments"][0]["name"] == "[FILE]..."
    options = {names: each for each in document["options"] for names in each["names"]}
    assert options["-o"]["choices"] == ["text", "jsonl", "json", "csv", "parquet"]
    assert options["--topic"]["multiple"]
    assert options["--topic"]["heading"] == "Choose"
    assert options["--max-frame"]["default"] == "100M"
    assert options["--summary"]["is_flag"]


@pytest.mark.thorough
def test_the_program_describes_every_command() -> None:
    """Also those below others, whose modules are not loaded otherwise."""
    document = described()

    names = [each["command"].split()[-1] for each in document["commands"]]
    assert sorted(names) == sorted(COMMANDS)
    [pipeline] = (each for each in document["commands"] if each["command"].endswith("pipeline"))
    assert {"run", "stream"} <= {each["command"].split()[-1] for each in pipeline["commands"]}


def commands() -> Iterator[dict[str, Any]]:
    """Yield the description of every command, also of those below others."""
    waiting = [described()]
    while waiting:
        command = waiting.pop()
        waiting += command["commands"]
        yield command


@pytest.mark.thorough
def test_whoever_writes_cells_can_write_them_for_a_spreadsheet() -> None:
    """Names come from the wire in all of them; elsewhere the option would do nothing."""
    for command in commands():
        options = {name: each for each in command["options"] for name in each["names"]}
        choices = options.get("--output", {}).get("choices") or ()
        assert ("--csv-safe" in options) == ("csv" in choices), command["command"]


@pytest.mark.thorough
def test_no_command_has_an_option_twice() -> None:
    """The second would hide the first."""
    for command in commands():
        names = [name for each in command["options"] for name in each["names"]]
        assert sorted(names) == sorted(set(names)), command["command"]
