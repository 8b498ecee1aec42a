import subprocess
import sys
from pathlib import Path

import pytest

from kdiag.client.fetch.position import PartitionKey
from lab_ends.rounds.fault_round import TOPIC, FaultRound
from lab_ends.rounds.round_reader import RoundError
from lab_ends.rounds.round_writer import AckedBatch
from tiers.sampling import IS_EXHAUSTIVE, SEED

pytestmark = pytest.mark.soak
ROUNDS = 1_000 if IS_EXHAUSTIVE else 24


def test_nothing_acknowledged_is_lost_whatever_goes_wrong(tmp_path: Path) -> None:
    """Faults of all kinds cost time; not records or commits, and nobody waits for ever."""
    script = Path(__file__).with_name("lab_rounds.py")
    shared = [sys.executable, str(script), "--rounds", str(ROUNDS // 2), "--seed", SEED]
    halves = [
        subprocess.Popen(
            [*shared, "--first", str(first)], cwd=tmp_path, stdout=subprocess.PIPE, text=True
        )
        for first in (0, ROUNDS // 2)  # at the same time: they mostly wait
    ]
    told = [half.communicate()[0] for half in halves]

    assert [half.returncode for half in halves] == [0, 0], "".join(told)
    assert all(f"{ROUNDS // 2} rounds of seed {SEED}, 0 failed, " in each for each in told)


def test_a_record_that_is_lost_is_found(tmp_path: Path) -> None:
    """A round is not blind: an acknowledgement that no broker gave fails it."""
    play = FaultRound("calm", tmp_path)
    play.writer.acked.append(AckedBatch(PartitionKey(TOPIC, 0), 0, ["nobody wrote this"]))

    with pytest.raises(RoundError, match="nobody wrote this"):
        play.run()
