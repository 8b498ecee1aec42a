"""Damages captures, messages and record batches at random and reads them.

    python tests/fuzz/run.py --inputs 20000 --seed 1

No input may raise anything but kdiag's own errors, take two seconds of CPU or drive the memory of
the process above 300 MB. The captures are those that ship, and the reference ones where
KDIAG_REFERENCE names their folder. An input that fails is kept in a file of the working folder.
"""

import argparse
import gc
import os
import random
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "rig"))

from made_values import fuzz_target

MAX_INPUT_S: Final = 2.0
MAX_MEMORY_BYTES: Final = 300 << 20
CAPTURE_SHARE: Final = 2
"""Every how manieth input is a capture: they cost much more than messages."""
COLLECT_SHARE: Final = 20
LARGE_BYTES: Final = 300_000
LARGE_SHARE: Final = 20

Input = tuple[bytes, Callable[[], object]]


def next_input(chance: random.Random) -> Input:
    """Return damaged bytes, and what reads them."""
    if not chance.randrange(CAPTURE_SHARE):
        found = fuzz_target.captures(os.environ.get("KDIAG_REFERENCE"))
        capture = chance.choice(found)
        while len(capture) > LARGE_BYTES and chance.randrange(LARGE_SHARE):
            capture = chance.choice(found)
        data = fuzz_target.damaged_capture(capture, chance)
        return data, lambda: fuzz_target.read_capture(data)
    if not chance.randrange(4):
        data = fuzz_target.damaged(chance.choice(fuzz_target.record_vectors()), chance)
        return data, lambda: fuzz_target.read_records(data)
    api_key, version, is_request, message = chance.choice(fuzz_target.vectors())
    damage = chance.choice((fuzz_target.damaged, fuzz_target.distorted))
    data = damage(message, chance)
    if chance.randrange(2):
        return data, lambda: fuzz_target.read_message(data, api_key, version, is_request=is_request)
    kept = chance.choice((len(data) + 64, chance.randrange(len(data) + 64)))
    return data, lambda: fuzz_target.read_exchange(
        data, api_key, version, is_request=is_request, kept=kept
    )


def run(inputs: int, seed: int) -> int:
    """Read so many damaged inputs; return 1 if one of them broke a rule."""
    slowest_s = 0.0
    for number in range(inputs):
        chance = random.Random(f"{seed}-{number}")
        data, read = next_input(chance)
        started_s = time.process_time()
        try:
            read()
        except BaseException:
            Path(f"fuzz-{seed}-{number}").write_bytes(data)
            say(f"input {number} of seed {seed} raised; it is in fuzz-{seed}-{number}")
            raise
        took_s = time.process_time() - started_s
        if took_s > MAX_INPUT_S:
            Path(f"fuzz-{seed}-{number}").write_bytes(data)
            say(f"input {number} of seed {seed} took {took_s:.1f} s: fuzz-{seed}-{number}")
            return 1
        slowest_s = max(slowest_s, took_s)
        if not number % COLLECT_SHARE:
            gc.collect()  # many runs in one process: what each leaves behind must not add up
    memory_bytes = peak_memory_bytes()
    say(f"{inputs} inputs, slowest {slowest_s:.2f} s, memory {memory_bytes >> 20} MB")
    return int(memory_bytes > MAX_MEMORY_BYTES)


def peak_memory_bytes() -> int:
    """Return the most memory that this program took; `ru_maxrss` would count its parent's, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(
        int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")
    )


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")


def main() -> int:
    """Run with the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return run(arguments.inputs, arguments.seed)


if __name__ == "__main__":
    sys.exit(main())
