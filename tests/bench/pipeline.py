"""Measures the pipeline on this machine: wall and CPU time, shuffled bytes, memory of workers.

    python tests/bench/pipeline.py large.pcap --alone --master 'local[1]' --master 'local[2]'

Runs the captures, as one recording, once to warm Spark up and then `--rounds` times on each master,
and once with the decoder alone (`--alone`) for comparison. Prints one JSON object a line. CPU time
is that of the JVM and of all Python processes, so it tells something on a busy machine too, which
wall time does not.
"""

import argparse
import json
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Any, Final

from kdiag.pcap.decoder import decode_capture
from kdiag.pipeline.run import Job, run
from kdiag.pipeline.session import open_session
from kdiag.report.parquet_tables import ParquetTables
from kdiag.report.tables import TableChoice
from kdiag.wire.connection import Connection
from kdiag.wire.dissection import Dissection
from kdiag.wire.exchange import Exchange
from kdiag.wire.fetch_session import FetchSessions
from kdiag.wire.topic_names import TopicNames

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_UTIME: Final = 11  # of the fields of /proc/PID/stat behind the name
_SAMPLE_S: Final = 0.2
CHOICE: Final = TableChoice(bodies=False)


def family() -> Iterator[tuple[int, list[str]]]:
    """Yield this process and all below it: number, and what the kernel tells of it."""
    stats = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            text = (folder / "stat").read_text()
        except OSError:
            continue
        stats[int(folder.name)] = text.rpartition(") ")[2].split()
    found = {os.getpid()}
    while more := {pid for pid, stat in stats.items() if int(stat[1]) in found} - found:
        found |= more
    for pid in found & stats.keys():
        yield pid, stats[pid]


def cpu_s() -> float:
    """Return the CPU time of all of them, those that have ended too."""
    return sum(sum(map(int, stat[_UTIME : _UTIME + 4])) for _, stat in family()) / _TICKS


class Workers(threading.Thread):
    """Looks at the memory of Python's workers now and then.

    Attributes:
        most_bytes: the most that one of them had.
    """

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self.most_bytes = 0
        self._is_over = threading.Event()

    def run(self) -> None:
        """Look until told to stop."""
        while not self._is_over.wait(_SAMPLE_S):
            for pid, stat in family():
                try:
                    command = Path(f"/proc/{pid}/cmdline").read_bytes()
                except OSError:
                    continue
                if b"pyspark.daemon" in command:
                    self.most_bytes = max(self.most_bytes, int(stat[21]) * _PAGE_BYTES)

    def stop(self) -> int:
        """Return the most memory that one had."""
        self._is_over.set()
        self.join()
        return self.most_bytes


def measured(do: Callable[[], Any]) -> dict[str, float]:
    """Return what doing something takes."""
    workers = Workers()
    workers.start()
    start_s, before_s = time.monotonic(), cpu_s()
    do()
    wall_s, used_s = time.monotonic() - start_s, cpu_s() - before_s
    return {
        "wall_s": round(wall_s, 2),
        "cpu_s": round(used_s, 2),
        "worker_mb": workers.stop() // 1_000_000,
    }


def decode_alone(files: list[str], folder: Path) -> None:
    """Write the tables with one decoder, as `kdiag decode --output parquet --no-bodies` does."""
    names, sessions = TopicNames(), FetchSessions()
    tables = ParquetTables(folder, names, CHOICE)
    for item in decode_capture(files):
        if isinstance(item, Exchange):
            dissection = Dissection(item)
            names.learn(dissection)
            sessions.follow(dissection)
            tables.exchange(dissection)
        elif isinstance(item, Connection):
            tables.connection(item)
        else:
            tables.gap(item)
    tables.finish()


def shuffled_bytes(scratch: Path) -> int:
    """Return the size of the shuffle files that lie there."""
    return sum(file.stat().st_size for file in scratch.rglob("shuffle_*.data"))


class Steps:
    """How long each step of a run took."""

    def __init__(self) -> None:
        self._begun: list[tuple[str, float]] = []

    def begin(self, name: str) -> None:
        """Begin a step, which ends the one before it."""
        self._begun.append((name, time.monotonic()))

    def took(self) -> dict[str, float]:
        """Return the seconds of each step but the last, which moves files."""
        return {name: round(end - start, 2) for (name, start), (_, end) in pairwise(self._begun)}


def print_line(**columns: Any) -> None:
    """Print an object as a line."""
    sys.stdout.write(json.dumps(columns) + "\n")
    sys.stdout.flush()


def measure_spark(files: list[str], master: str, rounds: int, *, is_indexed: bool) -> None:
    """Print what the pipeline takes on a master, Spark being up and warm."""
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder, "scratch")
        conf = {"spark.driver.memory": "2g", "spark.local.dir": str(scratch)}
        session = open_session(master, conf, "bench")
        job = Job(tuple(files), f"{folder}/out", choice=CHOICE, is_indexed=is_indexed)
        for number in range(rounds + 1):
            before, steps = shuffled_bytes(scratch), Steps()
            taken = measured(partial(run, session, job, steps.begin))
            shuffled = (shuffled_bytes(scratch) - before) // 10**6
            if number:
                print_line(what=master, **taken, shuffled_mb=shuffled, **steps.took())
        session.stop()


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("captures", nargs="+")
    parser.add_argument("--master", action="append")
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--index-only", action="store_true")
    parser.add_argument("--alone", action="store_true")
    options = parser.parse_args()
    size = sum(Path(file).stat().st_size for file in options.captures)
    print_line(what="input", mb=round(size / 10**6, 1), files=len(options.captures))
    if options.alone:
        with tempfile.TemporaryDirectory() as folder:
            taken = measured(lambda: decode_alone(options.captures, Path(folder)))
            print_line(what="one process", **taken)
    for master in options.master or ["local[1]", "local[2]"]:
        measure_spark(options.captures, master, options.rounds, is_indexed=options.index_only)


if __name__ == "__main__":
    main()
