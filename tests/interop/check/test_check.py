"""`kdiag check` on real brokers: what is well, and each fault by its layer, finding, exit code."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

import pytest

from client_ends.client_peers import closed_port
from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.configured_client import configured_client
from kdiag.clock import SystemClock
from kdiag.wire.api.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from programs.json_run import Said, said, settings, trusting
from programs.kdiag_program import Done, kdiag
from real_kafka.kafka_cluster import KafkaCluster, free_ports
from real_kafka.releases import USUAL, VERSIONS, release
from real_kafka.secure_cluster import Listener, SecureCluster
from secure_ends.certificate_files import PASSWORD

pytestmark = pytest.mark.soak

CLOCK = SystemClock()
TRIES: Final = 60


@pytest.mark.real
@pytest.mark.parametrize("version", VERSIONS)
def test_every_layer_of_a_healthy_cluster_is_told(
    version: str,
    get_secure_cluster: Callable[[str], SecureCluster],
    log_in: Callable[..., list[str]],
) -> None:
    """From TCP to the rights of the user; the release is told by metadata.version."""
    cluster = get_secure_cluster(version)
    address = cluster.address(Listener.SASL_SSL)
    options = [*trusting(cluster, "SASL_SSL"), *log_in("alice", "SCRAM-SHA-512", "SASL_SSL")]

    done = said("check", address, *options)

    assert done.code == 0, done
    stages = [each["stage"] for each in done.document["data"]]
    assert list(dict.fromkeys(stages)) == [
        "DNS",
        "TCP",
        "TLS",
        "SASL",
        "ApiVersions",
        "Metadata",
        "Listeners",
        "ACLs",
        "Partitions",
        "Coordinator",
    ]
    (tls,), (sasl,), (versions,) = (done.rows(each) for each in ("TLS", "SASL", "ApiVersions"))
    assert tls["tls"]["version"] == "TLSv1.3"
    assert tls["tls"]["certificates"][0]["names"] == ["localhost", "127.0.0.1", "::1"]
    assert sasl["detail"] == "SCRAM-SHA-512 as alice"
    assert versions["release"] == release(version).minor
    (listener,) = done.rows("Listeners")
    assert listener["reachable"]
    assert list(listener["steps"]) == ["TCP", "TLS", "SASL", "ApiVersions", "Metadata"]
    assert "Alter" in done.rows("ACLs")[0]["operations"]
    assert done.ids == ["KD1206"]  # the certificates of the rig are made for a month


@pytest.mark.parametrize("version", VERSIONS)
def test_a_quick_check_ends_with_the_first_answer(
    version: str, get_secure_cluster: Callable[[str], SecureCluster]
) -> None:
    """Nobody is asked for listeners, rights or partitions."""
    done = said("check", get_secure_cluster(version).address(Listener.PLAINTEXT), "--quick")

    assert (done.code, done.ids) == (0, [])
    assert [each["stage"] for each in done.document["data"]] == [
        "DNS",
        "TCP",
        "ApiVersions",
        "Metadata",
    ]


def test_certificates_are_told_though_they_are_refused(secure: SecureCluster) -> None:
    """Whoever must renew it wants to know which it is."""
    done = said("check", secure.address(Listener.EXPIRED), *trusting(secure))

    (row,) = done.rows("TLS")
    own = row["tls"]["certificates"][0]
    assert own["subject"] == "CN=broker"
    assert own["days_left"] < 0


def test_a_client_with_a_certificate_is_let_in(secure: SecureCluster) -> None:
    """As somebody who may do nothing, which is told."""
    certificates = secure.certificates
    options = settings(
        ssl_certificate_location=certificates.client,
        ssl_key_location=certificates.client_encrypted,
        ssl_key_password=PASSWORD,
    )

    done = said("check", secure.address(Listener.MTLS), *trusting(secure), *options)

    assert done.code == 0
    assert done.rows("ACLs")[0]["operations"] == []


@pytest.mark.real
def test_a_user_without_rights_is_told_which_are_missing(
    secure: SecureCluster, log_in: Callable[..., list[str]]
) -> None:
    """For the group and the topic that were asked for; the connection itself is fine."""
    options = log_in("bob", "PLAIN", "SASL_PLAINTEXT")
    address = secure.address(Listener.SASL_PLAINTEXT)

    done = said("check", address, *options, "-g", "billing", "-t", "orders")
    unnamed = said("check", address, *options)

    assert (done.code, done.ids) == (5, ["KD4002", "KD4001", "KD1306"])
    assert done.rows("Coordinator")[0]["error"] == "GROUP_AUTHORIZATION_FAILED"
    assert (unnamed.code, unnamed.ids) == (0, ["KD1306"])


def test_a_session_timeout_that_the_coordinator_refuses_is_found(secure: SecureCluster) -> None:
    """Before a member is; the limits are the broker's own, whether or not it leads groups yet."""
    quick = ("-X", "session.timeout.ms=3000", "-X", "heartbeat.interval.ms=1000")
    done = said("check", secure.bootstrap, *quick, "-g", "billing")
    found = dict(zip(done.ids, done.document["findings"], strict=True))
    assert found["KD3011"]["evidence"]["min_ms"] == 6000


@pytest.mark.real
@pytest.mark.parametrize("command", ["check", "find-coordinator orders"])
def test_an_advertised_listener_that_leads_nowhere_is_named(
    command: str, get_kafka_jars: Callable[[str], Path], tmp_path: Path
) -> None:
    """The bootstrap server answers, and sends everybody to a port where nobody listens."""
    get_kafka_jars(USUAL)
    port = closed_port()
    advertised = {"advertised.listeners": f"PLAINTEXT://127.0.0.1:{port}"}
    with KafkaCluster(USUAL, tmp_path, properties=advertised) as cluster:
        done = said(command, cluster.bootstrap)

    assert done.code == 3
    finding = next(each for each in done.document["findings"] if each["id"] == "KD1501")
    assert f"broker 1 advertises 127.0.0.1:{port}, which cannot be used" in finding["title"]
    assert "advertised.listeners of broker 1" in finding["fix"]


@contextmanager
def three_brokers(folder: Path) -> Iterator[KafkaCluster]:
    """Run three brokers that notice soon when one is gone."""
    properties = {"broker.session.timeout.ms": "2000", "broker.heartbeat.interval.ms": "500"}
    with KafkaCluster(USUAL, folder, ports=free_ports(3), properties=properties) as cluster:
        create_topics(cluster.bootstrap)
        yield cluster


@pytest.fixture(scope="module")
def three(
    get_kafka_jars: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaCluster]:
    """Three brokers that stay as they are."""
    get_kafka_jars(USUAL)
    with three_brokers(tmp_path_factory.mktemp("three")) as cluster:
        yield cluster


def create_topics(bootstrap: str) -> None:
    """Create topics on broker 3 alone, on 3 and 1, and on 3 and 2 that must both be in sync."""
    strict = [CreatableTopicConfig("min.insync.replicas", "2")]
    topics = [
        CreatableTopic(
            name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(0, replicas)],
            configs=configs,
        )
        for name, replicas, configs in (
            ("alone", [3], []),
            ("orders", [3, 1], []),
            ("payments", [3, 2], strict),
        )
    ]
    config = load_config(ConfigSources(properties=[f"bootstrap.servers={bootstrap}"]))
    with configured_client(config, CLOCK) as client:
        client.connect()
        request = CreateTopicsRequest(topics=topics, timeout_ms=20_000)
        answer = client.ask(client.cluster.controller_id, request, CreateTopicsResponse)
    assert [each.error_code for each in answer.topics] == [0, 0, 0]


def test_three_brokers_are_checked_by_the_addresses_that_they_advertise(
    three: KafkaCluster,
) -> None:
    """All is well, the group that does not exist yet as well."""
    arguments = ("check", three.bootstrap, "-g", "billing", "-t", "orders")
    done = said(*arguments)
    for _ in range(TRIES):  # a coordinator that is new reads its partition first
        if "KD3003" not in done.ids and not done.document["warnings"]:
            break
        done = said(*arguments)

    assert (done.code, done.ids) == (0, [])
    assert [each["node_id"] for each in done.rows("Listeners")] == [1, 2, 3]
    assert all(each["reachable"] for each in done.rows("Listeners"))
    targets = [each["target"] for each in done.rows("ACLs")]
    assert targets == ["cluster", "topic orders", "group billing"]
    assert "Read" in done.rows("ACLs")[2]["operations"]
    assert done.rows("Coordinator")[0]["node_id"] in {1, 2, 3}
    assert done.rows("Metadata")[-1]["voters"] == [1, 2, 3]


@pytest.mark.real
def test_the_port_of_a_controller_is_named(three: KafkaCluster) -> None:
    """It speaks Kafka's protocol, and is of no use to a client."""
    done = said("check", f"127.0.0.1:{three.ports[0].controller}")
    assert (done.code, done.ids) == (3, ["KD1406"])


def test_a_misspelt_topic_is_told_with_the_one_that_was_meant(three: KafkaCluster) -> None:
    """As no other tool does."""
    done = said("check", three.bootstrap, "-t", "order")

    assert (done.code, done.ids) == (1, ["KD2005"])
    title = done.document["findings"][0]["title"]
    assert title == "the topic order does not exist; did you mean orders?"


def check_until(cluster: KafkaCluster, is_settled: Callable[[Said], bool]) -> Said:
    """Check again and again until the cluster has settled, or a minute is over."""
    clock = SystemClock()
    until_ns = clock.monotonic_ns() + 60_000_000_000
    done = said("check", cluster.bootstrap)
    while not is_settled(done) and clock.monotonic_ns() < until_ns:
        done = said("check", cluster.bootstrap)
    return done


def test_a_broker_that_is_gone_is_told_by_what_is_missing(
    get_kafka_jars: Callable[[str], Path], tmp_path: Path
) -> None:
    """A partition without leader, one below its minimum, one with a replica less."""
    get_kafka_jars(USUAL)
    with three_brokers(tmp_path) as cluster:
        cluster.kill(3)
        done = check_until(cluster, lambda said: "KD2001" in said.ids and "KD1501" not in said.ids)

    assert done.code == 1
    assert {"KD1101", "KD2001", "KD2002", "KD2003", "KD2007"} <= set(done.ids)
    by_id = {each["id"]: each for each in done.document["findings"]}
    assert by_id["KD1101"]["severity"] == "warning"  # another bootstrap server answers
    assert by_id["KD2001"]["evidence"]["partitions"] == "alone[0]"
    assert "broker 3 running" in by_id["KD2001"]["fix"]
    assert "payments[0]" in by_id["KD2002"]["evidence"]["partitions"]
    assert "orders[0]" in by_id["KD2003"]["evidence"]["partitions"]
    assert by_id["KD2007"]["evidence"] == {"node_id": 3}


@pytest.mark.real
def test_a_plugin_of_nagios_says_one_line(secure: SecureCluster) -> None:
    """With exit codes of its own."""
    well: Done = kdiag("check", "-b", secure.address(Listener.PLAINTEXT), "--quick", "--nagios")
    bad: Done = kdiag("check", "-b", secure.address(Listener.SSL), "--quick", "--nagios")

    assert well.code == 0
    assert well.out.startswith("KAFKA OK - cluster ")
    assert " | time=" in well.out
    assert bad.code == 2
    assert bad.out.startswith("KAFKA CRITICAL - KD1401 ")
