"""`kdiag rebalance watch`; `test_rebalances` watches real groups."""

import json
from collections.abc import Iterator
from contextlib import contextmanager

from group_stories.record_story import RecordStory, pair_of, shared, topic_name
from group_stories.story import S
from kdiag.diagnosis.rebalance.events import GroupRecord
from kdiag.diagnosis.rebalance.histories import RecordedGroups
from kdiag.probe.group_records import TOPIC
from kdiag_cli.commands.rebalance.watch import FreshRebalances
from programs.kdiag_program import Done, kdiag
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

    def _fetch(self, number: int, received: Received) -> None:
        super()._fetch(number, received)
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


def test_a_group_that_nobody_knows_is_waited_for() -> None:
    """It may come; a cluster without any group is another matter."""
    with late_cluster() as cluster:
        done = kdiag(
            *("rebalance", "watch", "-b", cluster.bootstrap, "payments", "--timeout", "500ms")
        )
    assert "watching payments: no record yet" in done.err
    with LogCluster(1) as cluster:
        none = watch(cluster)
    assert none.code != 0
    assert "nobody has used a group yet" in none.err


def test_an_epoch_is_handed_out_when_it_is_over() -> None:
    """Or when the next one comes, or when that takes too long."""
    story = RecordStory()
    story.member("a")
    story.epoch(1)
    story.wait()
    story.takes_up("a", 1)
    made, _, over = story.records[0:2], None, story.records[2:]
    groups, fresh = RecordedGroups(topic_name), FreshRebalances()

    def handed_out(now_ns: int) -> list[int]:
        return [each.generation for _, each in fresh.take(groups.histories, now_ns)]

    for record in made:
        groups.take(record)
    assert handed_out(0) == []
    for record in over:
        groups.take(record)
    assert handed_out(S) == [1]
    assert handed_out(2 * S) == []

    story.records.clear()
    story.member("b")
    story.epoch(2)
    for record in story.records:
        groups.take(record)
    assert handed_out(3 * S) == []
    assert handed_out(8 * S) == [2]


def test_a_group_that_all_have_left_is_over_at_once() -> None:
    """Nobody is there who could take it up."""
    story = RecordStory()
    story.member("a")
    story.epoch(1)
    story.gone("a")
    story.epoch(2)
    groups, fresh = RecordedGroups(topic_name), FreshRebalances()
    for record in story.records:
        groups.take(record)

    assert [each.generation for _, each in fresh.take(groups.histories, 0)] == [1, 2]


def test_what_was_before_is_passed_over() -> None:
    """Whatever its state is."""
    story = RecordStory()
    story.classic(1, shared("a"))
    groups, fresh = RecordedGroups(topic_name), FreshRebalances()
    groups.take(story.records[0])
    fresh.pass_over(groups.histories)

    assert list(fresh.take(groups.histories, 0)) == []
