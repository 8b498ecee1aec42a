"""The proxy before a Kafka that asks who is there: it logs in, or lets its clients do so."""

import json
from pathlib import Path
from typing import Any, Final

import confluent_kafka
import pytest

from kdiag.clock import SystemClock
from kdiag.lab.broker.traffic_recorder import TrafficRecorder
from kdiag.lab.proxy.proxy_server import ProxyServer, ProxySettings
from lab_ends.proxied_lab import client_config
from programs.kdiag_program import kdiag
from real_kafka.secure_cluster import USERS, Listener, SecureCluster
from real_kafka.topic_maker import create

pytestmark = pytest.mark.soak

DEADLINE_S: Final = 30
CLOCK: Final = SystemClock()


def send(bootstrap: str, topic: str, **settings: str) -> list[object]:
    """Send a record by librdkafka, and return what it hears of it."""
    given: dict[str, Any] = {key.replace("_", "."): value for key, value in settings.items()}
    producer = confluent_kafka.Producer({"bootstrap.servers": bootstrap, "linger.ms": 0} | given)
    told: list[object] = []
    producer.produce(topic, b"v", on_delivery=lambda error, _: told.append(error))
    producer.flush(DEADLINE_S)
    return told


def test_it_logs_in_for_clients_that_do_not(secure: SecureCluster) -> None:
    """By SCRAM over TLS; they speak plaintext."""
    create(secure.address(Listener.PLAINTEXT), "proxied")
    login = "org.apache.kafka.common.security.scram.ScramLoginModule required"
    settings = {
        "security.protocol": "SASL_SSL",
        "sasl.mechanism": "SCRAM-SHA-512",
        "sasl.jaas.config": f'{login} username="alice" password="{USERS["alice"]}";',
        "ssl.truststore.type": "PEM",
        "ssl.truststore.location": str(secure.certificates.authority),
    }
    config = client_config(secure.address(Listener.SASL_SSL), settings)
    with ProxyServer(config, ProxySettings(), CLOCK) as proxy:
        assert send(proxy.bootstrap, "proxied") == [None]


@pytest.mark.real
def test_clients_log_in_through_it(secure: SecureCluster, tmp_path: Path) -> None:
    """Their tokens are not in the recording; what they do afterwards is."""
    create(secure.address(Listener.PLAINTEXT), "proxied-login")
    path = tmp_path / "proxy.pcapng"
    config = client_config(secure.address(Listener.PLAINTEXT))
    with TrafficRecorder(path, CLOCK) as recorder:
        settings = ProxySettings(recorder=recorder)
        with ProxyServer(config, settings, CLOCK) as proxy:
            (node_id,) = proxy.addresses.ports
            host, _, port = secure.address(Listener.SASL_PLAINTEXT).rpartition(":")
            proxy.addresses.add(node_id, host, int(port))
            assert send(
                proxy.bootstrap,
                "proxied-login",
                security_protocol="SASL_PLAINTEXT",
                sasl_mechanism="SCRAM-SHA-256",
                sasl_username="alice",
                sasl_password=USERS["alice"],
            ) == [None]
            assert proxy.relay.passed_count == 0
    assert b"n=alice" not in path.read_bytes()
    lines = map(json.loads, kdiag("decode", path, "-o", "jsonl").out.splitlines())
    apis = [each["api"] for each in lines if each["kind"] == "exchange"]
    assert apis[:4] == ["ApiVersions", "SaslHandshake", "SaslAuthenticate", "SaslAuthenticate"]
    assert "Produce" in apis
