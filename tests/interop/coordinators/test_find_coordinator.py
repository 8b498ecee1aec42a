"""`kdiag find-coordinator` on real brokers: every kind of group, old and new, and lost brokers."""

import json
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from group_stories.real_members import client_of, join, join_share_group, join_streams_group
from kdiag.wire.api.create_topics import (
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from programs.kdiag_program import Done, kdiag, start_kdiag
from real_kafka.kafka_cluster import KafkaCluster, free_ports
from real_kafka.releases import NEWEST, OLDEST, USUAL
from real_kafka.secure_cluster import USERS, Listener, SecureCluster
from real_kafka.topic_changes import await_topic
from tiers.attempts import measure_again

pytestmark = pytest.mark.soak
TOPIC = "orders"


@pytest.fixture(scope="module")
def three(
    get_kafka_jars: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaCluster]:
    """Three brokers of the usual release with a topic."""
    get_kafka_jars(USUAL)
    folder = tmp_path_factory.mktemp("three")
    with KafkaCluster(USUAL, folder, ports=free_ports(3)) as cluster:
        create_topic(cluster.bootstrap)
        yield cluster


def create_topic(bootstrap: str) -> None:
    """Create the topic that members subscribe to."""
    request = CreateTopicsRequest(
        topics=[CreatableTopic(TOPIC, num_partitions=2, replication_factor=1)], timeout_ms=20_000
    )
    with client_of(bootstrap) as client:
        client.connect()
        answer = client.ask(client.cluster.controller_id, request, CreateTopicsResponse)
    assert [each.error_code for each in answer.topics] == [0]


def found(bootstrap: str, *names: str) -> dict[str, dict[str, Any]]:
    """Return the element of each name in the document."""
    done = kdiag("find-coordinator", "-b", bootstrap, *names, "-o", "json", "--timeout", "60s")
    assert done.code == 0, done
    return {each["key"]: each for each in json.loads(done.out)["data"]}


@pytest.mark.real
def test_each_type_of_group_is_told_right(three: KafkaCluster) -> None:
    """Classic, KIP-848, share and streams groups, and one that does not exist."""
    with ExitStack() as running:
        join("g-classic", three.bootstrap, running, TOPIC)
        join("g-consumer", three.bootstrap, running, TOPIC, group_protocol="consumer")
        join_share_group("g-share", three.bootstrap, TOPIC)
        join_streams_group("g-streams", three.bootstrap, TOPIC)
        names = ["g-classic", "g-consumer", "g-share", "g-streams", "g-none"]
        groups = {name: each["group"] for name, each in found(three.bootstrap, *names).items()}
    assert groups["g-classic"] == {"type": "classic", "state": "Stable"}
    assert groups["g-consumer"] == {"type": "consumer", "state": "Stable"}
    assert groups["g-share"]["type"] == "share"
    assert groups["g-streams"]["type"] == "streams"
    assert groups["g-none"] is None


@pytest.mark.real
def test_the_partition_is_where_the_cluster_says_the_coordinator_is(three: KafkaCluster) -> None:
    """Our hash and the brokers' answers agree for hundreds of names, strange ones as well."""
    names = [f"group-{number}" for number in range(300)] + ["größe", "\U0001f600", "a b", "x" * 249]

    def look() -> None:
        reports = found(three.bootstrap, *names)
        assert len(reports) == len(names)
        for each in reports.values():
            assert each["partition"]["leader"] == each["coordinator"]["node_id"]
            assert each["agreement"]
            assert each["reachable"]

    # A broker that has just been started may learn of the partitions after the others.
    measure_again(look, attempts=3)


def test_transactional_ids_and_share_partitions_have_topics_of_their_own(
    three: KafkaCluster,
) -> None:
    """The internal topic is created by the question; its place is told once all brokers know it."""
    questions = {
        "__transaction_state": ("--txn", "order-writer"),
        "__share_group_state": ("--share", f"g-share:{TOPIC}:1"),
    }
    for topic, question in questions.items():
        (created,) = found(three.bootstrap, *question).values()
        await_topic(three.bootstrap, topic, 3)
        (told,) = found(three.bootstrap, *question).values()
        assert told["partition"]["topic"] == topic
        assert told["partition"]["leader"] == told["coordinator"]["node_id"]
        assert told["coordinator"] == created["coordinator"]


@pytest.mark.parametrize("version", [OLDEST, NEWEST])
def test_older_and_newer_brokers_answer_as_well(
    version: str, get_secure_cluster: Callable[[str], SecureCluster]
) -> None:
    """One node is enough of a cluster."""
    cluster = get_secure_cluster(version)
    bootstrap = cluster.address(Listener.PLAINTEXT)
    with ExitStack() as running:
        create_topic(bootstrap)
        join("g-classic", bootstrap, running, TOPIC)
        report = found(bootstrap, "g-classic")["g-classic"]
    assert report["coordinator"]["node_id"] == 1
    assert report["group"]["type"] == "classic"
    assert report["group"]["state"] == "Stable"


@pytest.mark.real
def test_a_group_that_one_may_not_see_is_refused(
    get_secure_cluster: Callable[[str], SecureCluster], tmp_path: Path
) -> None:
    """Exit code 5, the permission that is missing, and who has to give it."""
    cluster = get_secure_cluster(USUAL)
    properties = tmp_path / "bob.properties"
    login = f'username="bob" password="{USERS["bob"]}";'
    module = "org.apache.kafka.common.security.plain.PlainLoginModule"
    properties.write_text(
        f"bootstrap.servers={cluster.address(Listener.SASL_PLAINTEXT)}\n"
        "security.protocol=SASL_PLAINTEXT\nsasl.mechanism=PLAIN\n"
        f"sasl.jaas.config={module} required {login}\n"
    )
    done = kdiag("find-coordinator", "--config", properties, "secret-group")
    assert done.code == 5
    assert "KD4001: not authorized to see group secret-group" in done.err


@pytest.mark.real
def test_a_coordinator_that_is_killed_is_told_while_it_is_watched(
    get_kafka_jars: Callable[[str], Path], tmp_path: Path
) -> None:
    """The loss, the next coordinator with how long it took; then partial results."""
    get_kafka_jars(USUAL)
    with KafkaCluster(USUAL, tmp_path, ports=free_ports(3)) as cluster:
        first = found(cluster.bootstrap, "orders")["orders"]["coordinator"]["node_id"]
        lines = watch_until_moved(cluster, first)
        moved = next(
            each
            for each in lines
            if each["coordinator"] and each["reachable"] and each["coordinator"]["node_id"] != first
        )
        assert any(text.endswith("s without") for text in moved["changes"])
        assert moved["partition"]["leader"] == moved["coordinator"]["node_id"]
        thousand = many(cluster, 1000)
        document = json.loads(thousand.out)
    assert thousand.code == 8
    assert len(document["data"]) == 1000
    assert "KD3007" in {each["id"] for each in document["findings"]}


def watch_until_moved(cluster: KafkaCluster, first: int) -> list[dict[str, Any]]:
    """Watch a group, kill its coordinator, and return what is told until another is there."""
    options = ["-b", cluster.bootstrap, "orders", "--watch", "--interval", "100ms", "-o", "json"]
    lines: list[dict[str, Any]] = []
    with start_kdiag(
        "find-coordinator", *options, "--timeout", "90s", stdout=subprocess.PIPE
    ) as watching:
        assert watching.stdout is not None
        for line in watching.stdout:
            lines.append(json.loads(line))
            if len(lines) == 1:
                cluster.kill(first)
            node = lines[-1]["coordinator"]
            if lines[-1]["reachable"] and node["node_id"] != first:
                watching.terminate()
                break
    return lines


def many(cluster: KafkaCluster, count: int) -> Done:
    """Ask for many groups at once."""
    names = "".join(f"group-{number}\n" for number in range(count)).encode()
    options = ["-b", cluster.bootstrap, "-", "-o", "json", "--timeout", "60s"]
    return kdiag("find-coordinator", *options, stdin=names)
