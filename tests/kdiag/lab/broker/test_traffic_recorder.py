import json
import logging
import resource
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import confluent_kafka
import pytest

from kdiag.clock import SystemClock
from kdiag.errors import CaptureError
from kdiag.lab.broker.lab_cluster import LabCluster, LabSettings
from kdiag.lab.broker.traffic_recorder import TrafficRecorder
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.produce import ProduceResponse
from lab_ends.lab_client import LabClient
from lab_ends.one_node import batch
from lab_ends.requests import produce_request
from lab_ends.secure_lab import PASSWORD, USER, secure_lab
from programs.kdiag_program import kdiag

DEADLINE_S = 30
TOPICS = (NewTopic("orders", 1),)


def decoded(path: Path, *options: str) -> list[dict[str, Any]]:
    """Return the exchanges of a capture, and nothing else is in it."""
    done = kdiag("decode", path, "-o", "jsonl", *options)
    assert (done.code, done.err) == (0, "")
    lines = [json.loads(line) for line in done.out.splitlines()]
    return [line for line in lines if line["kind"] != "connection"]


@pytest.mark.thorough
@pytest.mark.parametrize("name", ["lab.pcap", "lab.pcapng"])
def test_a_capture_has_every_exchange(tmp_path: Path, name: str) -> None:
    """Those of two connections, byte for byte; records that lie in files included."""
    path = tmp_path / name
    with (
        TrafficRecorder(path, SystemClock()) as recorder,
        LabCluster(LabSettings(TOPICS, recorder=recorder)) as lab,
    ):
        with LabClient(lab.nodes[0].port) as client, LabClient(lab.nodes[0].port) as other:
            large = batch(3000)
            client.ask(produce_request("orders", 0, large), ProduceResponse, 9)
            other.ask(MetadataRequest(topics=None), MetadataResponse, 12)
            ends = {f"127.0.0.1:{each.socket.getsockname()[1]}" for each in (client, other)}
        consumer = confluent_kafka.Consumer(
            {"bootstrap.servers": lab.bootstrap, "group.id": "g", "enable.auto.commit": False}
        )
        consumer.assign([confluent_kafka.TopicPartition("orders", 0, 0)])
        assert len(consumer.consume(3000, DEADLINE_S)) == 3000
        consumer.close()
        assert repr(recorder).startswith("<TrafficRecorder of ")
    found = decoded(path)
    answered = [each for each in found if each["status"] != "unanswered"]  # when it closed
    assert {each["status"] for each in answered} == {"ok"}
    assert len(found) - len(answered) <= 2
    assert {each["broker"] for each in found} == {f"127.0.0.1:{lab.nodes[0].port}"}
    assert ends < {each["client"] for each in found}
    (produced,) = (each for each in found if each["api"] == "Produce")
    assert produced["request"]["frame"]["bytes"] > len(large)
    fetches = (each for each in answered if each["api"] == "Fetch")
    sizes = [each["response"]["frame"]["bytes"] for each in fetches]
    assert max(sizes) > len(large)


@pytest.mark.thorough
def test_tls_is_recorded_without_it_and_tokens_not_at_all(tmp_path: Path) -> None:
    """Whoever reads the file learns no password."""
    path = tmp_path / "lab.pcap"
    with (
        TrafficRecorder(path, SystemClock()) as recorder,
        secure_lab(tmp_path, recorder) as lab,
    ):
        for mechanism in ("PLAIN", "SCRAM-SHA-256"):
            producer = confluent_kafka.Producer(
                {
                    "bootstrap.servers": lab.bootstrap_of("SASL_SSL"),
                    "security.protocol": "SASL_SSL",
                    "ssl.ca.location": str(tmp_path / "ca.pem"),
                    "sasl.mechanism": mechanism,
                    "sasl.username": USER,
                    "sasl.password": PASSWORD,
                }
            )
            producer.produce("orders", b"a value")
            assert producer.flush(DEADLINE_S) == 0
    data = path.read_bytes()
    assert PASSWORD.encode() not in data
    assert b"a value" in data
    assert {"SaslHandshake", "SaslAuthenticate", "Produce"} <= {
        each["api"] for each in decoded(path)
    }


def test_a_recording_is_its_owners_alone(tmp_path: Path) -> None:
    """It has what clients sent."""
    path = tmp_path / "lab.pcap"
    with TrafficRecorder(path, SystemClock()):
        assert path.stat().st_mode & 0o777 == 0o600


def test_a_file_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    """Before anything runs."""
    with pytest.raises(CaptureError, match="No such file"):
        TrafficRecorder(tmp_path / "none" / "lab.pcap", SystemClock())


def test_a_disk_that_becomes_full_ends_the_recording_and_nothing_else(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """One line in the log says so."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    with (
        TrafficRecorder(tmp_path / "lab.pcap", SystemClock()) as recorder,
        LabCluster(LabSettings(TOPICS, recorder=recorder)) as lab,
    ):
        resource.setrlimit(resource.RLIMIT_FSIZE, (300, limit[1]))
        try:
            with caplog.at_level(logging.WARNING):
                for _ in range(3):
                    with LabClient(lab.nodes[0].port) as client:
                        client.ask(MetadataRequest(topics=[]), MetadataResponse, 12)
                        client.ask(MetadataRequest(topics=[]), MetadataResponse, 12)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, limit)
    assert sum("traffic is recorded no more" in line for line in caplog.messages) == 1


@pytest.mark.soak
def test_tshark_finds_nothing_wrong(require_programs: Callable[..., None], tmp_path: Path) -> None:
    """And Kafka in it."""
    require_programs("tshark")
    path = tmp_path / "lab.pcapng"
    with (
        TrafficRecorder(path, SystemClock()) as recorder,
        LabCluster(LabSettings(TOPICS, recorder=recorder)) as lab,
        LabClient(lab.nodes[0].port) as client,
    ):
        client.ask(
            produce_request("orders", 0, batch(9000)), ProduceResponse, 8
        )  # it knows no newer one
    checks = ["-o", "tcp.check_checksum:TRUE", "-o", "ip.check_checksum:TRUE"]
    kafka = ["-d", f"tcp.port=={lab.nodes[0].port},kafka"]

    def count(only: str) -> int:
        command = ["tshark", "-r", str(path), *checks, *kafka, "-Y", only]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
        return len(done.stdout.splitlines())

    assert count("tcp.analysis.flags || tcp.checksum.status != 1 || ip.checksum.status != 1") == 0
    assert count("kafka") >= 2
    assert count("_ws.malformed") == 0
