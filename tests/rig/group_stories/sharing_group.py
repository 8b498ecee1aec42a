"""A real group of members in processes of their own, and what they say about its partitions.

with SharingGroup(bootstrap, "orders", "clicks", "range") as group:
    group.join("a", "kdiag")
    group.join("b", "librdkafka")
    group.settle({"a", "b"}, partitions=6)     # the coordinator and the members agree
    group.kill("a")
"""

import json
import subprocess
import sys
import time
from collections import defaultdict
from contextlib import ExitStack
from itertools import pairwise
from pathlib import Path
from threading import Thread
from typing import Any, Final, NamedTuple, Self

from folders import ROOT
from group_stories.real_members import client_of
from kdiag.client.group.assignor.consumer_protocol import decode_assignment
from kdiag.wire.api.consumer_group_describe import (
    ConsumerGroupDescribeRequest,
    ConsumerGroupDescribeResponse,
)
from kdiag.wire.api.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from kdiag.wire.api.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from programs.child_program import ChildProgram
from real_kafka import kafka_jars

BY_BROKER: Final = "uniform"
"""The assignor of a group whose members speak the consumer protocol; others are members' own."""

_PROGRAM: Final = ROOT / "tests" / "rig" / "group_stories" / "sharing_member.py"
_LOOK_S: Final = 0.05
_TIMEOUT_S: Final = 60
_CONSOLE: Final = "org.apache.kafka.tools.consumer.ConsoleConsumer"
_STRATEGIES: Final = {
    "range": "org.apache.kafka.clients.consumer.RangeAssignor",
    "cooperative-sticky": "org.apache.kafka.clients.consumer.CooperativeStickyAssignor",
}


class Change(NamedTuple):
    """What a member said.

    Attributes:
        at_ns: on the machine's monotonic clock.
        name: of the member.
        added, removed: partitions.
    """

    at_ns: int
    name: str
    added: frozenset[int]
    removed: frozenset[int]


class SharingGroup:
    """Starts and ends members, and compares what they own.

    Attributes:
        changes: all changes that members have told of, of each in order.
        ends_ns: when members were killed.
    """

    def __init__(self, bootstrap: str, group: str, topic: str, assignor: str) -> None:
        self._facts = [bootstrap, group]
        self._topic = topic
        self._assignor = assignor
        self._opened = ExitStack()
        self._members: dict[str, ChildProgram] = {}
        self._threads: list[Thread] = []
        self._speaking: set[str] = set()
        self.changes: dict[str, list[Change]] = defaultdict(list)
        self.ends_ns: dict[str, int] = {}
        self._client = client_of(bootstrap)

    def __enter__(self) -> Self:
        """Connect."""
        self._opened.enter_context(self._client)
        self._client.connect()
        return self

    def __exit__(self, *raised: object) -> None:
        """End all members."""
        for each in self._members.values():
            each.kill()
        self._opened.close()
        for thread in self._threads:
            thread.join(_TIMEOUT_S)

    def join(self, name: str, library: str, *static: str) -> None:
        """Start a member."""
        bootstrap, group = self._facts
        facts = [bootstrap, group, name, self._topic, self._assignor, *static]
        self._start(name, [sys.executable, str(_PROGRAM), library, *facts])

    def join_java(self, name: str, version: str, log: Path) -> None:
        """Start a member of Java's, which says nothing."""
        bootstrap, group = self._facts
        jars = kafka_jars.jars(version)
        properties = {"client.id": name, **self._java_protocol()}
        pairs = [f"--consumer-property={key}={value}" for key, value in properties.items()]
        arguments = ["--bootstrap-server", bootstrap, "--group", group, "--topic", self._topic]
        command = kafka_jars.java_command(jars, _CONSOLE, *arguments, *pairs)
        with log.open("wb") as errors:
            member = ChildProgram(command, stdout=subprocess.DEVNULL, stderr=errors)
        self._members[name] = self._opened.enter_context(member)
        self._opened.callback(member.kill)

    def _java_protocol(self) -> dict[str, str]:
        """Return how a member of Java's joins."""
        if self._assignor == BY_BROKER:
            return {"group.protocol": "consumer", "group.remote.assignor": BY_BROKER}
        return {
            "session.timeout.ms": "6000",
            "heartbeat.interval.ms": "300",
            "partition.assignment.strategy": _STRATEGIES[self._assignor],
        }

    def leave(self, name: str) -> None:
        """Have a member end by itself."""
        member = self._members.pop(name)
        if member.stdin is None:
            member.terminate()
        else:
            member.stdin.close()
        assert member.wait(_TIMEOUT_S) in (0, 143)

    def kill(self, name: str) -> None:
        """Kill a member, as `kill -9` does."""
        member = self._members.pop(name)
        member.kill()
        member.wait(_TIMEOUT_S)
        self.ends_ns[name] = time.monotonic_ns()

    def settle(self, names: set[str], partitions: int) -> dict[str, frozenset[int]]:
        """Return who owns what, once the group is stable, has these members and all partitions.

        At every look at a stable group, no partition may be owned twice.
        """
        until_s = time.monotonic() + _TIMEOUT_S
        shares: dict[str, frozenset[int]] = {}
        while time.monotonic() < until_s:
            shares = self._look()
            owned = [each for share in shares.values() for each in share]
            assert len(owned) == len(set(owned)), f"owned twice: {shares}"
            if set(shares) == names and len(owned) == partitions and self._agree(shares):
                return shares
            time.sleep(_LOOK_S)
        raise AssertionError(f"{names} do not settle: {shares}, {dict(self.changes)}")

    def overlaps(self) -> list[tuple[int, str, str]]:
        """Return partitions that two members owned at the same time, by their own words."""
        found = []
        spans = self._spans()
        for partition, owners in spans.items():
            owners.sort()
            for (_, end_ns, former), (start_ns, _, later) in pairwise(owners):
                if former != later and start_ns < end_ns:
                    found.append((partition, former, later))
        return found

    def _start(self, name: str, command: list[str]) -> None:
        member = ChildProgram(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self._members[name] = self._opened.enter_context(member)
        self._opened.callback(member.kill)
        thread = Thread(target=self._listen, args=[name, member.stdout], daemon=True)
        self._threads.append(thread)
        self._speaking.add(name)
        thread.start()

    def _listen(self, name: str, lines: Any) -> None:
        for line in lines:
            said = json.loads(line)
            added, removed = (frozenset(said.get(each, ())) for each in ("added", "removed"))
            if added or removed:  # a cooperative member also says when nothing has changed for it
                self.changes[name].append(Change(said["at_ns"], name, added, removed))

    def _look(self) -> dict[str, frozenset[int]]:
        """Return who owns what by the coordinator; nobody anything while it is not stable."""
        group = self._facts[1]
        question = FindCoordinatorRequest(coordinator_keys=[group])
        found = self._client.ask_any(question, FindCoordinatorResponse).coordinators[0]
        if found.error_code:
            return {}
        look = self._look_new if self._assignor == BY_BROKER else self._look_classic
        return look(found.node_id, group)

    def _look_classic(self, node_id: int, group: str) -> dict[str, frozenset[int]]:
        request = DescribeGroupsRequest(groups=[group])
        (described,) = self._client.ask(node_id, request, DescribeGroupsResponse).groups
        if described.group_state != "Stable":
            return {}
        return {
            each.client_id: frozenset(
                key.partition for key in decode_assignment(each.member_assignment).partitions
            )
            for each in described.members
        }

    def _look_new(self, node_id: int, group: str) -> dict[str, frozenset[int]]:
        request = ConsumerGroupDescribeRequest(group_ids=[group])
        (described,) = self._client.ask(node_id, request, ConsumerGroupDescribeResponse).groups
        if described.group_state != "Stable":
            return {}
        return {
            each.client_id: frozenset(
                number for topic in each.assignment.topic_partitions for number in topic.partitions
            )
            for each in described.members
        }

    def _agree(self, shares: dict[str, frozenset[int]]) -> bool:
        """Return whether members say the same of themselves; those of Java say nothing."""
        return all(self._owned(name) == shares[name] for name in shares if name in self._speaking)

    def _owned(self, name: str) -> frozenset[int]:
        owned: frozenset[int] = frozenset()
        for each in list(self.changes[name]):
            owned = (owned - each.removed) | each.added
        return owned

    def _spans(self) -> dict[int, list[tuple[int, int, str]]]:
        """Return from when until when each partition was owned, and by whom."""
        spans: dict[int, list[tuple[int, int, str]]] = defaultdict(list)
        never_ns = time.monotonic_ns()
        for name, changes in self.changes.items():
            since: dict[int, int] = {}
            for each in changes:
                for partition in each.removed:
                    if partition in since:
                        spans[partition].append((since.pop(partition), each.at_ns, name))
                since |= dict.fromkeys(each.added, each.at_ns)
            end_ns = self.ends_ns.get(name, never_ns)
            for partition, start_ns in since.items():
                spans[partition].append((start_ns, end_ns, name))
        return spans
