import socket
import struct
from contextlib import ExitStack
from pathlib import Path

import pytest

from kdiag.clock import SystemClock
from kdiag.errors import ConnectError
from kdiag.lab.broker.broker_server import BrokerServer, NodeSettings
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.controller.quorum_controller import NewTopic, QuorumController
from kdiag.lab.log.log_directory import LogDirectory
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.produce import ProduceResponse
from kdiag.wire.client_release import client_release
from lab_ends.lab_client import LabClient
from lab_ends.one_node import batch
from lab_ends.requests import produce_request


def test_a_topic_that_another_thread_creates_can_be_written_to(lab: LabCluster) -> None:
    """The change is handed to the node's thread, which answers afterwards."""
    lab.controller.create_topic(NewTopic("new"))
    with LabClient(lab.nodes[0].port) as client:
        response = client.ask(produce_request("new", 0, batch()), ProduceResponse, 9)
    assert response.responses[0].partition_responses[0].error_code == 0


def test_an_old_release_speaks_old_versions(tmp_path: Path) -> None:
    """And no newer ones."""
    release = client_release("1.0")
    assert release is not None
    controller, clock = QuorumController(), SystemClock()
    logs = LogDirectory(tmp_path, clock)
    with BrokerServer(3, controller, logs, clock, NodeSettings(release)) as node:
        assert repr(node) == f"<BrokerServer 3 at 127.0.0.1:{node.port}>"
        with LabClient(node.port) as client:
            response = client.ask(MetadataRequest(topics=None), MetadataResponse, 5)
            assert [broker.node_id for broker in response.brokers] == [3]
            client.send(MetadataRequest(topics=None), 6)
            assert client.receive_frame() == b""


def test_unfinished_frames_of_any_claim_hold_up_no_other_client(lab: LabCluster) -> None:
    """Twenty frames that claim 100 MiB each, and stop behind four bytes."""
    port = lab.nodes[0].port
    with ExitStack() as held:
        for _ in range(20):
            half_open = held.enter_context(socket.create_connection(("127.0.0.1", port)))
            half_open.sendall(struct.pack(">ihh", 100 << 20, 0, 9))
        lab.nodes[0].await_quiet()
        with LabClient(port) as client:
            response = client.ask(MetadataRequest(topics=None), MetadataResponse, 5)
    assert len(response.brokers) == len(lab.nodes)


def test_a_broker_gives_an_unfinished_frame_up(lab: LabCluster) -> None:
    """Its selector has a deadline for frames, which is shorter than that for idle connections."""
    settings = lab.nodes[0].processor.selector._settings
    assert 0 < settings.max_frame_ns < settings.max_idle_ns


def test_a_port_in_use_is_said(lab: LabCluster, tmp_path: Path) -> None:
    """Before anything is started."""
    release = client_release("4.3")
    assert release is not None
    clock = SystemClock()
    with LogDirectory(tmp_path, clock) as logs, pytest.raises(ConnectError, match="in use"):
        BrokerServer(2, lab.controller, logs, clock, NodeSettings(release, port=lab.nodes[0].port))
