"""Measures `kdiag decode` against tshark, in turns, on captures of a real Kafka.

    python tests/bench/decode.py [FOLDER] [--rounds 5] [--tshark-rounds 1]

takes the captures of `record_load.py` from the folder (by default `.kafka/bench`), or has them
recorded first, which needs root. Before anything is measured, kdiag must find in them every record
that the clients wrote and read. Prints a Markdown table: the median, least and most CPU time of
each program with all that it starts, its peak memory, and how many times longer tshark takes. Ends
with 1, and says why, if a goal is missed. On `large` and `newest` tshark takes minutes, so it has
rounds of its own there.
"""

import argparse
import json
import os
import re
import statistics
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final, NamedTuple

KDIAG: Final = str(Path(sys.executable).with_name("kdiag"))
MAX_RSS_MB: Final = 200
PARTIAL: Final = 8
"""What kdiag ends with when a capture is cut, as `huge` is."""

PASS: Final = "tshark, its cheapest pass"
JSON: Final = "tshark, JSON of the Kafka packets"
SUMMARY: Final = "kdiag, summary"
LINES: Final = "kdiag, JSON lines"
VALUES: Final = "kdiag, JSON lines with values"
PROGRAMS: Final[Mapping[str, Sequence[str]]] = {
    PASS: ("tshark", "-n", "-q", "-z", "io,stat,0,kafka", "-r"),
    JSON: ("tshark", "-n", "-Y", "kafka", "-T", "json", "-r"),
    SUMMARY: (KDIAG, "decode", "--summary"),
    LINES: (KDIAG, "decode", "--output", "jsonl"),
    VALUES: (KDIAG, "decode", "--output", "jsonl", "--values"),
}
RIVAL: Final = {SUMMARY: PASS, LINES: JSON, VALUES: JSON}
"""Which program of tshark's does the same job."""

ENVIRONMENT: Final = {
    name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
}
"""So that kdiag keeps its compiled files and buffers its output, as wherever it is installed."""

_ROOT: Final = Path(__file__).parent.parent.parent


class Capture(NamedTuple):
    """A capture of `record_load.py`.

    Attributes:
        name: its file name without the ending.
        records: how many records the clients wrote and read, by API; none if that is not known.
        goals: how many times longer tshark must take, by kdiag's program.
        tshark: whether tshark reads it: not at all, in rounds of its own, or in every round.
    """

    name: str
    records: Mapping[str, int]
    goals: Mapping[str, float]
    tshark: str


class Cost(NamedTuple):
    """What one run of a program took."""

    cpu_s: float
    rss_mb: float


CAPTURES: Final = (
    Capture(
        "large",
        {"Produce": 190_000, "Fetch": 190_000},
        {SUMMARY: 60, LINES: 40, VALUES: 8},
        "own rounds",
    ),
    Capture("small", {"Produce": 60_000}, {SUMMARY: 1, LINES: 6}, "every round"),
    Capture("newest", {"Produce": 190_000, "Fetch": 190_000}, {}, "own rounds"),
    Capture("huge", {}, {}, "never"),
)

Costs = dict[tuple[str, str], list[Cost]]
"""The runs by capture and program."""


def batches(document: Any) -> Iterator[Mapping[str, Any]]:
    """Return the record batches anywhere in a decoded body."""
    if isinstance(document, dict):
        if "recordCount" in document:
            yield document
        document = list(document.values())
    if isinstance(document, list):
        for each in document:
            yield from batches(each)


def check_records(capture: Capture, file: Path) -> None:
    """Check that kdiag finds the records, each whole and with its value.

    Raises:
        SystemExit: if it finds others, or reads any exchange in part only.
    """
    if not capture.records:
        return
    found: Counter[str] = Counter()
    command = [*PROGRAMS[VALUES], str(file)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=ENVIRONMENT) as kdiag:
        assert kdiag.stdout is not None
        for line in kdiag.stdout:
            exchange = json.loads(line)
            if exchange["kind"] != "exchange" or exchange["status"] != "ok":
                found[exchange.get("status", exchange["kind"])] += 1
                continue
            for batch in batches([exchange["request"], exchange["response"]]):
                whole = batch["crcOk"] and len(batch["records"]) == batch["recordCount"]
                valued = all(each["value"] for each in batch["records"])
                found[exchange["api"]] += batch["recordCount"] if whole and valued else 0
    del found["connection"]
    if kdiag.returncode or found != capture.records:
        raise SystemExit(f"{file}: kdiag found {dict(found)}, not {dict(capture.records)}")


def run(program: str, file: Path) -> Cost:
    """Run a program on a capture and return what it, and what it started, took.

    Raises:
        SystemExit: if it fails.
    """
    started = subprocess.Popen(
        [*PROGRAMS[program], str(file)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env=ENVIRONMENT,
    )
    _, status, usage = os.wait4(started.pid, 0)
    started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode not in {0, PARTIAL if file.stem == "huge" else 0}:
        raise SystemExit(f"{program} on {file} ended with {started.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, usage.ru_maxrss * 1024 / 1e6)


def measure(folder: Path, rounds: int, tshark_rounds: int) -> Costs:
    """Run all programs on all captures in turns."""
    costs: Costs = {}
    for number in range(rounds):
        tshark_reads = {"own rounds": number < tshark_rounds, "every round": True, "never": False}
        for capture in CAPTURES:
            for program in PROGRAMS:
                if program in RIVAL or tshark_reads[capture.tshark]:
                    cost = run(program, folder / f"{capture.name}.pcap")
                    costs.setdefault((capture.name, program), []).append(cost)
    return costs


def rows(costs: Costs) -> Iterator[tuple[str, ...]]:
    """Return the cells of the table, its head first."""
    yield "capture", "program", "CPU s", "least - most", "peak MB", "tshark takes"
    yield "---", "---", "---:", "---:", "---:", "---:"
    for (name, program), runs in costs.items():
        times = [cost.cpu_s for cost in runs]
        spread = f"{min(times):.2f} - {max(times):.2f}" if len(times) > 1 else ""
        ratio = times_longer(costs, name, program)
        yield (
            name,
            program,
            f"{statistics.median(times):.2f}",
            spread,
            f"{max(cost.rss_mb for cost in runs):.0f}",
            f"{ratio:.1f}x" if ratio else "",
        )


def times_longer(costs: Costs, name: str, program: str) -> float | None:
    """Return how many times longer tshark takes for what a program of kdiag's does."""
    rival = costs.get((name, RIVAL.get(program, "")))
    if rival is None:
        return None
    theirs, ours = (
        statistics.median(cost.cpu_s for cost in runs) for runs in (rival, costs[name, program])
    )
    return theirs / ours


def missed(costs: Costs) -> Iterator[str]:
    """Return the goals that were missed, in words."""
    for capture in CAPTURES:
        for program, goal in capture.goals.items():
            ratio = times_longer(costs, capture.name, program)
            if ratio is not None and ratio < goal:
                yield f"{program} on {capture.name}: tshark takes {ratio:.1f}x, not {goal:.0f}x"
    for (name, program), runs in costs.items():
        peak_mb = max(cost.rss_mb for cost in runs)
        if program in RIVAL and peak_mb >= MAX_RSS_MB:
            yield f"{program} on {name}: peak memory {peak_mb:.0f} MB, not below {MAX_RSS_MB}"


def machine() -> str:
    """Return what was measured, and on what, in a line."""
    said = []
    for program in ("tshark", KDIAG):
        command = [program, "--version"]
        answer = subprocess.run(command, capture_output=True, text=True, check=True).stdout
        said.append(f"{Path(program).name} {re.findall(r'[0-9.]+[0-9]', answer)[0]}")
    processor = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    said += [
        f"Python {sys.version.split()[0]}",
        f"{os.cpu_count()} cores of {processor[1] if processor else 'an unknown CPU'}",
    ]
    return ", ".join(said)


def capture_line(file: Path) -> str:
    """Return the size of a capture in words, by Wireshark's own count."""
    said = subprocess.run(
        ["capinfos", "-T", "-M", "-c", "-r", str(file)], capture_output=True, text=True, check=True
    )
    packets = int(said.stdout.split("\t")[1])
    return f"{file.name}: {file.stat().st_size / 1e6:,.0f} MB, {packets:,} packets"


def record(folder: Path) -> None:
    """Record the captures."""
    program = Path(__file__).with_name("record_load.py")
    environment = {**os.environ, "PYTHONPATH": str(_ROOT / "tests" / "rig")}
    subprocess.run([sys.executable, str(program), str(folder)], env=environment, check=True)


def main() -> None:
    """Record if need be, check, measure, print."""
    parser = argparse.ArgumentParser(description="Measure kdiag decode against tshark, in turns.")
    parser.add_argument("folder", type=Path, nargs="?", default=_ROOT / ".kafka" / "bench")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--tshark-rounds", type=int, default=1)
    given = parser.parse_args()
    files = [given.folder / f"{capture.name}.pcap" for capture in CAPTURES]
    if not all(file.exists() for file in files):
        record(given.folder)
    with ProcessPoolExecutor(1) as apart:  # a program's peak memory starts with its parent's size
        list(apart.map(check_records, CAPTURES, files))
    costs = measure(given.folder, given.rounds, given.tshark_rounds)
    lines = [machine(), *map(capture_line, files), ""]
    lines += [f"| {' | '.join(cells)} |" for cells in rows(costs)]
    sys.stdout.write("\n".join(lines) + "\n")
    if misses := list(missed(costs)):
        raise SystemExit("\n".join(["", "missed:", *misses]))


if __name__ == "__main__":
    main()
