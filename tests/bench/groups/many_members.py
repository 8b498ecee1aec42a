"""Measures `kdiag groups` of 50,000 members that read 100,000 partitions.

    PYTHONPATH=tests/rig python tests/bench/groups/many_members.py [--groups 5000]

starts two scripted brokers in this process. Each group has ten members and a topic of twenty
partitions, half of which it has read. `kdiag groups` runs against a tenth of the groups and against
all. Prints a Markdown table: CPU and wall time and the largest memory of kdiag, and the requests
that it sent. Ends with 1 if a lag is wrong, if a group costs more among many than among few, or if
the memory grows with the members and partitions: few KB for the sums of a group are allowed.
"""

import argparse
import json
import os
import subprocess
import sys
import time
from tempfile import TemporaryFile
from typing import IO, Final, NamedTuple

from kdiag.client.fetch.position import PartitionKey
from kdiag.wire.api.metadata import MetadataResponsePartition, MetadataResponseTopic
from scripted_kafka.group_cluster import GroupCluster
from scripted_kafka.log_cluster import Log
from scripted_kafka.scripted_broker import Received
from scripted_kafka.scripted_cluster import ScriptedCluster

MEMBERS: Final = 10
PARTITIONS: Final = 20
PER_MEMBER: Final = PARTITIONS // MEMBERS
END: Final = 8
COMMITTED: Final = 5
MOST_GROWTH: Final = 1.3
"""By which factor the CPU time of a group may grow where there are ten times as many."""

MOST_KB_PER_GROUP: Final = 3
"""By how much the memory may grow with each group: its row, and the document that is printed."""

_PROGRAM: Final = """
import re, sys
from pathlib import Path
from kdiag_cli.app import main
try:
    main()
finally:
    status = Path("/proc/self/status").read_text()
    print(re.search(r"VmHWM:\\s+(\\d+)", status)[1], file=sys.stderr)
"""
"""Runs kdiag and tells its memory; what the system counts for it would count this program's too."""


class GroupsCost(NamedTuple):
    """What one run took."""

    groups: int
    cpu_s: float
    wall_s: float
    peak_mb: float
    requests: int


class ManyGroups(GroupCluster):
    """A cluster whose topics are looked up by name."""

    def __init__(self, count: int) -> None:
        super().__init__(2)
        self.by_name: dict[str, MetadataResponseTopic] = {}
        for number in range(count):
            self._add_topic(f"topic-{number:05}", (number + 1).to_bytes(16))
        self.topics = [*self.by_name.values()]

    def _add_topic(self, name: str, topic_id: bytes) -> None:
        told = MetadataResponseTopic(name=name, topic_id=topic_id, partitions=[])
        for number in range(PARTITIONS):
            leader = 1 + number % 2
            self.logs[PartitionKey(name, number)] = Log(topic_id=topic_id, leader=leader, end=END)
            told.partitions.append(MetadataResponsePartition(0, number, leader))
        self.by_name[name] = told

    def fill(self) -> None:
        """Add a group for each topic."""
        commits = dict.fromkeys(range(0, PARTITIONS, 2), COMMITTED)
        for name in self.by_name:
            members = {
                f"{name}-member-{number}": range(number * PER_MEMBER, (number + 1) * PER_MEMBER)
                for number in range(MEMBERS)
            }
            committed = {(name, number): offset for number, offset in commits.items()}
            self.add_group(f"group-of-{name}", committed, members, topic=name)

    def tell(self, received: Received) -> None:
        """Answer Metadata from what was made once."""
        ScriptedCluster.tell(self, received)

    def _topic(self, name: str) -> MetadataResponseTopic:
        return self.by_name[name]


def measure(count: int) -> GroupsCost:
    """Measure one run."""
    with ManyGroups(count) as cluster, TemporaryFile() as out, TemporaryFile() as err:
        cluster.fill()
        command = [
            sys.executable,
            "-c",
            _PROGRAM,
            "groups",
            "-b",
            cluster.bootstrap,
            "-o",
            "json",
            "--no-times",
        ]
        command += ["--timeout", "10m"]
        began_s = time.monotonic()
        child = subprocess.Popen(command, stdout=out, stderr=err)
        _, status, used = os.wait4(child.pid, 0)
        wall_s = time.monotonic() - began_s
        if status:
            raise SystemExit(f"kdiag ended with {status}")
        _check(out, count)
        err.seek(0)
        peak_kb = int(err.read().split()[-1])
        requests = sum(len(each.requests) for each in cluster.brokers.values())
    cpu_s = used.ru_utime + used.ru_stime
    return GroupsCost(count, cpu_s, wall_s, peak_kb / 1024, requests)


def _check(out: IO[bytes], count: int) -> None:
    """End the program if a figure is wrong."""
    out.seek(0)
    groups = json.load(out)["data"]
    wanted = (MEMBERS, PARTITIONS, PARTITIONS // 2 * (END - COMMITTED))
    wrong = [
        each for each in groups if (each["members"], each["partitions"], each["lag"]) != wanted
    ]
    if len(groups) != count or wrong:
        raise SystemExit(f"{len(groups)} groups, of which wrong: {wrong[:3]}")


def main() -> None:
    """Measure, and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--groups", type=int, default=5_000)
    options = parser.parse_args()
    few, many = (measure(count) for count in (options.groups // 10, options.groups))
    lines = ["| groups | members | partitions | CPU s | wall s | MB | requests |"]
    lines.append("|--:|--:|--:|--:|--:|--:|--:|")
    lines += [
        f"| {each.groups:,} | {each.groups * MEMBERS:,} | {each.groups * PARTITIONS:,} "
        f"| {each.cpu_s:.2f} | {each.wall_s:.2f} | {each.peak_mb:.0f} | {each.requests} |"
        for each in (few, many)
    ]
    sys.stdout.write("\n".join([*lines, ""]))
    if many.cpu_s / many.groups > MOST_GROWTH * few.cpu_s / few.groups:
        raise SystemExit("a group costs more among many")
    if (many.peak_mb - few.peak_mb) * 1024 > MOST_KB_PER_GROUP * (many.groups - few.groups):
        raise SystemExit("the memory grows with members and partitions")


if __name__ == "__main__":
    main()
