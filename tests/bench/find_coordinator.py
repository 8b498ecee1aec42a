"""Measures a cold `kdiag find-coordinator` against kafka-python's own program, in turns.

    PYTHONPATH=tests/rig python tests/bench/find_coordinator.py [--rounds 15]

starts three real brokers with a consumer group. `kdiag find-coordinator` asks each of them who
coordinates the group and says whether that is healthy; `kafka-python admin groups describe` asks
one, and the coordinator. Before anything is measured, both must name the group's state. Prints a
Markdown table: the median, least and most CPU time of each program and its median time on the wall.
Then a thousand groups in one call, and the same with a broker down. Ends with 1, and says why, if a
goal is missed.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Final, NamedTuple

from real_kafka.kafka_cluster import KafkaCluster, free_ports
from real_kafka.releases import USUAL

BROKERS: Final = 3
GROUP: Final = "billing"
MANY: Final = 1_000
MAX_SECONDS: Final = 5.0
"""How long a thousand groups may take."""

MAX_REQUESTS: Final = 2 * BROKERS
"""How many FindCoordinator requests a thousand groups may take: each asks for 500."""

PARTIAL: Final = 8
OURS: Final = "kdiag find-coordinator"
THEIRS: Final = "kafka-python admin groups describe"

ENVIRONMENT: Final = {
    name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
}
"""So that both keep their compiled files and buffer output, as wherever they are installed."""

_PROGRAMS: Final = Path(sys.executable).parent


class Cost(NamedTuple):
    """What one run of a program took."""

    cpu_s: float
    wall_s: float


class Run(NamedTuple):
    """What one call for a thousand groups came to."""

    what: str
    wall_s: float
    code: int
    groups: int
    named: int


def commands(cluster: KafkaCluster) -> dict[str, list[str]]:
    """Return the programs that are compared, with the arguments of each."""
    servers = cluster.bootstrap.split(",")
    repeated = [text for server in servers for text in ("-b", server)]
    describe = ["admin", *repeated, "groups", "describe", "-g", GROUP]
    return {
        OURS: [str(_PROGRAMS / "kdiag"), "find-coordinator", "-b", cluster.bootstrap, GROUP],
        THEIRS: [str(_PROGRAMS / "kafka-python"), *describe],
    }


def make_group(cluster: KafkaCluster) -> None:
    """Have the cluster know the group: it has committed an offset.

    Raises:
        SystemExit: if that cannot be done.
    """
    topic = {"name": "orders", "numPartitions": 1, "replicationFactor": BROKERS}
    created = kdiag(cluster, "request", "CreateTopics", json.dumps({"topics": [topic]}), "--yes")
    partitions = [{"partitionIndex": 0, "committedOffset": 0}]
    commit = {"groupId": GROUP, "topics": [{"name": "orders", "partitions": partitions}]}
    said = created.stderr
    for _ in range(100):  # the coordinator has to load its partition first
        where = ("--to", f"coordinator:{GROUP}", "--yes")
        done = kdiag(cluster, "request", "OffsetCommit", json.dumps(commit), *where)
        if done.returncode == 0:
            return
        said = done.stderr
    raise SystemExit(said)


def kdiag(
    cluster: KafkaCluster, command: str, *arguments: str, stdin: str = ""
) -> "subprocess.CompletedProcess[str]":
    """Run kdiag on the first broker's address."""
    first = cluster.bootstrap.split(",")[0]
    return subprocess.run(
        [str(_PROGRAMS / "kdiag"), command, "-b", first, *arguments],
        input=stdin,
        capture_output=True,
        text=True,
        check=False,
        env=ENVIRONMENT,
    )


def check(programs: dict[str, list[str]]) -> None:
    """Check that each program finds the group; the runs also write the compiled files.

    Raises:
        SystemExit: if one does not.
    """
    for name, command in programs.items():
        done = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
        if done.returncode or "Empty" not in done.stdout:
            raise SystemExit(f"{name} does not find the group:\n{done.stdout}{done.stderr}")


def run(command: Sequence[str]) -> Cost:
    """Run a program and return what it took."""
    began = time.monotonic()
    with subprocess.Popen(
        command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=ENVIRONMENT
    ) as started:
        _, status, usage = os.wait4(started.pid, 0)
        started.returncode = os.waitstatus_to_exitcode(status)
    if started.returncode:
        raise SystemExit(f"{command} ended with {started.returncode}")
    return Cost(usage.ru_utime + usage.ru_stime, time.monotonic() - began)


def measure(programs: dict[str, list[str]], rounds: int) -> dict[str, list[Cost]]:
    """Run all programs in turns."""
    costs: dict[str, list[Cost]] = {name: [] for name in programs}
    for _ in range(rounds):
        for name, command in programs.items():
            costs[name].append(run(command))
    return costs


def ask_for_many(cluster: KafkaCluster, what: str) -> Run:
    """Ask for a thousand groups in one call."""
    names = "\n".join(f"group-{number}" for number in range(MANY))
    began = time.monotonic()
    done = kdiag(cluster, "find-coordinator", "-", "-o", "json", stdin=names)
    wall_s = time.monotonic() - began
    data = json.loads(done.stdout)["data"]
    named = sum(each["coordinator"] is not None for each in data)
    return Run(what, wall_s, done.returncode, len(data), named)


def request_count(cluster: KafkaCluster) -> int:
    """Return how many FindCoordinator requests a thousand groups take."""
    names = "\n".join(f"group-{number}" for number in range(MANY))
    done = kdiag(cluster, "find-coordinator", "-", "--trace", stdin=names)
    return sum(" FindCoordinator v" in line for line in done.stderr.splitlines())


def cost_rows(costs: dict[str, list[Cost]]) -> Iterator[tuple[str, ...]]:
    """Return the cells of the first table, its head first."""
    yield "program", "CPU ms", "least - most", "wall ms"
    yield "---", "---:", "---:", "---:"
    for name, runs in costs.items():
        cpu_ms = [1000 * each.cpu_s for each in runs]
        yield (
            name,
            f"{statistics.median(cpu_ms):.0f}",
            f"{min(cpu_ms):.0f} - {max(cpu_ms):.0f}",
            f"{1000 * statistics.median(each.wall_s for each in runs):.0f}",
        )


def run_rows(runs: Sequence[Run]) -> Iterator[tuple[str, ...]]:
    """Return the cells of the second table, its head first."""
    yield f"{MANY} groups in one call", "wall s", "told", "with a coordinator", "exit code"
    yield "---", "---:", "---:", "---:", "---:"
    for each in runs:
        yield each.what, f"{each.wall_s:.1f}", str(each.groups), str(each.named), str(each.code)


def missed(costs: dict[str, list[Cost]], runs: Sequence[Run], requests: int) -> Iterator[str]:
    """Return the goals that were missed, in words."""
    ours, theirs = (
        statistics.median(each.cpu_s for each in costs[name]) for name in (OURS, THEIRS)
    )
    if ours >= theirs:
        yield f"{OURS} takes {ours / theirs:.2f} times the CPU of {THEIRS}"
    if requests > MAX_REQUESTS:
        yield f"{MANY} groups take {requests} requests, not {MAX_REQUESTS}"
    for each, code in zip(runs, (0, PARTIAL), strict=True):
        if each.wall_s > MAX_SECONDS:
            yield f"{each.what}: {each.wall_s:.1f} s, not {MAX_SECONDS}"
        if (each.code, each.groups) != (code, MANY):
            yield f"{each.what}: {each.groups} groups, exit code {each.code}, not {code}"


def main() -> None:
    """Start the brokers, check, measure, print."""
    parser = argparse.ArgumentParser(description="Measure find-coordinator in turns with a rival.")
    parser.add_argument("--rounds", type=int, default=15)
    given = parser.parse_args()
    with (
        tempfile.TemporaryDirectory() as folder,
        KafkaCluster(USUAL, Path(folder), ports=free_ports(BROKERS)) as cluster,
    ):
        make_group(cluster)
        programs = commands(cluster)
        check(programs)
        costs = measure(programs, given.rounds)
        requests = request_count(cluster)
        runs = [ask_for_many(cluster, "all brokers up")]
        cluster.kill(BROKERS)
        runs.append(ask_for_many(cluster, "one of three down"))
    for table in (cost_rows(costs), run_rows(runs)):
        sys.stdout.write("\n".join(f"| {' | '.join(cells)} |" for cells in table) + "\n\n")
    sys.stdout.write(f"{requests} FindCoordinator requests for {MANY} groups\n")
    if misses := list(missed(costs, runs, requests)):
        raise SystemExit("\n".join(["", "missed:", *misses]))


if __name__ == "__main__":
    main()
