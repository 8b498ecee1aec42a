"""`kdiag rebalance probe` on a real Kafka: all kinds of groups, and nothing of it is left."""

import json
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import islice
from pathlib import Path
from typing import Any, Final

import pytest

from group_stories.member_hosts import ProgramMembers
from kdiag.probe import PROBE_PREFIX
from programs.kdiag_program import kdiag, start_kdiag
from real_kafka.kafka_cluster import KafkaCluster
from real_kafka.releases import USUAL
from real_kafka.topic_changes import await_removal, listed
from real_kafka.topic_maker import create

pytestmark = pytest.mark.soak

PROPERTIES: Final = {
    "group.min.session.timeout.ms": "1000",
    "group.consumer.min.session.timeout.ms": "1000",
    "group.consumer.session.timeout.ms": "1000",
    "group.consumer.min.heartbeat.interval.ms": "100",
    "group.consumer.heartbeat.interval.ms": "200",
    "group.consumer.assignment.interval.ms": "0",
}
CAUSES: Final = [
    "member_joined",
    "member_failed",
    "member_left",
    "partitions_changed",
    "subscription_changed",
]
QUICK: Final = ["-X", "metadata.max.age.ms=300", "--members", "3", "--timeout", "90s"]


@pytest.fixture(scope="module")
def cluster(
    get_kafka_jars: Callable[[str], Path], tmp_path_factory: pytest.TempPathFactory
) -> Iterator[KafkaCluster]:
    """Return a broker whose sessions may be short."""
    get_kafka_jars(USUAL)
    folder = tmp_path_factory.mktemp("probe")
    with KafkaCluster(USUAL, folder, properties=PROPERTIES) as cluster:
        yield cluster


def test_each_cause_is_provoked_in_each_kind_of_group(cluster: KafkaCluster) -> None:
    """What the probe did is what the diagnosis of its exchanges says, and nothing is left."""
    done = kdiag("rebalance", "probe", "-b", cluster.bootstrap, *QUICK, "-o", "json")
    assert (done.code, done.err) == (0, "")
    groups = json.loads(done.out)["data"]

    kinds = [each["rebalance_protocol"] for each in groups]
    assert kinds == ["eager", "cooperative", "incremental"]
    for group in groups:
        assert [each["cause"] for each in group["steps"]] == ["group_formed", *CAUSES]
        for step in group["steps"][1:]:
            check_step(group, step)
    await_removal(cluster.bootstrap, PROBE_PREFIX)


def check_step(group: dict[str, Any], step: dict[str, Any]) -> None:
    """Check what one cause has shown."""
    is_eager = group["rebalance_protocol"] == "eager"
    assert step["unowned"] == step["partitions"] if is_eager else step["unowned"] > 0
    assert 0 < step["longest_unowned_ms"] <= step["longest_unread_ms"]
    assert step["longest_unowned_ms"] <= step["settled_ms"]
    assert all(each["to"] for each in step["gaps"])
    if step["cause"] == "member_failed":
        assert 0 < step["session_ms"] <= group["session_timeout_ms"]
        assert step["session_ms"] <= step["noticed_ms"] <= step["longest_unowned_ms"]
    told = {cause["cause"] for each in step["rebalances"] for cause in each["causes"]}
    is_classic = group["protocol"] == "classic"
    assert not is_classic or step["cause"] in told, (step["cause"], told)
    phases = [each for rebalance in step["rebalances"] for each in rebalance["phases"]]
    assert not is_classic or all(each["join_ms"] is not None for each in phases)


@pytest.mark.parametrize(
    ("number", "arguments"),
    [
        (signal.SIGINT, ["--static"]),
        (signal.SIGTERM, ["--protocol", "consumer"]),
    ],
)
def test_an_interrupted_probe_leaves_nothing(
    cluster: KafkaCluster, number: signal.Signals, arguments: list[str]
) -> None:
    """Each of three members sends a heartbeat before one crashes, which is in the group still."""
    command = ["rebalance", "probe", "-b", cluster.bootstrap, *QUICK, *arguments, "--trace"]
    crash = ["--cause", "member_failed"]
    with start_kdiag(*command, *crash, stderr=subprocess.PIPE, stdout=subprocess.PIPE) as probe:
        assert probe.stderr is not None
        beats = (line for line in probe.stderr if b"Heartbeat v" in line)
        assert len(list(islice(beats, 6))) == 6
        assert listed(cluster.bootstrap, PROBE_PREFIX) != []
        probe.send_signal(number)
        said = probe.stderr.read()
        assert probe.wait() == 128 + number
    assert b"removed topic" in said
    await_removal(cluster.bootstrap, PROBE_PREFIX)


def test_a_probe_whose_time_is_up_leaves_nothing(cluster: KafkaCluster) -> None:
    """Static members do not leave by themselves; what was measured until then is printed."""
    arguments = [*QUICK[:-1], "3s", "--protocol", "classic", "--static"]
    done = kdiag("rebalance", "probe", "-b", cluster.bootstrap, *arguments, "-o", "json")
    assert done.code == 6
    steps = [each for group in json.loads(done.out)["data"] for each in group["steps"]]
    assert steps[0]["cause"] == "group_formed"
    await_removal(cluster.bootstrap, PROBE_PREFIX)


@pytest.mark.real
def test_a_group_that_is_there_keeps_its_members_and_partitions(cluster: KafkaCluster) -> None:
    """It rebalances each time; afterwards it is as it was. What its leader must see is left out."""
    create(cluster.bootstrap, "orders", partitions=2)
    with ExitStack() as running:
        host = ProgramMembers(running, cluster.bootstrap, "g-live", "confluent", ())
        host.join("own", "orders")
        await_owner(cluster)
        probed = ["rebalance", "probe", "-b", cluster.bootstrap, *QUICK, "--group", "g-live"]
        refused = kdiag(*probed)
        done = kdiag(*probed, "--i-know", "-o", "json")
        member = await_owner(cluster)
    assert refused.code == 2
    assert "--i-know" in refused.err
    document = json.loads(done.out)
    (group,) = document["data"]
    causes = [each for each in CAUSES if each != "partitions_changed"]
    assert [each["cause"] for each in group["steps"]] == ["group_formed", *causes]
    (warning,) = document["warnings"]
    assert warning.startswith("partitions_changed is left out: the leader of g-live")
    assert member["client_id"] == "own"
    await_removal(cluster.bootstrap, PROBE_PREFIX)


def await_owner(cluster: KafkaCluster) -> dict[str, Any]:
    """Return the only member of the live group, once it has both partitions."""
    while True:
        done = kdiag("groups", "-b", cluster.bootstrap, "g-live", "-o", "json")
        members = [each for group in json.loads(done.out)["data"] for each in group["member_list"]]
        owned = [{"topic": "orders", "partitions": [0, 1]}]
        if [each["assignment"] for each in members] == [owned]:
            return dict(members[0])
