import random
import subprocess
import sys
from pathlib import Path

import pytest

from made_values import packet_damage
from programs.command_round import (
    PARTIAL,
    USAGE,
    CapturedCommand,
    broken_rule,
    commands,
    hostile,
    run_round,
)
from programs.kdiag_program import Done
from tiers.cases import for_each
from tiers.sampling import IS_EXHAUSTIVE, SEED

SCRIPT = Path(__file__).with_name("commands.py")
LINUX = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux does")


@pytest.mark.thorough
def test_no_damaged_capture_has_a_command_break_a_rule(tmp_path: Path) -> None:
    """Whichever command it is, and whatever names the capture holds."""
    for number in range(250 if IS_EXHAUSTIVE else 25):
        found = run_round(number, SEED, tmp_path)
        about = f"input {number} of seed {SEED}, of {found.name}: {found.command.words}"
        assert not found.broken, f"{about}: {found.broken}"


@pytest.mark.soak
@LINUX
def test_thousands_of_damaged_captures_break_no_rule(tmp_path: Path) -> None:
    """In one process, whose memory stays bounded."""
    words = [sys.executable, str(SCRIPT), "--inputs", "3000", "--seed", SEED]
    done = subprocess.run(words, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert "3000 inputs, 0 broke a rule" in done.stdout


@for_each(
    ("form", "done", "why"),
    [
        ("text", Done(0, "a\n", ""), ""),
        ("text", Done(8, "a\n", "kdiag: cut\n"), ""),
        ("text", Done(1, "", ""), "ended with 1"),
        ("text", Done(0, "a\x1b[2J\n", ""), "printed '\\x1b'"),
        ("text", Done(0, "a\x9b\n", ""), "printed '\\x9b'"),
        ("text", Done(0, "", "kdiag: internal error: KeyError\n"), "is at fault itself"),
        ("text", Done(2, "", ""), "does not say why"),
        ("text", Done(2, "", "kdiag: not a capture\n"), ""),
        ("json", Done(0, '{"a":1}\n', ""), ""),
        ("json", Done(0, '{"a":1\n', ""), "is not JSON"),
        ("jsonl", Done(0, '{"a":1}\n[]\n', ""), "is not an object"),
        ("csv", Done(0, "a,b\n1,=2\n", ""), ""),
        ("csv", Done(0, "a,b\n1\n", ""), "has a row of another length"),
        ("safe", Done(0, "a,b\n1,=2\n", ""), "has '=2'"),
        ("safe", Done(0, "a,b\n1,-2.5\n", ""), ""),
    ],
)
def test_the_rules_are_not_blind(form: str, done: Done, why: str) -> None:
    """Each is broken by something, and a little less does not break it."""
    command = CapturedCommand(("decode",), form, (0, USAGE, PARTIAL))
    broken = broken_rule(command, done, 0.1)

    assert broken.startswith(why)
    assert bool(broken) == bool(why)
    assert broken_rule(command, done, 11.0).startswith("took")


def test_names_are_overwritten_in_packets_of_equal_sizes() -> None:
    """So the packets can still be read."""
    chance = random.Random(3)
    data = packet_damage.damaged_piece(chance).data
    changed = [hostile(data, random.Random(number)) for number in range(20)]

    assert {len(each) for each in changed} == {len(data)}
    assert any(b"\x1b[2J" in each for each in changed)


def test_every_form_of_output_is_tried() -> None:
    """By commands of all kinds."""
    tried = [each for number in range(40) for each in commands(random.Random(number))]

    assert {each.form for each in tried} == {"text", "json", "jsonl", "csv", "safe"}
    assert {each.words[0] for each in tried} >= {"decode", "report", "query", "diff"}
    assert any("--html" in each.words for each in tried)
