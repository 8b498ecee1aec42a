"""Compares this kdiag with another checkout of it, in turns: decode, tail, startup and codec.

    python tests/bench/beside.py CHECKOUT PYTHON [--folder .kafka/bench] [--rounds 9]

where PYTHON is that of the environment in which the other checkout is installed. The captures are
those of `record_load.py`, the topics those of `tail.py`, the messages those of each checkout's own
`codec.py`. Prints a Markdown table with the median CPU time of both and the median of the ratios
turn by turn, which a busy machine spoils least. Ends with 1 if this one takes more than 1.05 times
as long anywhere.
"""

import argparse
import os
import re
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Final, NamedTuple

sys.path.insert(0, str(Path(__file__).parents[1] / "rig"))
sys.path.insert(0, str(Path(__file__).parents[2]))

from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.releases import USUAL
from tests.bench import decode, tail

MOST: Final = 1.05
ROOT: Final = Path(__file__).parents[2]
CODEC_ROUNDS: Final = 3
STARTUPS: Final = (("--help",), ("errcode", "3"))
CAPTURES: Final = ("small", "large", "newest", "huge")
DECODINGS: Final = (("--summary",), ("--output", "jsonl"), ("--output", "jsonl", "--values"))


class Installed(NamedTuple):
    """An installed kdiag.

    Attributes:
        checkout: its source.
        python: the interpreter of its environment, which has `kdiag` beside it.
    """

    checkout: Path
    python: Path

    def cpu_s(self, arguments: Sequence[str]) -> float:
        """Return the CPU time of a run of `kdiag`, its output going into a pipe.

        Raises:
            SystemExit: if it fails.
        """
        command = (str(self.python.with_name("kdiag")), *arguments)
        with subprocess.Popen(["wc", "-c"], stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as wc:
            program = subprocess.Popen(
                command, stdout=wc.stdin, stderr=subprocess.DEVNULL, env=decode.ENVIRONMENT
            )
            _, status, usage = os.wait4(program.pid, 0)
            program.returncode = os.waitstatus_to_exitcode(status)
        if program.returncode not in {0, decode.PARTIAL}:
            raise SystemExit(f"{' '.join(command)} ended with {program.returncode}")
        return usage.ru_utime + usage.ru_stime

    def codec_us(self) -> Mapping[str, float]:
        """Return the CPU time of one call of the codec, by message and direction."""
        command = [self.python, self.checkout / "tests/bench/codec.py"]
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        lines = re.findall(r"^(.*(?:decode|encode)) +([\d.]+)", said, re.MULTILINE)
        return {re.sub(r" +", " ", name): float(us) for name, us in lines}


Pairs = dict[str, list[tuple[float, float]]]
"""What both took, the other one first, by what was run."""


def measure_program(
    both: Sequence[Installed], runs: Mapping[str, Sequence[str]], rounds: int
) -> Pairs:
    """Run commands in turns, after a round that only warms the caches."""
    pairs: Pairs = {}
    for number in range(rounds + 1):
        for name, arguments in runs.items():
            turn = both if number % 2 else both[::-1]
            took = {each: each.cpu_s(arguments) for each in turn}
            if number:
                pairs.setdefault(name, []).append((took[both[0]], took[both[1]]))
    return pairs


def measure_codec(both: Sequence[Installed]) -> Pairs:
    """Run the bench of the codec of both in turns."""
    pairs: Pairs = {}
    for _ in range(CODEC_ROUNDS):
        theirs, ours = (each.codec_us() for each in both)
        for name, us in ours.items():
            pairs.setdefault(f"codec: {name}", []).append((theirs[name] / 1e6, us / 1e6))
    return pairs


def measure_tail(both: Sequence[Installed], rounds: int) -> Pairs:
    """Read the topics of `tail.py` from a real Kafka in turns."""
    topics = (tail.SMALL, tail.DOCUMENTS)
    with tempfile.TemporaryDirectory() as folder, KafkaCluster(USUAL, Path(folder)) as cluster:
        with ProcessPoolExecutor(1) as apart:
            list(apart.map(tail.write, [cluster.bootstrap] * len(topics), topics))
        reading = {
            f"tail{form}: {topic.title}": (
                "tail",
                "-b",
                cluster.bootstrap,
                topic.name,
                "-e",
                *form.split(),
            )
            for topic in topics
            for form in ("", " -J")
        }
        return measure_program(both, reading, rounds)


def captures(folder: Path) -> Mapping[str, Sequence[str]]:
    """Return the commands that read the recorded captures."""
    return {
        f"decode {' '.join(how)}: {name}": ("decode", *how, str(folder / f"{name}.pcap"))
        for name in CAPTURES
        for how in DECODINGS
    }


def rows(pairs: Pairs) -> Iterator[tuple[str, ...]]:
    """Return the cells of the table, its head first."""
    yield "what", "other, ms", "this, ms", "this / other"
    yield "---", "---:", "---:", "---:"
    for name, turns in pairs.items():
        theirs, ours = (statistics.median(side) * 1000 for side in zip(*turns, strict=True))
        yield name, f"{theirs:.4g}", f"{ours:.4g}", f"{ratio(turns):.3f}"


def ratio(turns: Sequence[tuple[float, float]]) -> float:
    """Return how many times as long this one takes."""
    return statistics.median(ours / theirs for theirs, ours in turns)


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description="Compare two kdiags, in turns.")
    parser.add_argument("checkout", type=Path)
    parser.add_argument("python", type=Path)
    parser.add_argument("--folder", type=Path, default=ROOT / ".kafka/bench")
    parser.add_argument("--rounds", type=int, default=9)
    given = parser.parse_args()
    both = Installed(given.checkout, given.python.absolute()), Installed(ROOT, Path(sys.executable))
    startups = {f"kdiag {' '.join(each)}": each for each in STARTUPS}
    pairs = measure_program(both, startups, 2 * given.rounds + 3)
    pairs |= measure_codec(both)
    pairs |= measure_program(both, captures(given.folder), given.rounds)
    pairs |= measure_tail(both, given.rounds)
    sys.stdout.write("".join(f"| {' | '.join(cells)} |\n" for cells in rows(pairs)))
    if slower := [name for name, turns in pairs.items() if ratio(turns) > MOST]:
        raise SystemExit("\n".join(["", f"more than {MOST} times as long:", *slower]))


if __name__ == "__main__":
    main()
