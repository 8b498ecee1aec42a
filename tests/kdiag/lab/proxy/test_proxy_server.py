import json
from pathlib import Path

import pytest

from kdiag.clock import SystemClock
from kdiag.errors import ConnectError
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.broker.traffic_recorder import TrafficRecorder
from kdiag.lab.proxy.proxy_server import ProxyServer, ProxySettings
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from lab_ends.lab_client import LabClient
from lab_ends.proxied_lab import client_config
from lab_ends.secure_lab import PASSWORD, USER, secure_lab
from programs.kdiag_program import kdiag

CLOCK = SystemClock()


@pytest.mark.thorough
def test_it_logs_in_to_the_cluster_for_its_clients(tmp_path: Path) -> None:
    """By TLS and SASL; they speak plaintext to it."""
    jaas = (
        "org.apache.kafka.common.security.scram.ScramLoginModule required "
        f'username="{USER}" password="{PASSWORD.replace(chr(34), chr(92) + chr(34))}";'
    )
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": jaas,
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(tmp_path / "ca.pem"),
    }
    with secure_lab(tmp_path) as lab:
        config = client_config(lab.bootstrap_of("SASL_SSL"), settings)
        with ProxyServer(config, ProxySettings(), CLOCK) as proxy:
            port = proxy.addresses.ports[1]
            assert proxy.bootstrap == f"127.0.0.1:{port}"
            with LabClient(port) as client:
                answer = client.ask(MetadataRequest(topics=None), MetadataResponse, 12)
            assert [(each.host, each.port) for each in answer.brokers] == [("127.0.0.1", port)]


def test_its_traffic_is_recorded(tmp_path: Path) -> None:
    """With what clients see."""
    path = tmp_path / "proxy.pcapng"
    with LabCluster() as lab, TrafficRecorder(path, CLOCK) as recorder:
        config = client_config(lab.bootstrap)
        with ProxyServer(config, ProxySettings(recorder=recorder), CLOCK) as proxy:
            with LabClient(proxy.addresses.ports[1]) as client:
                client.ask(MetadataRequest(topics=None), MetadataResponse, 12)
            port = proxy.addresses.ports[1]
    lines = [json.loads(line) for line in kdiag("decode", path, "-o", "jsonl").out.splitlines()]
    (found,) = [each for each in lines if each["kind"] == "exchange"]
    assert (found["api"], found["status"]) == ("Metadata", "ok")
    assert str(port) in json.dumps(found["response"])


def test_ports_follow_each_other(tmp_path: Path) -> None:
    """The first can be chosen; one that is taken is said."""
    del tmp_path
    with LabCluster() as lab:
        config = client_config(lab.bootstrap)
        port = lab.nodes[0].port
        with (
            pytest.raises(ConnectError, match="cannot listen"),
            ProxyServer(config, ProxySettings(port=port), CLOCK),
        ):
            pass


def test_a_cluster_that_is_not_there_is_said() -> None:
    """Before anything listens."""
    config = client_config("127.0.0.1:1", {"socket.connection.setup.timeout.ms": "1000"})
    with pytest.raises(ConnectError), ProxyServer(config, ProxySettings(), CLOCK):
        pass
