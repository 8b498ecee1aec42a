import pytest

from kdiag.client.configured_client import configured_client
from kdiag.clock import SteadyClock
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.lab.scenario.clients.scenario_thread import config_of
from kdiag.lab.scenario.latency_look import SETTINGS, find_latencies

pytestmark = pytest.mark.real


def test_answers_that_stall_are_found(lab: KafkaLab) -> None:
    """Where they do, and the topic is gone afterwards."""
    lab.fault("Produce delay=200ms every=2")
    with configured_client(config_of(lab.bootstrap, "looker", SETTINGS), SteadyClock()) as client:
        client.connect()
        found = {each.id: each for each in find_latencies(client)}
    assert found["KD7002"].evidence["stall_ms"] == 200
    assert "produce, acks=1" in found["KD7002"].title
    topics = lab.cluster.controller.image.topics.values()
    assert [each.name for each in topics if not each.is_internal] == ["orders"]
