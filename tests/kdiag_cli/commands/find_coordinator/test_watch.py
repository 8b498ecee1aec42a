"""`kdiag find-coordinator --watch` on scripted brokers."""

import json
import socket
from collections.abc import Iterator

import pytest

from kdiag.clock import NS_PER_S, SystemClock
from kdiag.wire.api.describe_groups import DescribedGroup, DescribeGroupsResponse
from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.api.list_groups import ListGroupsResponse
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.schema import Struct
from programs.kdiag_program import Done, kdiag
from scripted_kafka.coordinating_cluster import coordinating_cluster
from scripted_kafka.scripted_broker import CLOSE, Received, Reply
from scripted_kafka.scripted_cluster import ScriptedCluster

CLOCK = SystemClock()


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Three brokers; the second coordinates everything."""
    with coordinating_cluster() as cluster:
        yield cluster


def watch(cluster: ScriptedCluster, looks: int, *arguments: str) -> Done:
    """Look so many times, fast."""
    options = ["--watch", "--interval", "60ms", "-n", str(looks)]
    return kdiag("find-coordinator", "-b", cluster.bootstrap, "orders", *options, *arguments)


def told(done: Done) -> list[str]:
    """Return what was said of the group, without times."""
    return [line.split("  ", 2)[2] for line in done.out.splitlines()]


@pytest.mark.thorough
def test_the_first_look_tells_what_is_and_the_next_what_changes(cluster: ScriptedCluster) -> None:
    """Two looks at a quiet cluster say no more than one."""
    port = cluster.brokers[2].port
    expected = [
        f"coordinator is broker 2 at 127.0.0.1:{port}",
        "kept in __consumer_offsets[0]",
        "consumer group is Stable",
    ]
    assert told(watch(cluster, 1)) == expected
    assert told(watch(cluster, 3)) == expected


def test_an_outage_is_told_with_how_long_it_was(cluster: ScriptedCluster) -> None:
    """The coordinator is lost in the second look and back in the third."""
    names = cluster.brokers[2]._replies["FindCoordinator"]
    assert callable(names)
    refusal = Coordinator("orders", error_code=CODE_BY_NAME["COORDINATOR_NOT_AVAILABLE"])
    count = dict.fromkeys(cluster.brokers, 0)
    ports = {each.port: number for number, each in cluster.brokers.items()}

    def refuse_the_second(received: Received) -> None:
        number = ports[received.connection.getsockname()[1]]
        count[number] += 1
        if count[number] == 2:
            received.reply(FindCoordinatorResponse(coordinators=[refusal]))
        else:
            names(received)

    cluster.on("FindCoordinator", refuse_the_second)
    lines = told(watch(cluster, 3))
    assert lines[3] == "no coordinator: COORDINATOR_NOT_AVAILABLE"
    assert lines[4].startswith("coordinator is broker 2 at 127.0.0.1:")
    assert lines[4].endswith(" s without")


def test_json_has_a_line_a_change(cluster: ScriptedCluster) -> None:
    """Each line is the whole report, with its time and what changed."""
    (line,) = watch(cluster, 2, "-o", "json").out.splitlines()
    document = json.loads(line)
    assert (document["schema"], document["command"]) == (1, "find-coordinator")
    assert document["changes"][1] == "kept in __consumer_offsets[0]"
    assert document["time"].endswith("Z")
    assert document["coordinator"]["node_id"] == 2


def test_brokers_that_all_go_away_are_told_and_waited_for(cluster: ScriptedCluster) -> None:
    """Nobody can be asked; the watch goes on."""

    def go_away(received: Received) -> None:
        for broker in cluster.brokers.values():
            broker.stop()
        received.connection.close()

    cluster.on("ListGroups", go_away)
    done = watch(cluster, 3)
    assert done.code == 0
    assert "coordinator is broker 2" in done.out
    assert "brokers 1" in done.out
    assert done.err == ""


def in_look(cluster: ScriptedCluster, node_id: int, api: str, replies: dict[int, Reply]) -> None:
    """Let a broker answer an API otherwise in some looks; it is asked once in each."""
    broker = cluster.brokers[node_id]
    usual = broker._replies[api]
    count = 0

    def answer(received: Received) -> None:
        nonlocal count
        count += 1
        reply = replies.get(count, usual)
        if callable(reply):
            reply(received)
        elif isinstance(reply, Struct):
            received.reply(reply)
        else:
            received.connection.shutdown(socket.SHUT_RDWR)

    broker.on(api, answer)


def nothing(_: Received) -> None:
    """Leave a request without an answer."""


@pytest.mark.thorough
def test_a_coordinator_that_hangs_is_told_while_it_hangs(cluster: ScriptedCluster) -> None:
    """After a second, once; what nobody can tell meanwhile has not changed."""
    in_look(cluster, 2, "FindCoordinator", {2: nothing})
    began_ns = CLOCK.monotonic_ns()
    lines = told(watch(cluster, 6))  # a busy machine does not answer in each of them
    assert lines[3].startswith("broker 2 cannot be used: no answer within 1.")
    assert lines[4].startswith("broker 2 can be used, after ")
    assert len(lines) == 5
    assert CLOCK.monotonic_ns() - began_ns < 20 * NS_PER_S, "a request would be waited for longer"


@pytest.mark.parametrize(
    ("listing", "describing"),
    [
        (CLOSE, "NONE"),
        (ListGroupsResponse(error_code=CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"]), "NONE"),
        (ListGroupsResponse(), "NOT_COORDINATOR"),
    ],
)
def test_a_list_that_failed_or_is_of_another_broker_is_no_group_that_is_gone(
    cluster: ScriptedCluster, listing: Reply, describing: str
) -> None:
    """Only the coordinator of a group can tell that there is none."""
    in_look(cluster, 2, "ListGroups", {2: listing})
    group = DescribedGroup(CODE_BY_NAME[describing], group_id="orders")
    cluster.brokers[2].on("DescribeGroups", DescribeGroupsResponse(groups=[group]))
    lines = told(watch(cluster, 3))
    assert len(lines) == 3


@pytest.mark.thorough
def test_a_group_that_is_gone_is_told(cluster: ScriptedCluster) -> None:
    """So is one that never was, and one that comes."""
    in_look(cluster, 2, "ListGroups", {2: ListGroupsResponse(), 3: ListGroupsResponse()})
    assert told(watch(cluster, 3))[3:] == ["the group is gone", "consumer group is Stable"]
    cluster.on("ListGroups", ListGroupsResponse())
    assert told(watch(cluster, 2))[2:] == ["there is no such group"]


@pytest.mark.thorough
def test_a_look_without_any_answer_is_one_line_for_all_brokers(cluster: ScriptedCluster) -> None:
    """With its time, and each reason once."""
    for number in (1, 3):
        in_look(cluster, number, "FindCoordinator", {2: nothing})
    in_look(cluster, 2, "FindCoordinator", {2: nothing})
    lines = told(watch(cluster, 3))
    assert lines[3] == "no coordinator: no broker answered"
    assert lines[4].startswith("brokers 1, 2 and 3 do not answer: no answer within 1.")
    assert lines[5].startswith("coordinator is broker 2 at 127.0.0.1")
    assert " s without" in lines[5]
    assert lines[6:] == ["brokers 1, 2 and 3 answer again"]
