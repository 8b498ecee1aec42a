import subprocess
import sys
from pathlib import Path

import pytest

from kdiag.client.fetch.position import PartitionKey
from lab_ends.rounds.fault_round import TOPIC, FaultRound
from lab_ends.rounds.round_reader import RoundError
from lab_ends.rounds.round_writer import AckedBatch
from tiers.sampling import IS_EXHAUSTIVE, SEED

pytestmark = pytest.mark.real
ROUNDS = 1_000 if IS_EXHAUSTIVE else 50


def test_nothing_acknowledged_is_lost_whatever_goes_wrong(tmp_path: Path) -> None:
    """Faults of all kinds cost time; not records or commits, and nobody waits for ever."""
    script = Path(__file__).with_name("lab_rounds.py")
    command = [sys.executable, str(script), "--rounds", str(ROUNDS), "--seed", SEED]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.startswith(f"{ROUNDS} rounds of seed {SEED}, 0 failed, ")


def test_a_record_that_is_lost_is_found(tmp_path: Path) -> None:
    """A round is not blind: an acknowledgement that no broker gave fails it."""
    play = FaultRound("calm", tmp_path)
    play.writer.acked.append(AckedBatch(PartitionKey(TOPIC, 0), 0, ["nobody wrote this"]))

    with pytest.raises(RoundError, match="nobody wrote this"):
        play.run()
