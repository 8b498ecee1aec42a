"""Measures `kdiag groups` of 5,000 groups against Kafka's own tool, in turns.

    PYTHONPATH=tests/rig python tests/bench/groups/beside_kafka.py [--rounds 3] [--groups 5000]

starts three real brokers and makes groups that have committed offsets of 20 partitions each. Both
programs tell the lag of every partition of every group. Prints a Markdown table: the median CPU and
wall time of each, and the requests that kdiag sent. Ends with 1 if a lag differs.
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

from group_stories.real_members import client_of
from kdiag.client.cluster_client import ClusterClient
from kdiag.client.network.request import RequestBuilder, builder_of
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from kdiag.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from kdiag.wire.schema import Versions
from real_kafka import kafka_jars
from real_kafka.kafka_cluster import KafkaCluster, free_ports
from real_kafka.releases import USUAL
from real_kafka.topic_maker import create, produce

PARTITIONS: Final = 20
RECORDS: Final = 5
TOPIC: Final = "orders"
AT_ONCE: Final = 200
OURS: Final = "kdiag groups"
THEIRS: Final = "kafka-consumer-groups --describe --all-groups"
_KDIAG: Final = Path(sys.executable).parent / "kdiag"
ENVIRONMENT: Final = {
    name: value for name, value in os.environ.items() if not name.startswith("PYTHON")
}


class Cost(NamedTuple):
    """What one run of a program took, and what it printed."""

    cpu_s: float
    wall_s: float
    out: str


def make_groups(cluster: KafkaCluster, names: Sequence[str]) -> None:
    """Have the cluster know groups: each has committed an offset of every partition."""
    create(cluster.bootstrap, TOPIC, PARTITIONS)
    for number in range(PARTITIONS):
        produce(cluster.bootstrap, TOPIC, [(None, b"v")] * RECORDS, number)
    with client_of(cluster.bootstrap) as client:
        client.connect()
        for at in range(0, len(names), AT_ONCE):
            left = list(names[at : at + AT_ONCE])
            while left:
                left = list(_commit(client, left))


def _commit(client: ClusterClient, names: list[str]) -> Iterator[str]:
    """Commit for groups; yield those whose coordinator is not ready yet."""
    question = FindCoordinatorRequest(coordinator_keys=names)
    found = client.ask_any(question, FindCoordinatorResponse).coordinators
    yield from (each.key for each in found if each.error_code)
    known = [(each.node_id, each.key) for each in found if not each.error_code]
    parts = [OffsetCommitRequestPartition(number, number % RECORDS) for number in range(PARTITIONS)]
    topics = [OffsetCommitRequestTopic(TOPIC, partitions=parts)]
    questions = [(node, OffsetCommitRequest(key, topics=topics)) for node, key in known]
    answers = client.ask_each(
        [(node, _by_name(body)) for node, body in questions], OffsetCommitResponse
    )
    for (_, key), answer in zip(known, answers, strict=True):
        codes = [
            part.error_code
            for topic in (answer.body.topics if answer.body is not None else ())
            for part in topic.partitions
        ]
        if not codes or any(codes):
            yield key


def _by_name(request: OffsetCommitRequest) -> RequestBuilder:
    """Return the builder of a commit that names its topic."""
    return builder_of(request)._replace(versions=Versions(2, 9))


def run(command: Sequence[str]) -> Cost:
    """Run a program once."""
    began_s, used_s = time.monotonic(), _children_s()
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=ENVIRONMENT)
    if not done.stdout:
        raise SystemExit(done.stderr)
    return Cost(_children_s() - used_s, time.monotonic() - began_s, done.stdout)


def _children_s() -> float:
    times = os.times()
    return times.children_user + times.children_system


def lags_of_ours(out: str) -> dict[str, int]:
    """Return the lag of each group in our document."""
    return {each["group"]: each["lag"] for each in json.loads(out)["data"]}


def lags_of_theirs(out: str) -> dict[str, int]:
    """Return the sum of the lags of each group in their tables."""
    lags: dict[str, int] = {}
    for line in out.splitlines():
        cells = line.split()
        if len(cells) > 5 and cells[1] == TOPIC:
            lags[cells[0]] = lags.get(cells[0], 0) + int(cells[5])
    return lags


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--groups", type=int, default=5_000)
    options = parser.parse_args()
    names = [f"group-{number:05}" for number in range(options.groups)]
    jars = kafka_jars.jars(USUAL)
    with (
        tempfile.TemporaryDirectory() as folder,
        KafkaCluster(USUAL, Path(folder), ports=free_ports(3)) as cluster,
    ):
        make_groups(cluster, names)
        tool = "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand"
        where = ("--bootstrap-server", cluster.bootstrap, "--describe", "--all-groups")
        ours = [str(_KDIAG), "groups", "-b", cluster.bootstrap, "-o", "json", "--no-times"]
        commands = {
            OURS: ours,
            THEIRS: kafka_jars.java_command(jars, tool, *where, is_measured=True),
        }
        costs: dict[str, list[Cost]] = {name: [] for name in commands}
        for _ in range(options.rounds):
            for name, command in commands.items():
                costs[name].append(run(command))
        traced = subprocess.run([*ours, "--trace"], capture_output=True, text=True, check=False)
        requests = sum(line.strip()[:1].isdecimal() for line in traced.stderr.splitlines())
    lines = [f"{len(names)} groups of {PARTITIONS} partitions, {options.rounds} rounds", ""]
    lines += ["| program | CPU s | wall s |", "|---|---|---|"]
    for name, runs in costs.items():
        cpu_s = statistics.median(each.cpu_s for each in runs)
        wall_s = statistics.median(each.wall_s for each in runs)
        lines.append(f"| {name} | {cpu_s:.2f} | {wall_s:.2f} |")
    sys.stdout.write("\n".join([*lines, "", f"kdiag sent {requests} requests", ""]))
    if lags_of_ours(costs[OURS][0].out) != lags_of_theirs(costs[THEIRS][0].out):
        raise SystemExit("the lags differ")


if __name__ == "__main__":
    main()
