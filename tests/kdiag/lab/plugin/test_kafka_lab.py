from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor, wait
from pathlib import Path
from select import select
from threading import Event

import pytest

from kdiag.clock import ManualClock
from kdiag.errors import ConfigError
from kdiag.lab.broker import broker_server
from kdiag.lab.broker.lab_cluster import LabSettings
from kdiag.lab.controller.quorum_controller import NewTopic
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from lab_ends.lab_client import LabClient

DEADLINE_S = 60
ASKING = MetadataRequest(topics=None)


@pytest.fixture
def lab(tmp_path: Path) -> Iterator[KafkaLab]:
    """Return a lab with a topic, whose time stands still."""
    settings = LabSettings(topics=(NewTopic("orders"),))
    with KafkaLab(settings, tmp_path, ManualClock(1)) as running:
        yield running


def test_faults_come_and_go(lab: KafkaLab) -> None:
    """And tell how often they have happened."""
    with LabClient(lab.cluster.nodes[0].port) as client:
        with lab.fault("Metadata throttle=0s split=1") as fault:
            client.ask(ASKING, MetadataResponse, 12)
        client.ask(ASKING, MetadataResponse, 12)
        assert (fault.seen, fault.fired, len(lab.faults)) == (1, 1, 0)
        other = lab.fault(api="Fetch", delay="1s")
        assert repr(other) == "<LabFault Fetch delay=1s: seen 0, fired 0>"
    with pytest.raises(ConfigError, match=r"lab.fault"):
        lab.fault("Fetch dely=1s")


def test_half_a_minute_passes_at_once(lab: KafkaLab) -> None:
    """A late answer waits for the clock of the lab alone."""
    lab.fault("Metadata delay=30s")
    with LabClient(lab.cluster.nodes[0].port) as client:
        client.send(ASKING, 12)
        while not select([client.socket], [], [], 0.01)[0]:
            lab.advance(30)
        assert len(client.receive(MetadataResponse, 12).topics) == 1


def test_what_crossed_the_wire_can_be_read(lab: KafkaLab) -> None:
    """By API and by client, while the lab runs."""
    with LabClient(lab.cluster.nodes[0].port) as client:
        client.ask(ASKING, MetadataResponse, 12)
        (found,) = lab.exchanges(api="Metadata")
        assert found.exchange.client_id == "lab-client"
        assert lab.exchanges(api="Fetch") == lab.exchanges(client_id="x") == []
        (line,) = lab.lines()
        assert line.startswith("Metadata v12 lab-client ")
        assert lab.lines(found.exchange.time_ns + 1) == []
        assert lab.capture.stat().st_size > 0


def test_what_a_busy_broker_has_not_come_to_is_waited_for(lab: KafkaLab) -> None:
    """A client has sent a request, and hung up."""
    (node,) = lab.cluster.nodes
    is_free = Event()
    with LabClient(node.port) as client:
        client.ask(ASKING, MetadataResponse, 12)
        node.processor.call(lambda: is_free.wait(DEADLINE_S))
        client.send(ASKING, 12)
    with ThreadPoolExecutor() as pool:
        found = pool.submit(lab.exchanges)
        wait([found], 0.1)
        assert not found.done()
        is_free.set()
        _, last = found.result(DEADLINE_S)

    assert last.exchange.connection.closed_by == "client"


def test_a_broker_that_is_busy_for_too_long_is_told(
    lab: KafkaLab, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    """The recording may lack something then."""
    monkeypatch.setattr(broker_server, "_QUIET_S", 0.01)
    is_free = Event()
    lab.cluster.nodes[0].processor.call(lambda: is_free.wait(DEADLINE_S))
    assert lab.capture.exists()
    is_free.set()

    assert "broker 1 has not handled all that has arrived" in caplog.text


def test_the_time_of_the_system_cannot_be_moved(tmp_path: Path) -> None:
    """It says how to get a clock that can."""
    lab = KafkaLab(LabSettings(), tmp_path)
    with pytest.raises(TypeError, match="virtual"):
        lab.advance(1)
