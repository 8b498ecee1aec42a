"""Programs that set nothing, on a cluster that is well: remarks are all that is said of them.

Each client library writes to a topic and reads it in a group, with its defaults. What is said then
is about the style of writing, at most.
"""

import json
import os
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from folders import ROOT
from foreign_clients.programs import CLIENTS
from kdiag.findings.rule import Severity
from programs.kdiag_program import kdiag
from real_kafka.kafka_cluster import KafkaCluster, free_ports
from real_kafka.releases import USUAL
from real_kafka.topic_maker import create
from recordings.packet_recorder import recording

pytestmark = pytest.mark.soak

ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "tests" / "rig")}

STYLE = {"KD4101", "KD4102", "KD4103", "KD4202"}
"""Remarks on records one by one, tiny batches, no compression, a commit after each batch."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One node: followers would fetch on and on, and a recording ends in silence."""
    with KafkaCluster(USUAL, tmp_path_factory.mktemp("healthy"), ports=free_ports(1)) as running:
        yield running


@pytest.mark.parametrize("client", CLIENTS)
def test_a_healthy_load_has_no_warning(cluster: KafkaCluster, tmp_path: Path, client: str) -> None:
    """Nor an error, whichever library it is."""
    capture = tmp_path / "load.pcap"
    folder, name = os.environ.get("HEALTHY_LOADS"), f"steady-{client}"
    create(cluster.bootstrap, name, partitions=3)
    with recording(capture, [each.plaintext for each in cluster.ports]):
        command = [*CLIENTS[client](), cluster.bootstrap, name, "steady"]
        subprocess.run(command, check=True, capture_output=True, timeout=300, env=ENVIRONMENT)
    if folder:
        (Path(folder) / f"{client}.pcap").write_bytes(capture.read_bytes())
    document = json.loads(kdiag("decode", capture, "--summary", "-o", "json").out)
    findings = document["findings"]
    assert [each["title"] for each in findings if each["severity"] != Severity.INFO] == []
    assert {each["id"] for each in findings} <= STYLE
