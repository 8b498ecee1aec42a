"""Kafka's own console tools create topics in a lab, produce to it and consume from it.

Those of administrators see which replicas are in sync, elect leaders and move partitions.
"""

import json
import subprocess
from pathlib import Path

import pytest

from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from lab_ends.several.image_waits import until_image
from real_kafka import kafka_jars
from real_kafka.releases import USUAL

pytestmark = pytest.mark.soak

_DEADLINE_S = 120
_TOOLS = "org.apache.kafka.tools"


def run(lab: LabCluster, tool: str, *arguments: str, stdin: str = "") -> str:
    """Return what a tool prints about a topic."""
    return administer(lab, tool, "--topic", "orders", *arguments, stdin=stdin)


def administer(lab: LabCluster, tool: str, *arguments: str, stdin: str = "") -> str:
    """Return what a tool prints."""
    folder = kafka_jars.jars(USUAL)
    where = ("--bootstrap-server", lab.bootstrap)
    command = kafka_jars.java_command(folder, f"{_TOOLS}.{tool}", *where, *arguments)
    done = subprocess.run(
        command, input=stdin, capture_output=True, text=True, timeout=_DEADLINE_S, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.real
def test_the_console_tools_get_what_they_ask_for() -> None:
    """Four programs, one after the other."""
    kafka_jars.require_programs("java")
    with LabCluster() as lab:
        assert "Created topic orders" in run(lab, "TopicCommand", "--create", "--partitions", "1")
        run(lab, "ConsoleProducer", stdin="one\ntwo\n")
        assert "orders:0:2" in run(lab, "GetOffsetShell")
        wanted = ("--partition", "0", "--from-beginning", "--max-messages", "2")
        assert run(lab, "consumer.ConsoleConsumer", *wanted) == "one\ntwo\n"


@pytest.mark.real
def test_administrators_see_replicas_elect_leaders_and_move_partitions(tmp_path: Path) -> None:
    """One broker after the other: it was away, leads again, and is left."""
    kafka_jars.require_programs("java")
    plan = tmp_path / "plan.json"
    moved = {"topic": "orders", "partition": 0, "replicas": [3, 2]}
    plan.write_text(json.dumps({"version": 1, "partitions": [moved]}))
    topics = (NewTopic("orders", assignments={0: (1, 2)}),)
    with LabCluster(LabSettings(topics, node_count=3)) as lab:
        lab.stop_node(1)
        described = run(lab, "TopicCommand", "--describe").split()
        assert described[described.index("Leader:") + 1] == "2"
        assert described[described.index("Isr:") + 1] == "2"
        lab.start_node(1)
        until_image(
            lab.controller, lambda image: len(image.topics["orders"].partitions[0].isr) == 2
        )
        asked = ("--election-type", "preferred", "--partition", "0")
        assert "Successfully completed" in run(lab, "LeaderElectionCommand", *asked)
        assert lab.controller.image.topics["orders"].partitions[0].leader == 1
        tool = "reassign.ReassignPartitionsCommand"
        started = administer(lab, tool, "--execute", "--reassignment-json-file", str(plan))
        assert "Successfully started partition reassignment for orders-0" in started
        until_image(
            lab.controller, lambda image: image.topics["orders"].partitions[0].replicas == (3, 2)
        )
