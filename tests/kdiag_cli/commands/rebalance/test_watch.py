"""`kdiag rebalance watch`; `test_rebalances` watches real groups."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from group_stories.record_story import RecordStory, pair_of, shared
from kdiag.diagnosis.rebalance.events import GroupRecord
from kdiag.probe.group_records import TOPIC
from kdiag.wire.api.describe_groups import DescribeGroupsResponse
from programs.kdiag_program import Done, kdiag
from scripted_kafka.group_cluster import GroupCluster
from scripted_kafka.log_cluster import Log, LogCluster
from scripted_kafka.scripted_broker import Received


def append(log: Log, records: list[GroupRecord]) -> None:
    """Append records as a coordinator writes them."""
    for record in records:
        log.append_pairs(pair_of(record), timestamp=record.at_ns // 1_000_000)


class LateCluster(LogCluster):
    """A cluster in which something is written once a reader has read all there was."""

    def __init__(self, late: list[GroupRecord]) -> None:
        super().__init__(1)
        self._late = late
        self._fetches = 0

    def answer_fetch(self, number: int, received: Received) -> None:
        """Write it as the second one is answered."""
        super().answer_fetch(number, received)
        self._fetches += 1
        if self._fetches == 2:
            (log,) = self.logs.values()
            append(log, self._late)


@contextmanager
def late_cluster() -> Iterator[LateCluster]:
    """Yield a cluster with a group whose generation 3 comes while it is watched."""
    story = RecordStory()
    story.classic(1, shared("a"))
    story.classic(2, shared("a", "b"))
    story.classic(3, shared("a", "b", "c"))
    with LateCluster(story.records[2:]) as cluster:
        append(cluster.add(TOPIC, 0), story.records[:2])
        yield cluster


def watch(cluster: LogCluster, *arguments: object) -> Done:
    """Watch until one rebalance has come."""
    options = ("--count", 1, "--timeout", "60s", *arguments)
    return kdiag("rebalance", "watch", "-b", cluster.bootstrap, *options)


def test_what_happens_is_printed_what_was_is_not() -> None:
    """Where the group is at the beginning is said on stderr."""
    with late_cluster() as cluster:
        done = watch(cluster, "orders")

    assert done.code == 0
    assert "watching orders: generation 2, 2 members" in done.err
    (line,) = done.out.splitlines()
    assert "orders  generation 3: member joined (certain), app-c c at 10.0.0." in line
    assert line.endswith("2 of 4 partitions moved, 3 members")


def test_programs_get_an_object_a_line() -> None:
    """In the shape of `explain`, with the group."""
    with late_cluster() as cluster:
        done = watch(cluster, "-o", "jsonl")
    (line,) = done.out.splitlines()
    document = json.loads(line)

    assert "watching 1 group" in done.err
    head = {"schema": 1, "command": "rebalance watch", "group": "orders", "type": "classic"}
    assert {key: document[key] for key in head} == head
    assert (document["generation"], document["cause"]) == (3, "member_joined")


@pytest.mark.thorough
def test_a_group_that_nobody_knows_is_waited_for() -> None:
    """It may come; a cluster without any group is another matter."""
    with late_cluster() as cluster:
        done = kdiag(
            *("rebalance", "watch", "-b", cluster.bootstrap, "payments", "--timeout", "500ms")
        )
    assert "watching payments: nothing yet" in done.err
    with LogCluster(1) as cluster:
        none = watch(cluster)
    assert none.code != 0
    assert "no group has been used yet" in none.err


class JoinedCluster(GroupCluster):
    """A cluster in which a second member joins once a group has been described."""

    def __init__(self) -> None:
        super().__init__(1)
        self._count = 0

    def joins(self, received: Received) -> None:
        """Answer a description; the next one has a member more."""
        self._count += 1
        members = {"m-1": [0, 1]} if self._count == 1 else {"m-1": [0], "m-2": [1]}
        received.reply(DescribeGroupsResponse(groups=[self.add_group("billing", {}, members)]))


@contextmanager
def joined_cluster() -> Iterator[JoinedCluster]:
    """Yield such a cluster."""
    with JoinedCluster() as cluster:
        cluster.add("orders", 0).append(b"a")
        cluster.add_group("billing", {}, {"m-1": [0, 1]})
        cluster.brokers[1].on("DescribeGroups", cluster.joins)
        yield cluster


def test_coordinators_are_asked_where_that_is_wanted() -> None:
    """They do not tell the generation of a classic group, so none is named."""
    with joined_cluster() as cluster:
        done = watch(cluster, "billing", "--describe")

    assert done.code == 0
    assert "watching billing: 1 member" in done.err
    (line,) = done.out.splitlines()
    assert "billing  member joined (certain), M-2" in line
    assert line.endswith("1 of 2 partitions moved, 2 members")


def test_coordinators_are_asked_where_records_may_not_be_read() -> None:
    """Which is told, with the right that is missing."""
    with joined_cluster() as cluster:
        cluster.add(TOPIC, 0)
        cluster.denied.add(TOPIC)
        done = watch(cluster, "-o", "jsonl")
    document = json.loads(done.out)

    assert "it takes DESCRIBE and READ on the topic; coordinators are asked instead" in done.err
    assert (document["source"], document["cause"]) == ("describe", "member_joined")
    assert (document["generation"], document["previous"]) == (None, None)
    assert [each["kind"] for each in document["evidence"]] == ["look"]
