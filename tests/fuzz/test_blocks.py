import random
import subprocess
import sys
from pathlib import Path

import pytest

from made_values import packet_damage
from tiers.sampling import IS_EXHAUSTIVE, SEED

SCRIPT = Path(__file__).with_name("blocks.py")
INPUTS = 20_000 if IS_EXHAUSTIVE else 25


@pytest.mark.thorough
def test_damaged_captures_read_the_same_in_blocks_of_any_size() -> None:
    """Packets lost, cut, doubled, moved and changed give the same rows however they are read."""
    for number in range(INPUTS):
        capture = packet_damage.damaged_piece(random.Random(f"{SEED}-{number}"))
        readings = [packet_damage.rows(capture, size) for size in packet_damage.BLOCK_SIZES]

        difference = packet_damage.difference(readings)
        assert not difference, f"input {number} of seed {SEED}, made of {capture.name}"


def test_a_difference_is_told() -> None:
    """The comparison is not blind: the first value that differs is named."""
    one, other = {"exchanges": [1, 2], "gaps": []}, {"exchanges": [1, 3], "gaps": []}

    assert packet_damage.difference([one, one]) == ""
    assert packet_damage.difference([one, other]) == "exchanges: [2] is not [3]"


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux does")
def test_the_long_run_states_its_figures(tmp_path: Path) -> None:
    """By hand it says how many inputs differed, the slowest one and the largest memory."""
    command = [sys.executable, str(SCRIPT), "--inputs", "3", "--seed", "7"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith("3 inputs, 0 read differently, slowest ")
