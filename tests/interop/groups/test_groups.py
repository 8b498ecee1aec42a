"""`kdiag groups` on real Kafka: groups of every type and state, as Kafka's own tools tell them."""

import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NamedTuple

import pytest
from confluent_kafka import Consumer, TopicPartition

from folders import ROOT
from group_stories.real_members import join, join_share_group, join_streams_group
from kdiag.wire.api.consumer_group_heartbeat import (
    ConsumerGroupHeartbeatRequest as Heartbeat,
)
from kdiag.wire.api.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from kdiag.wire.api.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
)
from kdiag.wire.api.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from lab_ends.one_coordinator import subscription
from programs.child_program import ChildProgram
from programs.kdiag_program import kdiag
from real_kafka import kafka_jars
from real_kafka.kafka_cluster import KafkaCluster, free_ports
from real_kafka.releases import OLDEST, USUAL
from real_kafka.secure_cluster import Listener, SecureCluster
from real_kafka.topic_maker import create, delete, open_transaction, produce, producer, transact

pytestmark = pytest.mark.soak

TOOLS: Final = {
    "classic": "consumer.group.ConsumerGroupCommand",
    "share": "consumer.group.ShareGroupCommand",
    "streams": "streams.StreamsGroupCommand",
}
COUNT: Final = 20
MEMBER: Final = ROOT / "tests" / "rig" / "group_stories" / "member_program.py"
PROPERTIES: Final = {
    "group.min.session.timeout.ms": "1000",
    "log.cleaner.backoff.ms": "100",
    # Members that send a heartbeat once stay, however long the tests take.
    **{
        f"group.{kind}.{limit}session.timeout.ms": "1800000"
        for kind in ("share", "streams")
        for limit in ("max.", "")
    },
}
KEPT_WAITING: Final = {
    "group.initial.rebalance.delay.ms": "0",
    "group.consumer.assignment.interval.ms": "0",
    "group.streams.initial.rebalance.delay.ms": "60000",
}
NOT_READY: Final = {
    "NOT_COORDINATOR",
    "COORDINATOR_NOT_AVAILABLE",
    "COORDINATOR_LOAD_IN_PROGRESS",
}
COMPACTED: Final = {
    "cleanup.policy": "compact",
    "segment.ms": "100",
    "min.cleanable.dirty.ratio": "0.01",
    "max.compaction.lag.ms": "200",
}


@pytest.fixture(scope="module")
def two(
    get_kafka_jars: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaCluster]:
    """Two brokers of the usual release, with groups that live while the tests run."""
    get_kafka_jars(USUAL)
    folder = tmp_path_factory.mktemp("groups")
    cluster = KafkaCluster(USUAL, folder, ports=free_ports(2), properties=PROPERTIES)
    with cluster, ExitStack() as running:
        bootstrap = cluster.bootstrap
        create(bootstrap, "orders", partitions=3)
        create(bootstrap, "gone")
        for number in range(3):
            produce(bootstrap, "orders", [(b"k", b"v")] * COUNT, number)
        early = {"auto_offset_reset": "earliest", "enable_auto_commit": False}
        busy = join("g-classic", bootstrap, running, "orders", client_id="c-1", **early)
        commit(busy, {("orders", 0): 5, ("orders", 1): 20})
        new = join("g-next", bootstrap, running, "orders", group_protocol="consumer", **early)
        commit(new, {("orders", 2): 19})
        join_share_group("g-share", bootstrap, "orders")
        join_streams_group("g-streams", bootstrap, "orders")
        left(bootstrap, "g-empty", {("orders", 0): 7, ("gone", 0): 0})
        delete(bootstrap, "gone")
        yield cluster


def commit(consumer: Consumer, offsets: Mapping[tuple[str, int], int]) -> None:
    """Commit offsets, and wait until that is done."""
    places = [TopicPartition(*place, offset) for place, offset in offsets.items()]
    consumer.commit(offsets=places, asynchronous=False)


def left(bootstrap: str, group: str, offsets: Mapping[tuple[str, int], int]) -> None:
    """Leave a group behind that has commits and no members."""
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": group})
    commit(consumer, offsets)
    consumer.close()


def seen(bootstrap: str, *arguments: str, code: int = 0) -> dict[str, dict[str, Any]]:
    """Return each group in the document."""
    done = kdiag("groups", "-b", bootstrap, *arguments, "-o", "json", "--timeout", "60s")
    assert done.code == code, done
    return {each["group"]: each for each in json.loads(done.out)["data"]}


class TimedLook(NamedTuple):
    """A group that was looked at.

    Attributes:
        group: in the document.
        since_ms: how long ago the records were made when the look began, and when it ended.
    """

    group: dict[str, Any]
    since_ms: tuple[float, float]

    def is_aged(self, minutes: int) -> bool:
        """Return whether its next record is told to be that old, and the time since then."""
        least_ms, most_ms = (minutes * 60_000 + each for each in self.since_ms)
        lag_ms: int = self.group["lag_ms"]
        return least_ms - 1000 < lag_ms < most_ms + 1000


def looked_at(bootstrap: str, name: str, made_ms: float) -> TimedLook:
    """Look at a group, which a busy machine takes seconds for."""
    began_ms = time.time() * 1000
    (group,) = seen(bootstrap, name).values()
    return TimedLook(group, (began_ms - made_ms, time.time() * 1000 - made_ms))


def rows_of(tool: str, cluster: KafkaCluster, *arguments: str) -> list[list[str]]:
    """Return the cells of what a tool of Kafka's prints, but for the headers."""
    jars = kafka_jars.jars(cluster.version)
    where = ("--bootstrap-server", cluster.bootstrap, "--describe")
    command = kafka_jars.java_command(jars, f"org.apache.kafka.tools.{tool}", *where, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [row for row in rows if len(row) > 2 and row[0] != "GROUP" and row[0].startswith("g-")]


@pytest.mark.real
def test_groups_are_as_kafka_s_own_tools_tell_them(two: KafkaCluster) -> None:
    """Offsets, ends of logs, lag and owner of each partition; state and members of each group."""
    told = as_the_tool_tells(two, "g-classic", "g-next", "g-empty")
    assert told >= {("g-classic", "orders", 0), ("g-next", "orders", 2)}


def as_the_tool_tells(two: KafkaCluster, *names: str) -> set[tuple[str, str, int]]:
    """Compare partitions with those that the tool tells, and return them."""
    groups = seen(two.bootstrap, *names)
    told = {
        (group, topic, int(partition)): rest
        for group, topic, partition, *rest in rows_of(TOOLS["classic"], two, "--all-groups")
        if group in groups
    }
    for (group, topic, partition), (committed, end, lag, member_id, *_) in told.items():
        (ours,) = [
            each
            for each in groups[group]["partition_list"]
            if (each["topic"], each["partition"]) == (topic, partition)
        ]
        cells = [ours["committed"], ours["end"], ours["lag"], ours["member_id"]]
        assert ["-" if each is None else str(each) for each in cells] == [
            committed,
            end,
            lag,
            member_id,
        ]
    return set(told)


def test_a_killed_member_is_there_until_its_session_is_over(two: KafkaCluster) -> None:
    """Then others own its partitions, or the group is empty; the tool tells the same."""
    with ExitStack() as running:
        names = (("g-half", "h-1"), ("g-half", "h-2"), ("g-dead", "d-1"))
        members = {name: started(two, group, name, running) for group, name in names}
        until(two, {"g-half": 2, "g-dead": 1})
        for name in ("h-2", "d-1"):
            members[name].kill()
        groups = until(two, {"g-half": 1, "g-dead": 0})
        (left,) = groups["g-half"]["member_list"]
        assert left["assignment"] == [{"topic": "orders", "partitions": [0, 1, 2]}]
        assert left["client_id"] == "h-1"
        assert groups["g-dead"]["state"] == "Empty"
        assert {("g-half", "orders", number) for number in range(3)} <= as_the_tool_tells(
            two, "g-half", "g-dead"
        )
    until(two, {"g-half": 0, "g-dead": 0})  # the sessions of those killed last are over, too


def started(two: KafkaCluster, group: str, name: str, running: ExitStack) -> ChildProgram:
    """Start a member in a process of its own."""
    facts = [two.bootstrap, group, name, "orders", "auto.offset.reset=earliest"]
    settings = ["session.timeout.ms=2000", "auto.commit.interval.ms=100"]
    command = [sys.executable, str(MEMBER), "confluent", *facts, *settings]
    member = running.enter_context(ChildProgram(command, stdin=subprocess.PIPE))
    running.callback(member.kill)
    return member


def until(two: KafkaCluster, counts: Mapping[str, int]) -> dict[str, dict[str, Any]]:
    """Look until groups have so many members, all of which own partitions they have committed."""
    while True:
        groups = json.loads(kdiag("groups", "-b", two.bootstrap, *counts, "-o", "json").out)["data"]
        known = {each["group"]: each for each in groups}
        wanted = {
            group: (count, "Stable" if count else "Empty", 0) for group, count in counts.items()
        }
        if wanted == {
            name: (each["members"], each["state"], each["lag"]) for name, each in known.items()
        }:
            return known


@pytest.mark.parametrize("kind", TOOLS)
def test_states_and_members_are_those_of_the_tools(two: KafkaCluster, kind: str) -> None:
    """Each type of group has a tool of its own."""
    groups = seen(two.bootstrap)
    rows = rows_of(TOOLS[kind], two, "--all-groups", "--state")
    assert rows
    for group, *cells in rows:
        ours = groups[group]
        assert ours["state"] in cells
        assert cells[-1] == str(ours["members"])
        assert ours["type"] == kind or (kind, group) == ("classic", "g-next")


def test_states_between_are_those_of_the_tools(
    get_kafka_jars: Callable[[str], Path], tmp_path: Path
) -> None:
    """Groups that somebody keeps waiting: a member that brings nothing, or gives nothing up."""
    get_kafka_jars(USUAL)
    cluster = KafkaCluster(USUAL, tmp_path, properties=KEPT_WAITING)
    with cluster, ExitStack() as opened:
        create(cluster.bootstrap, "orders", partitions=3)
        join_streams_group("g-not-ready", cluster.bootstrap, "absent")
        join_streams_group("g-assigning", cluster.bootstrap, "orders")
        first, second, third = (
            opened.enter_context(LabClient(cluster.ports[0].plaintext)) for _ in range(3)
        )
        begin_to_join(first, "g-completing")
        first.receive(JoinGroupResponse, 9)
        begin_to_join(second, "g-preparing")
        sync(second, "g-preparing", second.receive(JoinGroupResponse, 9))
        begin_to_join(third, "g-preparing")
        beat(first, Heartbeat("g-reconciling", "one", subscribed_topic_names=["orders"]))
        beat(first, Heartbeat("g-reconciling", "two", subscribed_topic_names=["orders"]))
        wanted = {
            "g-assigning": "Assigning",
            "g-completing": "CompletingRebalance",
            "g-not-ready": "NotReady",
            "g-preparing": "PreparingRebalance",
            "g-reconciling": "Reconciling",
        }
        until_s = time.monotonic() + 30  # what was asked last may not have been seen yet
        while {name: each["state"] for name, each in seen(cluster.bootstrap).items()} != wanted:
            assert time.monotonic() < until_s, seen(cluster.bootstrap)
        rows = [
            row
            for kind in ("classic", "streams")
            for row in rows_of(TOOLS[kind], cluster, "--all-groups", "--state")
        ]
        groups = seen(cluster.bootstrap)
    assert {name: each["state"] for name, each in groups.items()} == wanted
    assert {group: cells[-1] for group, *cells in rows} == {
        name: str(each["members"]) for name, each in groups.items()
    }
    for group, *cells in rows:
        assert wanted[group] in cells


def begin_to_join(client: LabClient, group: str) -> None:
    """Send the JoinGroup that a coordinator answers once all have come."""
    said = JoinGroupRequestProtocol(name="range", metadata=subscription("orders"))
    request = JoinGroupRequest(
        group_id=group,
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000,
        protocol_type="consumer",
        protocols=[said],
    )
    while not request.member_id:
        answer = client.ask(request, JoinGroupResponse, 9)
        assert error_name(answer.error_code) in {"MEMBER_ID_REQUIRED", *NOT_READY}
        request.member_id = answer.member_id
    client.send(request, 9)


def sync(client: LabClient, group: str, joined: JoinGroupResponse) -> None:
    """Bring an assignment as the only member."""
    request = SyncGroupRequest(
        group_id=group,
        generation_id=joined.generation_id,
        member_id=joined.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[SyncGroupRequestAssignment(member_id=joined.member_id)],
    )
    assert client.ask(request, SyncGroupResponse, 5).error_code == 0


def beat(client: LabClient, request: Heartbeat) -> None:
    """Have a member of a consumer group join that never says what it has."""
    request.rebalance_timeout_ms = 60_000
    request.topic_partitions = []
    error = "NOT_COORDINATOR"
    while error in NOT_READY:
        answer = client.ask(request, ConsumerGroupHeartbeatResponse, 1)
        error = error_name(answer.error_code)
    assert error == "NONE"


@pytest.mark.real
def test_all_about_each_type_of_group(two: KafkaCluster) -> None:
    """Types are told apart, and owners are who they are."""
    groups = seen(two.bootstrap, "g-classic", "g-next", "g-share", "g-streams", "g-empty")
    assert {name: each["type"] for name, each in groups.items()} == {
        "g-classic": "classic",
        "g-next": "consumer",
        "g-share": "share",
        "g-streams": "streams",
        "g-empty": "classic",
    }
    (member,) = groups["g-classic"]["member_list"]
    assert (member["client_id"], member["subscribed"]) == ("c-1", ["orders"])
    assert member["assignment"] == [{"topic": "orders", "partitions": [0, 1, 2]}]
    (next_member,) = groups["g-next"]["member_list"]
    assert next_member["target"] == next_member["assignment"] == member["assignment"]
    assert groups["g-next"]["epoch"] == groups["g-next"]["assignment_epoch"] == next_member["epoch"]
    assert groups["g-empty"]["state"] == "Empty"
    assert groups["g-empty"]["lag"] == COUNT - 7
    assert groups["g-share"]["members"] == 1


def test_filters_and_bars(two: KafkaCluster) -> None:
    """By type, state, name and lag; what is too far behind is an error."""
    assert set(seen(two.bootstrap, "--type", "consumer", "--type", "share")) == {
        "g-next",
        "g-share",
    }
    empty = seen(two.bootstrap, "--state", "empty")
    assert "g-empty" in empty
    assert {each["state"] for each in empty.values()} == {"Empty"}
    assert set(seen(two.bootstrap, "--match", "g-s*")) == {"g-share", "g-streams"}
    assert set(seen(two.bootstrap, "--lag-above", "14", code=1)) == {"g-classic"}
    assert set(seen(two.bootstrap, "--lag-above", "1ms", "--match", "g-next", code=1)) == {"g-next"}
    assert not seen(two.bootstrap, "--lag-above", "1h")
    assert not seen(two.bootstrap, "nobody", code=1)


@pytest.mark.real
def test_other_forms(two: KafkaCluster) -> None:
    """Metrics, a status line, and looks one after another."""
    metrics = kdiag("groups", "-b", two.bootstrap, "-o", "prometheus")
    line = 'kdiag_group_partition_lag{group="g-classic",topic="orders",partition="0"} 15'
    assert line in metrics.out.splitlines()
    said = kdiag("groups", "-b", two.bootstrap, "--nagios", "--lag-above", "14")
    assert said.code == 2
    assert said.out.startswith("KAFKA CRITICAL - KD3412 group g-classic is 15 records behind")
    looks = ("--watch", "--count", "2", "--interval", "100ms", "-o", "jsonl")
    watched = kdiag("groups", "-b", two.bootstrap, "g-classic", *looks)
    first, second = map(json.loads, watched.out.splitlines())
    assert first["rates"]["consumed_per_s"] is None
    assert second["rates"]["consumed_per_s"] == second["rates"]["produced_per_s"] == 0
    stuck = kdiag("groups", "-b", two.bootstrap, "--stuck", "--interval", "100ms", "-o", "json")
    assert stuck.code == 1
    ids = {(each["id"], each["evidence"]["group"]) for each in json.loads(stuck.out)["findings"]}
    assert ("KD3415", "g-classic") in ids


@pytest.mark.real
def test_lag_is_what_readers_get(two: KafkaCluster) -> None:
    """Markers and aborted records are none of it; open transactions hold it back, and say so."""
    create(two.bootstrap, "payments")
    transact(two.bootstrap, "payments", "t-1", [(3, True), (4, False), (2, True)])
    left(two.bootstrap, "g-payments", {("payments", 0): 0})
    left(two.bootstrap, "g-read", {("payments", 0): 11})  # behind it there is a marker
    held = open_transaction(two.bootstrap, "payments", "t-2", 6)
    document = json.loads(
        kdiag("groups", "-b", two.bootstrap, "g-payments", "g-read", "-o", "json").out
    )
    held.abort_transaction()
    before, read = document["data"]

    assert (before["lag"], before["lag_exact"]) == (5, True)
    assert (read["lag"], read["lag_exact"], read["lag_ms"]) == (0, True, 0)
    (held_back,) = [
        each["evidence"]
        for each in document["findings"]
        if each["id"] == "KD3408" and each["evidence"]["group"] == "g-read"
    ]
    assert (held_back["held"], held_back["stable_end"]) == (6, 12)


@pytest.mark.real
def test_the_age_is_that_of_the_next_record(two: KafkaCluster) -> None:
    """Right within a second, also where the log begins behind the commit."""
    create(two.bootstrap, "aged")
    sender = producer(two.bootstrap)
    now_ms = time.time() * 1000
    for minutes in (50, 40, 30):
        sender.produce("aged", b"v", partition=0, timestamp=int(now_ms - minutes * 60_000))
    sender.flush()
    for offset, minutes in ((0, 50), (1, 40), (2, 30)):
        left(two.bootstrap, f"g-age-{offset}", {("aged", 0): offset})
        look = looked_at(two.bootstrap, f"g-age-{offset}", now_ms)
        assert look.is_aged(minutes), look


def test_the_age_is_right_over_compaction(two: KafkaCluster) -> None:
    """The next record is the first that is left behind the commit."""
    create(two.bootstrap, "compacted", config=COMPACTED)
    now_ms = time.time() * 1000
    write = producer(two.bootstrap)
    for key, minutes in (("a", 50), ("b", 40), ("a", 30), ("b", 20), ("c", 10)):
        at_ms = int(now_ms - minutes * 60_000)
        write.produce("compacted", key=key, value=b"v", partition=0, timestamp=at_ms)
        write.flush()
    left(two.bootstrap, "g-compacted", {("compacted", 0): 0})
    while True:  # a segment is compacted once the next one has begun
        produce(two.bootstrap, "compacted", [(b"roll", b"v")], 0)
        look = looked_at(two.bootstrap, "g-compacted", now_ms)
        lag_ms = look.group["lag_ms"]  # None while it is not known
        if lag_ms is not None and lag_ms < 40 * 60_000:
            break
    assert look.is_aged(30), look
    group = look.group
    (partition,) = group["partition_list"]
    assert group["lag_exact"]
    assert 4 <= group["lag"] < partition["stable_end"] - partition["committed"]


def test_the_age_is_right_over_transactions(two: KafkaCluster) -> None:
    """What was aborted is not read next, nor is what is open."""
    create(two.bootstrap, "paid")
    now_ms = time.time() * 1000
    for number, (minutes, is_committed) in enumerate(((50, False), (40, True), (30, True))):
        write = producer(two.bootstrap, transactional_id=f"paid-{number}")
        write.init_transactions(60)
        write.begin_transaction()
        at_ms = int(now_ms - minutes * 60_000)
        write.produce("paid", value=b"v", partition=0, timestamp=at_ms)
        write.flush()
        if is_committed:
            write.commit_transaction(60)
        else:
            write.abort_transaction(60)
    held = open_transaction(two.bootstrap, "paid", "paid-open", 3)
    for offset, minutes, lag in ((0, 40, 2), (3, 30, 1)):
        left(two.bootstrap, f"g-paid-{offset}", {("paid", 0): offset})
        look = looked_at(two.bootstrap, f"g-paid-{offset}", now_ms)
        assert look.is_aged(minutes), look
        assert (look.group["lag"], look.group["lag_exact"]) == (lag, True)
    left(two.bootstrap, "g-paid-5", {("paid", 0): 5})
    (group,) = seen(two.bootstrap, "g-paid-5").values()
    assert (group["lag"], group["lag_ms"]) == (0, 0)
    held.abort_transaction()


def test_when_a_group_committed_is_read_where_coordinators_keep_it(two: KafkaCluster) -> None:
    """To the moment; a group without members keeps its offsets for a week."""
    before_s = time.time()
    create(two.bootstrap, "timed")
    left(two.bootstrap, "g-timed", {("timed", 0): 0})
    (group,) = seen(two.bootstrap, "g-timed", "--commit-times").values()
    (partition,) = group["partition_list"]
    at = datetime.fromisoformat(partition["committed_at"][:26] + "+00:00")
    assert before_s - 0.01 <= at.timestamp() <= time.time()


def test_what_one_may_not_see_is_told(secure: SecureCluster, log_in: Callable[..., Any]) -> None:
    """A list is not whole, and a group that is hidden is not called absent."""
    where = ("-b", secure.address(Listener.SASL_PLAINTEXT))
    login = log_in("bob", "PLAIN", "SASL_PLAINTEXT")
    listed = kdiag("groups", *where, *login)
    assert listed.code == 8
    assert "brokers list only the groups that you may describe" in listed.err
    hidden = kdiag("groups", *where, *login, "secret-group")
    assert hidden.code == 5
    assert "GROUP_AUTHORIZATION_FAILED" in hidden.out
    assert "KD3401" not in hidden.err


def test_an_older_broker_is_asked_as_well(
    get_kafka_jars: Callable[[str], Path], tmp_path: Path
) -> None:
    """It knows classic groups, and takes as many of them in one request."""
    get_kafka_jars(OLDEST)
    with KafkaCluster(OLDEST, tmp_path) as cluster:
        create(cluster.bootstrap, "orders")
        produce(cluster.bootstrap, "orders", [(b"k", b"v")] * COUNT)
        for number in range(3):
            left(cluster.bootstrap, f"g-{number}", {("orders", 0): number})
        groups = seen(cluster.bootstrap)
        old = seen(cluster.bootstrap, "--as-version", "2.0")
    assert [each["lag"] for each in groups.values()] == [20, 19, 18]
    assert [each["lag"] for each in old.values()] == [20, 19, 18]
    assert {each["state"] for each in old.values()} == {"Empty"}
