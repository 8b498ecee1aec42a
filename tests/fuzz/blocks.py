"""Damages packets of real captures and reads them in small, middle-sized and large blocks.

    nice python tests/fuzz/blocks.py --inputs 20000 --seed 1

What is found must not depend on the size of the blocks. No input may raise, or take two seconds of
CPU in one reading. The captures are those that ship, and the reference ones where KDIAG_REFERENCE
names their folder. An input that is read differently is kept in a file of the working folder.
"""

import argparse
import gc
import random
import sys
import time
from pathlib import Path
from typing import Any, Final

sys.path.insert(0, str(Path(__file__).parents[1] / "rig"))

from made_values import packet_damage

MAX_INPUT_S: Final = 2.0
COLLECT_SHARE: Final = 100


def run(inputs: int, seed: int) -> int:
    """Compare the readings of so many damaged captures; return 1 if one of them broke a rule."""
    slowest_s, differing = 0.0, 0
    for number in range(inputs):
        capture = packet_damage.damaged_piece(random.Random(f"{seed}-{number}"))
        readings: list[dict[str, list[Any]]] = []
        for block_bytes in packet_damage.BLOCK_SIZES:
            started_s = time.process_time()
            try:
                readings.append(packet_damage.rows(capture, block_bytes))
            except BaseException:
                say(f"input {number} of seed {seed} raised, made of {capture.name}")
                raise
            slowest_s = max(slowest_s, time.process_time() - started_s)
        difference = packet_damage.difference(readings)
        if difference:
            differing += 1
            Path(f"blocks-{seed}-{number}.pcap").write_bytes(capture.data)
            say(f"input {number} of seed {seed}, made of {capture.name}: {difference}")
        if not number % COLLECT_SHARE:
            gc.collect()
    memory_bytes = peak_memory_bytes()
    say(
        f"{inputs} inputs, {differing} read differently, slowest {slowest_s:.2f} s, "
        f"memory {memory_bytes >> 20} MB"
    )
    return int(differing > 0 or slowest_s > MAX_INPUT_S)


def peak_memory_bytes() -> int:
    """Return the most memory that this program took; `ru_maxrss` would count its parent's, too."""
    status = Path("/proc/self/status").read_text(encoding="ascii")
    return next(
        int(line.split()[1]) * 1024 for line in status.splitlines() if line.startswith("VmHWM")
    )


def say(text: str) -> None:
    """Print a line."""
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> int:
    """Run with the arguments of the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--inputs", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return run(arguments.inputs, arguments.seed)


if __name__ == "__main__":
    sys.exit(main())
