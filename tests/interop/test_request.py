"""`kdiag request` and `kdiag api-versions` on real brokers and controllers."""

import json
from base64 import b64encode
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.client_release import client_release
from kdiag.wire.error_code import error_name
from kdiag.wire.records.record import Record
from kdiag.wire.records.writer import write_batch
from kdiag.wire.side_effects import READ_ONLY
from programs.kdiag_program import Done, kdiag
from real_kafka.releases import OLDEST, VERSIONS, release
from real_kafka.secure_cluster import USERS, Listener, SecureCluster

pytestmark = pytest.mark.soak

QUORUM = json.dumps(
    {"topics": [{"topicName": "__cluster_metadata", "partitions": [{"partitionIndex": 0}]}]}
)

ANY_ACL = {"resourceTypeFilter": 1, "operation": 1, "permissionType": 1}
FORMS = {
    "DescribeAcls": (0, ANY_ACL),
    "OffsetFetch": (8, {"groups": [{"groupId": "nope"}]}),
}
"""What to ask, from which version on, where a broker does not answer to the defaults: it hangs up
on DescribeAcls, and 3.9.1 says nothing to an OffsetFetch of no group."""


@pytest.fixture(params=VERSIONS)
def version(request: pytest.FixtureRequest) -> str:
    """A Kafka version."""
    assert isinstance(request.param, str)
    return request.param


@pytest.fixture
def cluster(version: str, get_secure_cluster: Callable[[str], SecureCluster]) -> SecureCluster:
    """A running node, broker and controller at once."""
    return get_secure_cluster(version)


def ask(cluster: SecureCluster, *arguments: str) -> Done:
    """Run `kdiag request` as a super user."""
    return kdiag("request", "-b", cluster.address(Listener.PLAINTEXT), *arguments)


def answer(cluster: SecureCluster, *arguments: str) -> Any:
    """Return the only answer."""
    done = ask(cluster, *arguments)
    assert done.code == 0, done.err
    return json.loads(done.out)


def loaded(cluster: SecureCluster, *arguments: str) -> Any:
    """Return the only answer, once the new coordinator has loaded its partition."""
    for _ in range(200):
        done = ask(cluster, *arguments)
        if "NOT_COORDINATOR" not in done.err and "LOAD_IN_PROGRESS" not in done.err:
            return json.loads(done.out)
    raise AssertionError("the coordinator does not load")


def controller(cluster: SecureCluster) -> str:
    """Return the address of the controller's listener."""
    return f"127.0.0.1:{cluster.ports[0].controller}"


def spoken(address: str, *arguments: str) -> dict[str, dict[str, Any]]:
    """Return the rows of `kdiag api-versions` by API."""
    done = kdiag("api-versions", "-b", address, *arguments, "-o", "json")
    assert done.code == 0, done.err
    return {row["api"]: row for row in json.loads(done.out)["data"]}


@pytest.mark.real
def test_every_request_that_only_reads_is_answered_in_every_version(cluster: SecureCluster) -> None:
    """With all fields at their defaults; whatever the broker says, it understood."""
    rows = spoken(cluster.address(Listener.PLAINTEXT))
    asked = 0
    for name in sorted({API_BY_KEY[key].name for key in READ_ONLY} & rows.keys()):
        usable = rows[name]["usable"]
        for number in range(usable["min"], usable["max"] + 1):
            first, form = FORMS.get(name, (0, {}))
            body = json.dumps(form if number >= first else {})
            done = ask(cluster, name, body, "-V", str(number), "-o", "json", "--timeout", "30s")
            rows_of_one = json.loads(done.out)["data"]
            assert [row["response"] is not None for row in rows_of_one] == [True], (name, done.err)
            assert rows_of_one[0]["version"] == number
            asked += 1
    assert asked > 70


@pytest.mark.real
def test_a_topic_is_made_written_read_and_deleted(cluster: SecureCluster) -> None:
    """By raw requests alone; records are decoded in the answer."""
    topic = {"name": "by-hand", "numPartitions": 1, "replicationFactor": 1}
    assert answer(cluster, "CreateTopics", json.dumps({"topics": [topic]}), "--yes")
    batch = b64encode(write_batch([Record(0, key=b"key", value=b"value")])).decode()
    partition = {"index": 0, "records": batch}
    produce = {
        "acks": -1,
        "timeoutMs": 10_000,
        "topicData": [{"name": "by-hand", "partitionData": [partition]}],
    }
    leader = ("--to", "leader:by-hand:0")
    said = answer(cluster, "Produce", json.dumps(produce), "--yes", *leader)
    assert said["responses"][0]["partitionResponses"][0]["baseOffset"] == 0
    wanted = {"topic": "by-hand", "partitions": [{"partition": 0, "partitionMaxBytes": 1000}]}
    fetch = json.dumps({"topics": [wanted], "maxBytes": 1000})
    said = answer(cluster, "Fetch", fetch, *leader)
    (batch_said,) = said["responses"][0]["partitions"][0]["records"]
    (record,) = batch_said["records"]
    assert (record["key"], record["value"]) == ("key", "value")
    raw = answer(cluster, "Fetch", fetch, *leader, "--raw")
    assert isinstance(raw["responses"][0]["partitions"][0]["records"], str)
    delete = json.dumps({"topicNames": ["by-hand"], "timeoutMs": 10_000})
    assert ask(cluster, "DeleteTopics", delete).code == 2
    assert answer(cluster, "DeleteTopics", delete, "--yes")["responses"][0]["errorCode"] == 0


def test_an_error_in_the_answer_is_told(cluster: SecureCluster) -> None:
    """The answer is Kafka's, the advice kdiag's."""
    done = ask(cluster, "DeleteTopics", '{"topicNames": ["nope"], "timeoutMs": 9000}', "--yes")
    assert done.code == 1
    assert "with UNKNOWN_TOPIC_OR_PARTITION" in done.err
    assert json.loads(done.out)["responses"][0]["errorCode"] == 3


def test_a_group_is_asked_at_its_coordinator(cluster: SecureCluster) -> None:
    """Also one that does not exist yet."""
    form = '{"groups": ["nope"]}'
    said = loaded(cluster, "DescribeGroups", form, "-V", "5", "--to", "coordinator:nope")
    assert said["groups"][0]["groupState"] == "Dead"
    form = '{"transactionalIds": ["nope"]}'
    said = loaded(cluster, "DescribeTransactions", form, "--to", "coordinator:txn:nope")
    assert error_name(said["transactionStates"][0]["errorCode"]) == "TRANSACTIONAL_ID_NOT_FOUND"


def test_a_controller_is_asked_at_its_own_listener(cluster: SecureCluster) -> None:
    """It has no Metadata, so nobody is asked for it."""
    command = ("request", "-b", controller(cluster), "--to", "bootstrap")
    done = kdiag(*command, "DescribeQuorum", QUORUM, "-o", "json")
    (row,) = json.loads(done.out)["data"]
    assert (done.code, row["node_id"], row["address"]) == (0, None, controller(cluster))
    (partition,) = row["response"]["topics"][0]["partitions"]
    assert partition["leaderId"] == 1
    done = kdiag(*command, "Metadata")
    assert (done.code, done.out) == (7, "")
    assert "does not offer Metadata" in done.err
    done = kdiag("request", "-b", controller(cluster), "DescribeQuorum", QUORUM)
    assert done.code == 3
    assert "a controller's listener" in done.err
    assert "--to bootstrap" in done.err


def test_what_a_user_may_not_do_is_exit_code_5(cluster: SecureCluster) -> None:
    """The broker says so in its answer."""
    settings = {
        "security.protocol": "SASL_PLAINTEXT",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.username": "bob",
        "sasl.password": USERS["bob"],
    }
    options = [text for key, value in settings.items() for text in ("-X", f"{key}={value}")]
    address = cluster.address(Listener.SASL_PLAINTEXT)
    form = '{"topics": [{"name": "secret", "numPartitions": 1, "replicationFactor": 1}]}'
    done = kdiag("request", "-b", address, *options, "CreateTopics", form, "--yes")
    assert done.code == 5
    assert "TOPIC_AUTHORIZATION_FAILED" in done.err


@pytest.mark.real
def test_passwords_do_not_show(cluster: SecureCluster) -> None:
    """The broker keeps them back as well."""
    form = json.dumps({"resources": [{"resourceType": 4, "resourceName": "1"}]})
    done = ask(cluster, "DescribeConfigs", form)
    assert done.code == 0
    assert '"ssl.keystore.password"' in done.out
    assert not any(word in done.out for word in USERS.values())


def test_api_versions_knows_every_api_of_the_broker(cluster: SecureCluster, version: str) -> None:
    """The ranges are the broker's own; the trap of KIP-896 is there from 4.0 on."""
    rows = spoken(cluster.address(Listener.PLAINTEXT))
    assert None not in rows
    offered = answer(cluster, "ApiVersions")["apiKeys"]
    told = {row["api_key"]: row["brokers"][0]["versions"] for row in rows.values()}
    assert told == {e["apiKey"]: {"min": e["minVersion"], "max": e["maxVersion"]} for e in offered}
    refused = None if version == OLDEST else {"min": 0, "max": 2}
    assert rows["Produce"]["refused"] == refused


def test_produce_below_version_3_is_really_refused(cluster: SecureCluster, version: str) -> None:
    """What the table says of it is true."""
    done = ask(cluster, "Produce", '{"acks": 1}', "-V", "2", "--yes", "--timeout", "30s")
    assert (done.code == 0) == (version == OLDEST)


def test_features_are_those_of_the_release(cluster: SecureCluster, version: str) -> None:
    """The level of metadata.version is what the storage was formatted with."""
    done = kdiag("api-versions", "-b", cluster.address(Listener.PLAINTEXT), "--features")
    (line,) = (line for line in done.out.splitlines() if line.startswith("metadata.version"))
    assert line.split("\t")[-1].startswith(release(version).metadata_version)


def test_a_controller_tells_its_versions(cluster: SecureCluster) -> None:
    """It has APIs that brokers have not, and no Metadata."""
    rows = spoken(controller(cluster), "--to", "bootstrap")
    assert "Vote" in rows
    assert "Metadata" not in rows


def test_an_older_client_is_answered_in_its_own_versions(
    cluster: SecureCluster, log_in: Callable[..., list[str]], tmp_path: Path
) -> None:
    """What was sent is what the clients of that release know, in the login as well."""
    released = client_release("2.2")
    assert released is not None
    capture = tmp_path / "old.pcap"
    login = log_in("alice", "SCRAM-SHA-256", "SASL_PLAINTEXT")
    address = cluster.address(Listener.SASL_PLAINTEXT)
    asked = ("request", "ListGroups", "-b", address, "--as-version", "2.2", *login)
    done = kdiag(*asked, "--write", capture)
    assert done.code == 0, done.err
    lines = kdiag("decode", capture, "-o", "jsonl").out.splitlines()
    exchanges = [each for each in map(json.loads, lines) if "api_key" in each]
    sent = {each["api"]: each["version"] for each in exchanges}
    assert (sent["SaslAuthenticate"], sent["Metadata"], sent["ListGroups"]) == (1, 7, 2)
    assert all(
        released.versions(API_BY_KEY[each["api_key"]]).covers(each["version"]) for each in exchanges
    )
