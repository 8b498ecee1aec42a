"""`kdiag find-coordinator --watch` on scripted brokers."""

import json
from collections.abc import Iterator

import pytest

from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.error_code import CODE_BY_NAME
from programs.kdiag_program import Done, kdiag
from scripted_kafka.coordinating_cluster import coordinating_cluster
from scripted_kafka.scripted_broker import Received
from scripted_kafka.scripted_cluster import ScriptedCluster


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Three brokers; the second coordinates everything."""
    with coordinating_cluster() as cluster:
        yield cluster


def watch(cluster: ScriptedCluster, looks: int, *arguments: str) -> Done:
    """Look so many times, fast."""
    options = ["--watch", "--interval", "1ms", "-n", str(looks)]
    return kdiag("find-coordinator", "-b", cluster.bootstrap, "orders", *options, *arguments)


def told(done: Done) -> list[str]:
    """Return what was said of the group, without times."""
    return [line.split("  ", 2)[2] for line in done.out.splitlines()]


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
    assert "connection" in done.err
