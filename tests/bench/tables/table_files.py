"""Measures the tables that this kdiag writes on Spark, in turns with those of another checkout.

    python tests/bench/tables/table_files.py [CHECKOUT] [--brokers 3 100 1000] [--mb 20]
    python tests/bench/tables/table_files.py [CHECKOUT] --files 1 2 4 8 [--mb 20] [--rounds 3]

The capture is written over and over, each time with its broker at another address, until it has
so many brokers and so many bytes (`--mb`). `kdiag pipeline run` reads it on two cores; this prints
for each number of brokers, as one JSON object a line, the files and bytes of the tables, the time
that it took, and the CPU time of all its processes, and of those that are not Java's. By `--files`
so many captures of 3 brokers are read instead, and the last line says what one more file took from
each count to the next: where time grows linearly, these are alike.

CPU time is of the run's own processes, whatever else the machine does, but a busy machine makes
caches cold: for figures to keep, let nothing else run.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import pairwise
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[3]))

from tests.bench.repeat_capture import packet_starts

ROOT: Final = Path(__file__).parents[3]
_HEADER_BYTES: Final = 24
_PACKET_HEADER_BYTES: Final = 16
_SOURCE: Final = _PACKET_HEADER_BYTES + 14 + 12
_PORTS: Final = _PACKET_HEADER_BYTES + 14 + 20
_S_BETWEEN: Final = 1
_LOOK_S: Final = 0.25
_PARENT, _USER, _SYSTEM, _STARTED = 1, 11, 12, 19
"""Fields of /proc/PID/stat behind the name."""


def rounds_of(capture: bytes, port: int, brokers: int, number: int) -> Iterator[bytes]:
    """Yield the packets of a capture, over and over, each time later and with its broker elsewhere.

    Args:
        capture: what is repeated.
        port: of its broker.
        brokers: how many addresses there are.
        number: of the first round.
    """
    starts = np.array(packet_starts(capture))
    data = np.frombuffer(capture, np.uint8)
    source_ports = data[starts + _PORTS].astype(int) << 8 | data[starts + _PORTS + 1]
    at = starts + _SOURCE + np.where(source_ports == port, 0, 4)
    seconds = data[starts[[0, -1]][:, None] + np.arange(4)].copy().view("<u4").ravel()
    step = int(seconds[1] - seconds[0]) + _S_BETWEEN
    while True:
        made = data.copy()
        for index, byte in enumerate((10, 1, *divmod(number % brokers, 256))):
            made[at + index] = byte
        times = made[starts[:, None] + np.arange(4)].copy().view("<u4") + number * step
        made[starts[:, None] + np.arange(4)] = times.astype("<u4").view(np.uint8).reshape(-1, 4)
        yield made[_HEADER_BYTES:].tobytes()
        number += 1


def write_capture(given: argparse.Namespace, target: Path, brokers: int, first: int = 0) -> int:
    """Write a capture of at least so many brokers and megabytes; return how many rounds it has."""
    data = given.capture.read_bytes()
    with target.open("wb") as file:
        file.write(data[:_HEADER_BYTES])
        for count, each in enumerate(rounds_of(data, given.port, brokers, first)):
            if count >= brokers and file.tell() >= given.mb * 1_000_000:
                break
            file.write(each)
    return count


class ProcessTimes:
    """The CPU time of all that runs below this process, looked at again and again until it ends.

    What the kernel adds up for a parent is no use: Spark's daemon leaves that of its workers out.
    """

    def __init__(self) -> None:
        self._seen: dict[tuple[int, str], tuple[bool, float]] = {}

    def look(self) -> None:
        """Note how much each process has used so far."""
        parents: dict[int, int] = {}
        found: dict[int, tuple[str, bool, float]] = {}
        for folder in Path("/proc").glob("[0-9]*"):
            with suppress(OSError, ValueError):
                name, _, rest = (folder / "stat").read_text().rpartition(") ")
                fields = rest.split()
                parents[int(folder.name)] = int(fields[_PARENT])
                used_s = (int(fields[_USER]) + int(fields[_SYSTEM])) / os.sysconf("SC_CLK_TCK")
                found[int(folder.name)] = fields[_STARTED], name.endswith("(java"), used_s
        for process, (started, is_java, used_s) in found.items():
            parent = parents[process]
            while parent not in (0, 1, os.getpid()):
                parent = parents.get(parent, 0)
            if parent == os.getpid():
                self._seen[process, started] = is_java, used_s

    def used_s(self, *, by_java: bool = True) -> float:
        """Return how much all have used, or all but Java."""
        return sum(used_s for is_java, used_s in self._seen.values() if by_java or not is_java)


def run(checkout: Path, captures: list[Path], out: Path) -> dict[str, Any]:
    """Make tables of captures; return what that took, and what is there."""
    places = [str(checkout), str(checkout / "cmd")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    command = [sys.executable, "-m", "kdiag", "pipeline", "run", *map(str, captures), "--out"]
    begun_s, times = time.monotonic(), ProcessTimes()
    told = out / "told.json"
    with told.open("w") as file:
        process = subprocess.Popen(
            [*command, str(out), "--master", "local[2]", "-o", "json"],
            cwd=out,
            env=environment,
            stdout=file,
        )
        while process.poll() is None:
            times.look()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_LOOK_S)
    wall_s = time.monotonic() - begun_s
    if process.returncode:
        raise SystemExit(f"kdiag pipeline run ended with {process.returncode}")
    files = [each for each in out.rglob("*.parquet") if each.is_file()]
    return {
        "wall_s": round(wall_s, 1),
        "cpu_s": round(times.used_s(), 1),
        "python_cpu_s": round(times.used_s(by_java=False), 1),
        "files": len(files),
        "mb": round(sum(each.stat().st_size for each in files) / 1e6, 2),
        "rows": json.loads(told.read_text())["data"][0]["rows"],
    }


def compare(
    checkouts: dict[str, Path], captures: list[Path], rounds: int, told: object
) -> dict[str, dict[str, Any]]:
    """Run each checkout in turns on the same captures; print and return the medians."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in checkouts}
    for _ in range(rounds):
        for name, checkout in checkouts.items():
            with tempfile.TemporaryDirectory() as out:
                found[name].append(run(checkout, captures, Path(out)))
    require_equal_rows([each.pop("rows") for runs in found.values() for each in runs])
    all_medians = {}
    for name, runs in found.items():
        medians = {key: median(each[key] for each in runs) for key in runs[0]}
        sys.stdout.write(f"{json.dumps({'of': told, 'kdiag': name, **medians})}\n")
        sys.stdout.flush()
        all_medians[name] = medians
    return all_medians


def require_equal_rows(counted: list[dict[str, int]]) -> None:
    """Require that the tables that all runs wrote have as many rows in each.

    Raises:
        SystemExit: where they differ.
    """
    known = set.intersection(*map(set, counted))
    rows = {json.dumps({table: each[table] for table in sorted(known)}) for each in counted}
    if len(rows) != 1:
        raise SystemExit(f"rows differ: {rows}")


def tell_growth(name: str, measured: dict[int, dict[str, Any]]) -> None:
    """Print what one more file took, from each count of files to the next."""
    grown: dict[str, Any] = {"of": "one more file", "kdiag": name}
    for key in ("wall_s", "cpu_s", "python_cpu_s"):
        grown[key] = [
            round((measured[last][key] - measured[first][key]) / (last - first), 2)
            for first, last in pairwise(measured)
        ]
    sys.stdout.write(f"{json.dumps(grown)}\n")


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=Path, nargs="?")
    parser.add_argument(
        "--capture", type=Path, default=ROOT / "captures" / "produce_consume_group.pcap"
    )
    parser.add_argument("--port", type=int, default=9092)
    parser.add_argument("--brokers", type=int, nargs="*", default=[3, 100, 1000])
    parser.add_argument("--files", type=int, nargs="*", default=[])
    parser.add_argument("--mb", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    checkouts = {"this": ROOT}
    if given.checkout is not None:
        checkouts["other"] = given.checkout.resolve()
    measured: dict[str, dict[int, dict[str, Any]]] = {name: {} for name in checkouts}
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "0.pcap"
        for brokers in [] if given.files else given.brokers:
            write_capture(given, target, brokers)
            size = target.stat().st_size // 1_000_000
            compare(checkouts, [target], given.rounds, f"{brokers} brokers, {size} MB")
        for count in given.files:
            captures = [target.with_name(f"{number}.pcap") for number in range(count)]
            first = 0
            for each in captures:
                first += write_capture(given, each, 3, first)
            found = compare(checkouts, captures, given.rounds, f"{count} files")
            for name, medians in found.items():
                measured[name][count] = medians
    for name, by_count in measured.items():
        if len(by_count) > 1:
            tell_growth(name, by_count)


if __name__ == "__main__":
    main()
