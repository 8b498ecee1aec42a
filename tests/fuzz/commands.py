"""Runs the commands that read captures on damaged ones, in every form of output.

    nice python tests/fuzz/commands.py --inputs 3000 --seed 1

The rules are those of `command_round`. No run may take ten seconds of CPU; the process stays below
700 MB. The captures are those of `packet_damage`, some of their names overwritten with what
terminals and spreadsheets obey. An input that breaks a rule is kept in a file of the working
folder.
"""

import argparse
import gc
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Final

sys.path.insert(0, str(Path(__file__).parents[1] / "rig"))

from programs.command_round import run_round

MAX_MEMORY_BYTES: Final = 700 << 20
COLLECT_SHARE: Final = 20


def run(inputs: int, seed: int) -> int:
    """Run so many rounds; return 1 if one of them broke a rule."""
    broken, slowest_s, codes = 0, 0.0, Counter[int]()
    with tempfile.TemporaryDirectory() as folder:
        for number in range(inputs):
            try:
                found = run_round(number, seed, Path(folder))
            except BaseException:
                say(f"input {number} of seed {seed} raised")
                raise
            codes[found.code] += 1
            slowest_s = max(slowest_s, found.took_s)
            if found.broken:
                broken += 1
                Path(f"commands-{seed}-{number}.pcap").write_bytes(found.data)
                words = " ".join(found.command.words)
                say(f"input {number} of seed {seed}, of {found.name}: {words}: {found.broken}")
            if not number % COLLECT_SHARE:
                gc.collect()
    memory_bytes = peak_memory_bytes()
    ends = ", ".join(f"{count} with {code}" for code, count in sorted(codes.items()))
    say(
        f"{inputs} inputs, {broken} broke a rule, ended {ends}; slowest {slowest_s:.2f} s, "
        f"memory {memory_bytes >> 20} MB"
    )
    return int(broken > 0 or memory_bytes > MAX_MEMORY_BYTES)


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
    parser.add_argument("--inputs", type=int, default=3_000)
    parser.add_argument("--seed", type=int, default=1)
    arguments = parser.parse_args()
    return run(arguments.inputs, arguments.seed)


if __name__ == "__main__":
    sys.exit(main())
