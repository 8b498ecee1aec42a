"""`kdiag groups` on real Kafka: groups of every type and state, as Kafka's own tools tell them."""

import json
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import datetime
from pathlib import Path
from typing import Any, Final

import pytest
from confluent_kafka import Consumer, TopicPartition

from group_stories.real_members import join, join_share_group, join_streams_group
from programs.kdiag_program import kdiag
from real_kafka import kafka_jars
from real_kafka.kafka_cluster import KafkaCluster, free_ports
from real_kafka.releases import OLDEST, USUAL
from real_kafka.secure_cluster import Listener, SecureCluster
from real_kafka.topic_maker import create, delete, open_transaction, produce, producer, transact

pytestmark = pytest.mark.real

TOOLS: Final = {
    "classic": "consumer.group.ConsumerGroupCommand",
    "share": "consumer.group.ShareGroupCommand",
    "streams": "streams.StreamsGroupCommand",
}
COUNT: Final = 20


@pytest.fixture(scope="module")
def two(
    get_kafka_jars: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaCluster]:
    """Two brokers of the usual release, with groups that live while the tests run."""
    get_kafka_jars(USUAL)
    folder = tmp_path_factory.mktemp("groups")
    with KafkaCluster(USUAL, folder, ports=free_ports(2)) as cluster, ExitStack() as running:
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


def rows_of(tool: str, cluster: KafkaCluster, *arguments: str) -> list[list[str]]:
    """Return the cells of what a tool of Kafka's prints, but for the headers."""
    jars = kafka_jars.jars(cluster.version)
    where = ("--bootstrap-server", cluster.bootstrap, "--describe")
    command = kafka_jars.java_command(jars, f"org.apache.kafka.tools.{tool}", *where, *arguments)
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    rows = [line.split() for line in done.stdout.splitlines()]
    return [row for row in rows if len(row) > 2 and row[0] != "GROUP" and row[0].startswith("g-")]


def test_groups_are_as_kafka_s_own_tools_tell_them(two: KafkaCluster) -> None:
    """Offsets, ends of logs, lag and owner of each partition; state and members of each group."""
    groups = seen(two.bootstrap, "g-classic", "g-next", "g-empty")
    told = {
        (group, topic, int(partition)): rest
        for group, topic, partition, *rest in rows_of(TOOLS["classic"], two, "--all-groups")
        if group in groups
    }
    assert told.keys() >= {("g-classic", "orders", 0), ("g-next", "orders", 2)}
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
        (group,) = seen(two.bootstrap, f"g-age-{offset}").values()
        assert abs(group["lag_ms"] - minutes * 60_000 - (time.time() * 1000 - now_ms)) < 1000


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
