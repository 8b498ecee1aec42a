"""Measures the pipeline on this machine: time, CPU of the JVM and of Python, shuffle, memory.

    python tests/bench/pipeline.py large.pcap
    python tests/bench/pipeline.py large.pcap --master 'local[2]' --shuffle-payloads --rounds 5
    python tests/bench/pipeline.py even.pcap --against elephant.pcap --master 'local[2]'
    python tests/bench/pipeline.py 0.pcap --against 0.pcap 1.pcap --master 'local[2]'

Runs the captures, as one recording, on each master and, for comparison, in one process with the
decoder alone, which writes the same tables; `--against` names another recording to run in the same
way. Each is a program of its own that stays up: it runs once to be warm, and then in `--rounds`
rounds, one after the other in each, so that what else the machine does falls on all alike. Prints
one JSON object a line: every run, then for each the median of its runs and how many times as long
that is as the shortest.
"""

import argparse
import json
import multiprocessing
import os
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
from multiprocessing.connection import Connection as Pipe
from pathlib import Path
from statistics import median
from typing import Any, Final, NamedTuple

from kdiag.exchange.context.fetch_session import FetchSessions
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Exchange
from kdiag.pcap.decoder import decode_capture
from kdiag.pipeline.job import Job
from kdiag.pipeline.run import run
from kdiag.pipeline.session import open_session
from kdiag.report.parquet import ParquetTables
from kdiag.report.tables.catalog import TableChoice

_TICKS: Final = os.sysconf("SC_CLK_TCK")
_PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_UTIME: Final = 11  # of the fields of /proc/PID/stat behind the name
_SAMPLE_S: Final = 0.2
ALONE: Final = "one process"
CHOICE: Final = TableChoice(bodies=False)


class Family(NamedTuple):
    """A process below this one, or this one itself.

    Attributes:
        pid: its number.
        name: of its program.
        stat: what the kernel tells of it.
    """

    pid: int
    name: str
    stat: list[str]


def family() -> Iterator[Family]:
    """Yield this process and all below it."""
    found: dict[int, Family] = {}
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            head, _, tail = (folder / "stat").read_text().rpartition(") ")
        except OSError:
            continue
        each = Family(int(folder.name), head.partition("(")[2], tail.split())
        found[each.pid] = each
    ours = {os.getpid()}
    while more := {each.pid for each in found.values() if int(each.stat[1]) in ours} - ours:
        ours |= more
    yield from (found[pid] for pid in ours & found.keys())


def cpu_s() -> tuple[float, float]:
    """Return the CPU time of the JVM, and of all else, those that have ended too."""
    used = {True: 0, False: 0}
    for each in family():
        used[each.name == "java"] += sum(map(int, each.stat[_UTIME : _UTIME + 4]))
    return used[True] / _TICKS, used[False] / _TICKS


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
            for each in family():
                try:
                    status = Path(f"/proc/{each.pid}/status").read_text()
                    command = Path(f"/proc/{each.pid}/cmdline").read_bytes()
                except OSError:
                    continue
                if b"pyspark.daemon" in command:
                    self.most_bytes = max(self.most_bytes, own_bytes(status))

    def stop(self) -> int:
        """Return the most memory that one had."""
        self._is_over.set()
        self.join()
        return self.most_bytes


def own_bytes(status: str) -> int:
    """Return the memory of a process without what it has mapped of files."""
    line = next((line for line in status.splitlines() if line.startswith("RssAnon:")), "")
    return int(line.split()[1]) * 1024 if line else 0


def measured(do: Callable[[], Any]) -> dict[str, Any]:
    """Return what doing something takes, and what it tells itself."""
    workers = Workers()
    workers.start()
    start_s, before_s = time.monotonic(), cpu_s()
    told = do()
    wall_s, after_s = time.monotonic() - start_s, cpu_s()
    return {
        "wall_s": round(wall_s, 2),
        "jvm_cpu_s": round(after_s[0] - before_s[0], 2),
        "python_cpu_s": round(after_s[1] - before_s[1], 2),
        "worker_mb": workers.stop() // 1_000_000,
        **told,
    }


def decode_alone(files: Sequence[str]) -> dict[str, Any]:
    """Write the tables with one decoder, as `kdiag decode --output parquet --no-bodies` does."""
    names, sessions = TopicNames(), FetchSessions()
    with tempfile.TemporaryDirectory() as folder:
        tables = ParquetTables(Path(folder), names, CHOICE)
        for item in decode_capture(list(files)):
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
    return {}


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
        """Return the seconds of each step."""
        self.begin("")
        return {name: round(end - start, 2) for (name, start), (_, end) in pairwise(self._begun)}


class Subject(NamedTuple):
    """What is measured.

    Attributes:
        files: the captures.
        master: where Spark runs; `ALONE` for the decoder without Spark.
        is_indexed: whether payloads stay in the captures where they can.
        conf: more settings of Spark.
    """

    files: tuple[str, ...]
    master: str
    is_indexed: bool
    conf: tuple[str, ...]

    @property
    def name(self) -> str:
        """Return what to call it."""
        size = sum(Path(file).stat().st_size for file in self.files) // 10**6
        first = Path(self.files[0]).name
        more = f" and {len(self.files) - 1} more" if len(self.files) > 1 else ""
        return f"{self.master}: {first}{more}, {size} MB"


@contextmanager
def ready(subject: Subject) -> Iterator[Callable[[], dict[str, Any]]]:
    """Give what runs a subject once, Spark being up."""
    if subject.master == ALONE:
        yield partial(decode_alone, subject.files)
        return
    with tempfile.TemporaryDirectory() as folder:
        scratch = Path(folder, "scratch")
        conf = {"spark.driver.memory": "2g", "spark.local.dir": str(scratch)}
        conf |= {key: value for key, _, value in (each.partition("=") for each in subject.conf)}
        session = open_session(subject.master, conf, "bench")
        job = Job(subject.files, f"{folder}/out", choice=CHOICE, is_indexed=subject.is_indexed)

        def do() -> dict[str, Any]:
            before, steps = shuffled_bytes(scratch), Steps()
            run(session, job, steps.begin)
            shuffled = max(0, shuffled_bytes(scratch) - before)
            return {"shuffled_mb": round(shuffled / 10**6, 1), **steps.took()}

        yield do
        session.stop()


def serve(subject: Subject, pipe: Pipe) -> None:
    """Run a subject whenever told to, and send what it took; the first time is for warmth."""
    with ready(subject) as do:
        do()
        pipe.send({})
        while pipe.recv():
            pipe.send(measured(do))


def print_line(**columns: Any) -> None:
    """Print an object as a line."""
    sys.stdout.write(json.dumps(columns) + "\n")
    sys.stdout.flush()


def measure(subjects: Sequence[Subject], rounds: int) -> None:
    """Print every run of all subjects, and their medians."""
    spawn = multiprocessing.get_context("spawn")
    pipes: list[Pipe] = []
    for subject in subjects:
        ours, theirs = spawn.Pipe()
        spawn.Process(target=serve, args=(subject, theirs)).start()
        ours.recv()
        pipes.append(ours)
    walls: list[list[float]] = [[] for _ in subjects]
    for _ in range(rounds):
        for subject, pipe, wall_s in zip(subjects, pipes, walls, strict=True):
            pipe.send("run")
            taken = pipe.recv()
            wall_s.append(taken["wall_s"])
            print_line(what=subject.name, **taken)
    for pipe in pipes:
        pipe.send("")
    medians = [median(wall_s) for wall_s in walls]
    for subject, middle in zip(subjects, medians, strict=True):
        ratio = round(middle / min(medians), 2)
        print_line(what=subject.name, median_s=round(middle, 2), ratio=ratio)


def main() -> None:
    """Measure."""
    parser = argparse.ArgumentParser()
    parser.add_argument("captures", nargs="+")
    parser.add_argument("--against", action="append", nargs="+", default=[])
    parser.add_argument("--master", action="append")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--shuffle-payloads", action="store_true")
    parser.add_argument("--conf", action="append", default=[])
    options = parser.parse_args()
    is_indexed = not options.shuffle_payloads
    subjects = [
        Subject(tuple(files), master, is_indexed, tuple(options.conf))
        for files in (options.captures, *options.against)
        for master in options.master or ("local[1]", "local[2]", ALONE)
    ]
    measure(subjects, options.rounds)


if __name__ == "__main__":
    main()
