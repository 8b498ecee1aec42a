"""Compares the tables that this kdiag writes on Spark with those of another checkout, in turns.

    python tests/bench/table_files.py CHECKOUT [--capture FILE] [--port 9092] [--brokers 3 100 1000]

The capture is written over and over, each time with its broker at another address, until it has so
many brokers and so many bytes (`--mb`). Both run `kdiag pipeline run` on two cores; prints for each
number of brokers, as one JSON object a line, the files and bytes of the tables, the time that it
took, and how long cores were busy. With `--files 1 2 4 8` it runs so many of the captures
of 3 brokers instead, to show how the time grows.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from statistics import median
from typing import Any, Final

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.bench.repeat_capture import packet_starts

ROOT: Final = Path(__file__).parents[2]
_HEADER_BYTES: Final = 24
_PACKET_HEADER_BYTES: Final = 16
_SOURCE: Final = _PACKET_HEADER_BYTES + 14 + 12
_PORTS: Final = _PACKET_HEADER_BYTES + 14 + 20
_S_BETWEEN: Final = 1


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


def busy_s() -> float:
    """Return how long all cores of the machine have been busy: nothing else may run meanwhile."""
    user, nice, system, *_ = map(int, Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:])
    return (user + nice + system) / os.sysconf("SC_CLK_TCK")


def run(checkout: Path, captures: list[Path], out: Path) -> dict[str, Any]:
    """Make tables of captures; return what that took, and what is there."""
    places = [str(checkout), str(checkout / "cmd")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(places)}
    command = [sys.executable, "-m", "kdiag", "pipeline", "run", *map(str, captures), "--out"]
    before_s, begun_s = busy_s(), time.monotonic()
    done = subprocess.run(
        [*command, str(out), "--master", "local[2]", "-o", "json"],
        cwd=out,
        env=environment,
        stdout=subprocess.PIPE,
        check=True,
    )
    wall_s, used_s = time.monotonic() - begun_s, busy_s() - before_s
    files = [each for each in out.rglob("*.parquet") if each.is_file()]
    return {
        "wall_s": round(wall_s, 1),
        "cpu_s": round(used_s, 1),
        "files": len(files),
        "mb": round(sum(each.stat().st_size for each in files) / 1e6, 2),
        "rows": json.loads(done.stdout)["data"][0]["rows"],
    }


def compare(checkouts: dict[str, Path], captures: list[Path], rounds: int, told: object) -> None:
    """Run each checkout in turns on the same captures, and print the medians."""
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in checkouts}
    for _ in range(rounds):
        for name, checkout in checkouts.items():
            with tempfile.TemporaryDirectory() as out:
                found[name].append(run(checkout, captures, Path(out)))
    rows = {
        json.dumps(each.pop("rows"), sort_keys=True) for runs in found.values() for each in runs
    }
    if len(rows) != 1:
        raise SystemExit(f"rows differ: {rows}")
    for name, runs in found.items():
        medians = {key: median(each[key] for each in runs) for key in runs[0]}
        sys.stdout.write(f"{json.dumps({'of': told, 'kdiag': name, **medians})}\n")
        sys.stdout.flush()


def main() -> None:
    """Measure what is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("checkout", type=Path)
    parser.add_argument(
        "--capture", type=Path, default=ROOT / "captures" / "produce_consume_group.pcap"
    )
    parser.add_argument("--port", type=int, default=9092)
    parser.add_argument("--brokers", type=int, nargs="*", default=[3, 100, 1000])
    parser.add_argument("--files", type=int, nargs="*", default=[])
    parser.add_argument("--mb", type=int, default=20)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    checkouts = {"this": ROOT, "other": given.checkout}
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
            compare(checkouts, captures, given.rounds, f"{count} files")


if __name__ == "__main__":
    main()
