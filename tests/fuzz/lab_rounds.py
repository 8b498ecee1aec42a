"""Rounds of kdiag's own client against a lab in which things go wrong by chance.

    nice python tests/fuzz/lab_rounds.py --rounds 1000 --seed 1

In each round a producer writes, and members of a group read and commit, through faults of all
kinds, brokers that end and come back, and members that die. Nothing that was acknowledged may be
lost, nothing may hang, and no exception may leave the library but kdiag's own. A round that fails
says how to have it once more; its traffic is kept in a folder of the working folder.
"""

import argparse
import faulthandler
import gc
import os
import shutil
import sys
import tempfile
import traceback
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from threading import Timer
from time import monotonic
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "rig"))

from lab_ends.rounds.fault_round import FaultRound

SCRIPT: Final = "tests/fuzz/lab_rounds.py"
MAX_ROUND_S: Final = 120
"""How long a round may take by the machine's clock; it takes less than one."""


def run(rounds: int, seed: str, first: int) -> int:
    """Play so many rounds; return 1 if one of them failed."""
    failed, slowest_s, acked, errors = 0, 0.0, 0, 0
    fired: Counter[str] = Counter()
    for number in range(first, first + rounds):
        started_s = monotonic()
        folder = Path(tempfile.mkdtemp(prefix="kdiag-round-"))
        play = FaultRound(f"{seed}-{number}", folder)
        again = f"again: python {SCRIPT} --seed {seed} --first {number} --rounds 1"
        try:
            with _watched(f"round {number} hangs: {play.layout}\n{again}"):
                outcome = play.run()
        except Exception:  # noqa: BLE001 - whatever it is, it is the result of a round
            failed += 1
            kept = Path(f"round-{seed}-{number}")
            shutil.copytree(folder, kept, dirs_exist_ok=True)
            say(f"round {number} failed: {play.layout}\n{traceback.format_exc()}{again}")
            say(f"what the clients met: {play.errors}; the traffic is in {kept}")
        else:
            acked += outcome.acked
            errors += outcome.errors
            fired += outcome.fired
        shutil.rmtree(folder)
        slowest_s = max(slowest_s, monotonic() - started_s)
        gc.collect()
    told = ", ".join(f"{name} {count}" for name, count in fired.most_common())
    say(
        f"{rounds} rounds of seed {seed}, {failed} failed, slowest {slowest_s:.1f} s; "
        f"{acked} records acknowledged, {errors} errors met; faults: {told}"
    )
    return int(failed > 0)


@contextmanager
def _watched(what: str) -> Iterator[None]:
    """End the program if the block takes too long, and say where it stands."""

    def end() -> None:
        say(what)
        faulthandler.dump_traceback(sys.stderr)
        os._exit(1)

    timer = Timer(MAX_ROUND_S, end)
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Run with the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--rounds", type=int, default=1_000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    return run(arguments.rounds, arguments.seed, arguments.first)


if __name__ == "__main__":
    sys.exit(main())
