import shlex
from pathlib import Path
from unittest.mock import patch

import pytest

from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag_cli.commands.lab import command
from kdiag_cli.commands.lab.options import LabOptions
from programs.kdiag_program import Done, kdiag
from tiers.cases import for_each

EXAMPLES = [
    shlex.split(line)[2:] for line in command.EXAMPLES.splitlines() if line.startswith("  kdiag")
]


def asked(*arguments: str) -> tuple[Done, list[LabOptions]]:
    """Return what the lab is asked for, which is not started."""
    seen: list[LabOptions] = []
    with patch.object(command, "run_lab", seen.append):
        return kdiag("lab", *arguments), seen


@pytest.mark.thorough
@for_each("arguments", EXAMPLES, ids=" ".join)
def test_the_examples_in_the_help_are_understood(arguments: list[str]) -> None:
    """Each starts a lab."""
    done, seen = asked(*arguments)
    assert (done.code, done.err, len(seen)) == (0, "", 1)


def test_options_are_handed_on() -> None:
    """As they were read."""
    _, (options,) = asked(
        *shlex.split(
            "-t a:2 -t b --port 9092 --host ::1 --data d --as-version 2.8 -o jsonl --nodes 3"
        )
    )
    assert options == LabOptions(
        (NewTopic("a", 2), NewTopic("b")), "::1", 9092, Path("d"), "2.8", is_json=True, node_count=3
    )


@pytest.mark.parametrize(
    ("arguments", "why"),
    [(("--nodes", "10"), "1 to 9"), (("-t", "a:x"), "orders:3:2"), (("-o", "x"), "jsonl")],
)
def test_wrong_usage_is_said(arguments: tuple[str, ...], why: str) -> None:
    """With exit code 2, and nothing is started."""
    done, seen = asked(*arguments)
    assert (done.code, seen) == (2, [])
    assert why in done.err


def test_faults_are_options_and_files(tmp_path: Path) -> None:
    """In this order."""
    path = tmp_path / "faults.yaml"
    path.write_text("faults: [Fetch delay=1s]")
    _, (options,) = asked("--fault", "Produce close=after", "--faults", str(path))
    assert [each.text for each in options.faults] == ["Produce close=after", "Fetch delay=1s"]
    for arguments in (("--fault", "Fetch"), ("--faults", str(tmp_path / "absent"))):
        done, seen = asked(*arguments)
        assert (done.code, seen) == (2, [])
        assert arguments[0] in done.err


def test_it_starts_where_no_command_is_named() -> None:
    """The page of the group says where the options are."""
    assert "kdiag lab start --help" in kdiag("lab", "--help").out
    assert asked("start", "--port", "1")[1] == asked("--port", "1")[1]
