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
from recordings.packet_recorder import recording

pytestmark = pytest.mark.soak

ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "tests" / "rig")}

STYLE = {"KD4101", "KD4102", "KD4103"}
"""Remarks on records one by one, tiny batches, no compression."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaCluster]:
    """One node, which creates topics by itself, as it does where nothing is set."""
    properties = {"auto.create.topics.enable": "true", "num.partitions": "3"}
    folder = tmp_path_factory.mktemp("healthy")
    with KafkaCluster(USUAL, folder, ports=free_ports(1), properties=properties) as running:
        yield running


@pytest.mark.parametrize("client", CLIENTS)
def test_a_healthy_load_has_no_warning(cluster: KafkaCluster, tmp_path: Path, client: str) -> None:
    """Nor an error, whichever library it is."""
    capture = tmp_path / "load.pcap"
    folder = os.environ.get("HEALTHY_LOADS")
    with recording(capture, [each.plaintext for each in cluster.ports]):
        command = [*CLIENTS[client](), cluster.bootstrap, f"steady-{client}", "steady"]
        subprocess.run(command, check=True, capture_output=True, timeout=300, env=ENVIRONMENT)
    if folder:
        (Path(folder) / f"{client}.pcap").write_bytes(capture.read_bytes())
    document = json.loads(kdiag("decode", capture, "--summary", "-o", "json").out)
    findings = document["findings"]
    assert [each["title"] for each in findings if each["severity"] != Severity.INFO] == []
    assert {each["id"] for each in findings} <= STYLE
