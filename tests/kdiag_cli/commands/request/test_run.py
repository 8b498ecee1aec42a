"""`kdiag request` on scripted brokers."""

import json
from collections.abc import Iterator
from typing import Any

import pytest

import kdiag
from kdiag.wire.api.create_topics import CreatableTopicResult, CreateTopicsResponse
from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kdiag.wire.api.list_groups import ListGroupsResponse
from kdiag.wire.error_code import CODE_BY_NAME
from programs.kdiag_program import Done
from programs.kdiag_program import kdiag as run_kdiag
from scripted_kafka.coordinating_cluster import coordinating_cluster
from scripted_kafka.scripted_broker import CLOSE, offering
from scripted_kafka.scripted_cluster import ScriptedCluster
from tiers.cases import for_each

TOPICS = '{"topics": [{"name": "orders", "numPartitions": 1, "replicationFactor": 1}]}'


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Three brokers; the second coordinates everything."""
    with coordinating_cluster() as cluster:
        for number, broker in cluster.brokers.items():
            broker.on("DescribeCluster", DescribeClusterResponse(controller_id=number))
        yield cluster


def request(cluster: ScriptedCluster, *arguments: str, stdin: bytes = b"") -> Done:
    """Run the command."""
    return run_kdiag("request", "-b", cluster.bootstrap, *arguments, stdin=stdin)


def data(done: Done) -> list[Any]:
    """Return the data of the document."""
    found = json.loads(done.out)["data"]
    assert isinstance(found, list)
    return found


def asked(cluster: ScriptedCluster, name: str) -> list[int]:
    """Return the brokers that were asked for an API."""
    return [number for number, broker in cluster.brokers.items() if broker.asked(name)]


def error(name: str) -> int:
    """Return the code of an error."""
    return CODE_BY_NAME[name]


def test_an_answer_is_kafkas_json(cluster: ScriptedCluster) -> None:
    """In a pipe nothing else is printed, on stderr neither."""
    done = request(cluster, "FindCoordinator", '{"coordinatorKeys": ["orders"]}')
    assert (done.code, done.err) == (0, "")
    (only,) = json.loads(done.out)["coordinators"]
    assert (only["key"], only["nodeId"]) == ("orders", 2)


@pytest.mark.thorough
def test_the_newest_version_that_has_the_fields_is_used(cluster: ScriptedCluster) -> None:
    """Not newer than the broker, and as told by -V."""
    form = '{"coordinatorKeys": ["orders"]}'

    def version(*arguments: str) -> int:
        (only,) = data(request(cluster, "FindCoordinator", *arguments, "-o", "json"))
        assert isinstance(only["version"], int)
        return only["version"]

    assert [version(form), version('{"key": "x"}'), version(form, "-V", "4")] == [6, 3, 4]
    cluster.on("ApiVersions", offering(FindCoordinator=(0, 5)))
    assert version(form) == 5


def test_a_version_that_the_broker_lacks_is_exit_code_7(cluster: ScriptedCluster) -> None:
    """Its range is told."""
    cluster.on("ApiVersions", offering(FindCoordinator=(0, 3)))
    done = request(cluster, "FindCoordinator", "-V", "6")
    assert (done.code, done.out) == (7, "")
    assert "the broker speaks versions 0-3 of FindCoordinator, versions 6 are wanted" in done.err


@pytest.mark.thorough
def test_all_brokers_answer_side_by_side(cluster: ScriptedCluster) -> None:
    """The document says who said what, where and how fast; for people that is on stderr."""
    done = request(cluster, "DescribeCluster", "--to", "all", "-o", "json")
    rows = data(done)
    assert [(each["node_id"], each["response"]["controllerId"]) for each in rows] == [
        (1, 1),
        (2, 2),
        (3, 3),
    ]
    assert rows[0]["address"] == f"127.0.0.1:{cluster.brokers[1].port}"
    assert (rows[0]["api"], rows[0]["error"]) == ("DescribeCluster", None)
    assert rows[0]["rtt_ms"] > 0

    done = request(cluster, "DescribeCluster", "--to", "all")
    heads = done.err.splitlines()
    assert [line.split("(")[0] for line in heads] == [f"kdiag: broker {n} " for n in (1, 2, 3)]
    assert " DescribeCluster v2, " in heads[0]


@pytest.mark.parametrize(
    ("to", "numbers"),
    [("3", [3]), ("coordinator:orders", [2]), ("controller", [1]), ("all", [1, 2, 3])],
)
def test_a_request_goes_where_it_is_told(
    cluster: ScriptedCluster, to: str, numbers: list[int]
) -> None:
    """And nowhere else."""
    assert request(cluster, "DescribeCluster", "--to", to).code == 0
    assert asked(cluster, "DescribeCluster") == numbers


def test_a_destination_that_is_not_there_is_told(cluster: ScriptedCluster) -> None:
    """A broker is a mistake of the user's; a leader that is missing is one of the cluster's."""
    done = request(cluster, "DescribeCluster", "--to", "7", "-o", "json")
    assert (done.code, data(done)) == (2, [])
    assert done.err == "kdiag: the cluster has no broker 7; it has 1, 2, 3\n"
    done = request(cluster, "DescribeCluster", "--to", "leader:nope:0")
    assert (done.code, done.out) == (1, "")
    assert "topic nope: UNKNOWN_TOPIC_OR_PARTITION" in done.err


def test_bootstrap_servers_are_asked_without_metadata(cluster: ScriptedCluster) -> None:
    """So that a controller can be asked, which has none; its number is not known."""
    cluster.on("Metadata", CLOSE)
    port = cluster.brokers[2].port
    arguments = ("DescribeCluster", "--to", "bootstrap", "-o", "json")
    done = run_kdiag("request", "-b", f"127.0.0.1:{port}", *arguments)
    (only,) = data(done)
    assert (done.code, only["node_id"], only["address"]) == (0, None, f"127.0.0.1:{port}")
    assert only["response"]["controllerId"] == 2
    assert asked(cluster, "Metadata") == []


def test_a_server_is_known_by_the_address_that_its_name_leads_to(cluster: ScriptedCluster) -> None:
    """Brokers advertise 127.0.0.1, and `localhost` is asked."""
    server = f"localhost:{cluster.brokers[2].port}"
    done = run_kdiag("request", "-b", server, "DescribeCluster", "-o", "json")
    (only,) = data(done)
    assert (only["node_id"], only["address"]) == (2, server)


def test_what_may_change_something_must_be_confirmed(cluster: ScriptedCluster) -> None:
    """It is shown instead, with what it would touch; nothing is connected to."""
    done = request(cluster, "CreateTopics", TOPICS)
    assert done.code == 2
    assert "CreateTopics v7 for topics orders was not sent: it changes" in done.err
    assert "--yes sends it" in done.err
    assert json.loads(done.out)["topics"][0]["name"] == "orders"
    assert [broker.connections for broker in cluster.brokers.values()] == [0, 0, 0]

    cluster.on("CreateTopics", CreateTopicsResponse())
    done = request(cluster, "CreateTopics", TOPICS, "--yes")
    assert done.code == 0
    assert len(asked(cluster, "CreateTopics")) == 1


def test_a_dry_run_sends_nothing(cluster: ScriptedCluster) -> None:
    """Also what only reads; for programs the request is in the document."""
    done = request(cluster, "DescribeGroups", '{"groups": ["g"]}', "--dry-run", "-o", "json")
    (only,) = data(done)
    assert (done.code, done.err) == (0, "")
    assert only["request"] == {"groups": ["g"], "includeAuthorizedOperations": False}
    assert (only["node_id"], only["address"], only["response"]) == (None, None, None)
    assert [broker.connections for broker in cluster.brokers.values()] == [0, 0, 0]


def test_a_dry_run_needs_no_broker() -> None:
    """The frame is in hex, with its length in front, and the client's name in it."""
    done = run_kdiag("request", "FindCoordinator", '{"key": "a"}', "--dry-run", "--bytes")
    client_id = f"kdiag-{kdiag.__version__}".encode()
    head = b"\0\x0a\0\3\0\0\0\0" + len(client_id).to_bytes(2) + client_id + b"\0"
    frame = head + b"\2a\0\0"
    assert bytes.fromhex(done.out) == len(frame).to_bytes(4) + frame


def test_the_bytes_are_those_that_crossed_the_wire(cluster: ScriptedCluster) -> None:
    """With the correlation id that the broker saw."""
    arguments = ("DescribeCluster", "--to", "2", "--bytes")
    hex_line, _, body = request(cluster, *arguments).out.partition("\n")
    received = cluster.brokers[2].asked("DescribeCluster")[0]
    frame = bytes.fromhex(hex_line)[4:]
    assert frame.endswith(received.body)
    assert int.from_bytes(frame[4:8]) == received.header.correlation_id
    assert json.loads(body)["controllerId"] == 2
    (only,) = data(request(cluster, *arguments, "-o", "json"))
    assert bytes.fromhex(only["request_bytes"]).endswith(received.body)


@pytest.mark.thorough
@for_each(
    ("name", "code"),
    [
        ("TOPIC_ALREADY_EXISTS", 1),
        ("TOPIC_AUTHORIZATION_FAILED", 5),
        ("REQUEST_TIMED_OUT", 6),
        ("UNSUPPORTED_VERSION", 7),
    ],
)
def test_an_error_in_the_answer_decides_the_exit_code(
    cluster: ScriptedCluster, name: str, code: int
) -> None:
    """The answer is printed all the same, and the finding with what to do."""
    result = CreatableTopicResult(name="orders", error_code=error(name))
    cluster.on("CreateTopics", CreateTopicsResponse(topics=[result]))
    done = request(cluster, "CreateTopics", TOPICS, "--yes")
    assert done.code == code
    assert json.loads(done.out)["topics"][0]["errorCode"] == error(name)
    assert f"answered CreateTopics v7 with {name}" in done.err
    assert f"kdiag errcode {name}" in done.err

    document = json.loads(request(cluster, "CreateTopics", TOPICS, "-y", "-o", "json").out)
    assert document["data"][0]["error"] == name
    assert [each["id"] for each in document["findings"]] == ["KD5003"]


def test_a_broker_that_is_down_makes_the_result_partial(cluster: ScriptedCluster) -> None:
    """Exit code 8, with the answers of the others; if nobody answers it is 3."""
    bootstrap = f"127.0.0.1:{cluster.brokers[1].port}"
    cluster.brokers[3].stop()
    command = ("request", "-b", bootstrap, "DescribeCluster")
    done = run_kdiag(*command, "--to", "all", "-o", "json")
    rows = data(done)
    assert done.code == 8
    assert [each["response"] is None for each in rows] == [False, False, True]
    assert "refused" in rows[2]["error"]
    done = run_kdiag(*command, "--to", "3")
    assert (done.code, done.out) == (3, "")
    assert "Start the broker" in done.err


@pytest.mark.thorough
def test_a_request_that_needs_no_answer_gets_none(cluster: ScriptedCluster) -> None:
    """Produce with acks=0."""
    done = request(cluster, "Produce", '{"acks": 0}', "--yes", "-o", "json")
    (only,) = data(done)
    assert (done.code, only["response"], only["error"]) == (0, None, None)


@pytest.mark.thorough
def test_secrets_are_kept_back(cluster: ScriptedCluster) -> None:
    """In requests and responses, unless they are asked for."""
    secret = DescribeConfigsResourceResult(name="ssl.keystore.password", value="hunter2")
    result = DescribeConfigsResult(resource_type=4, resource_name="1", configs=[secret])
    cluster.on("DescribeConfigs", DescribeConfigsResponse(results=[result]))
    assert "hunter2" not in request(cluster, "DescribeConfigs").out
    assert "<redacted>" in request(cluster, "DescribeConfigs", "--raw").out
    assert "hunter2" in request(cluster, "DescribeConfigs", "--show-secrets").out
    configs = '[{"name": "sasl.jaas.config", "value": "hunter2"}]'
    form = f'{{"resources": [{{"configs": {configs}}}]}}'
    assert "hunter2" not in request(cluster, "AlterConfigs", form, "--dry-run").out


def test_what_is_asked_may_come_from_stdin(cluster: ScriptedCluster) -> None:
    """As the last stage of a pipe."""
    cluster.on("ListGroups", ListGroupsResponse())
    done = request(cluster, "ListGroups", "-", stdin=b'{"statesFilter": ["Stable"]}')
    assert done.code == 0
    bodies = [broker.asked("ListGroups") for broker in cluster.brokers.values()]
    assert b"Stable" in next(each[0].body for each in bodies if each)


def test_trace_shows_the_request_among_the_others(cluster: ScriptedCluster) -> None:
    """In the line format of decode."""
    done = request(cluster, "DescribeCluster", "--trace")
    assert sum(" DescribeCluster v2 " in line for line in done.err.splitlines()) == 1


def versions_asked(cluster: ScriptedCluster) -> set[tuple[str, int]]:
    """Return the APIs that brokers were asked for, with the versions."""
    return {
        (each.name, each.header.version)
        for broker in cluster.brokers.values()
        for each in broker.requests
    }


def test_an_old_client_sends_no_newer_version(cluster: ScriptedCluster) -> None:
    """In no request, whatever it is for."""
    done = request(cluster, "DescribeCluster", "--as-version", "2.8.1")
    assert done.code == 0, done.err
    assert versions_asked(cluster) == {("ApiVersions", 3), ("Metadata", 11), ("DescribeCluster", 0)}


def test_what_an_old_client_does_not_know_is_not_sent(cluster: ScriptedCluster) -> None:
    """Nobody is connected to for that."""
    done = request(cluster, "DescribeTopicPartitions", "--as-version", "2.8")
    assert done.code == 7
    assert done.err == "kdiag: a client of Kafka 2.8 does not know DescribeTopicPartitions\n"
    done = request(cluster, "Fetch", "-V", "13", "--as-version", "2.8", "-o", "json")
    assert done.code == 7
    why = "a client of Kafka 2.8 knows versions 0-12 of Fetch, 13 are wanted"
    assert json.loads(done.out)["warnings"] == [why]
    assert versions_asked(cluster) == set()


def test_an_unknown_release_is_wrong_usage(cluster: ScriptedCluster) -> None:
    """Those that are known are listed."""
    done = request(cluster, "Metadata", "--as-version", "9.9")
    assert done.code == 2
    assert done.err.startswith("kdiag: --as-version: expected a release of Kafka (0.10.0, ")
    assert done.err.endswith(", 4.4), found '9.9'\n")


def test_what_is_only_shown_is_that_of_an_old_client() -> None:
    """A template, the fields, and the frame of a request."""
    old = ("--as-version", "2.0")
    assert "rackId" not in run_kdiag("request", "Fetch", "--template", *old).out
    assert "rackId" in run_kdiag("request", "Fetch", "--template", "--as-version", "2.3").out
    assert "rackId" not in run_kdiag("request", "Fetch", "--fields", *old).out
    frame = run_kdiag("request", "Heartbeat", "--dry-run", "--bytes", *old).out
    assert frame[8:16] == "000c0002"
    done = run_kdiag("request", "DescribeTopicPartitions", "--template", *old)
    assert (done.code, done.out) == (7, "")
