import pytest

from kdiag.client.configured_client import configured_client
from kdiag.clock import SteadyClock
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.lab.scenario.clients.scenario_thread import config_of
from kdiag.lab.scenario.latency_look import SETTINGS, find_latencies
from tiers.attempts import measure_again

pytestmark = pytest.mark.soak

ATTEMPTS = 6
"""How often to look: on a busy machine other answers are as late as those that stall."""


def test_answers_that_stall_are_found(lab: KafkaLab) -> None:
    """Where they do, and the topic is gone afterwards."""
    lab.fault("Produce delay=200ms every=2")
    config = config_of(lab.bootstrap, "looker", SETTINGS)

    def look() -> None:
        with configured_client(config, SteadyClock()) as client:
            client.connect()
            found = {each.id: each for each in find_latencies(client)}
        assert "KD7002" in found
        assert found["KD7002"].evidence["stall_ms"] == 200
        assert "produce, acks=1" in found["KD7002"].title

    measure_again(look, ATTEMPTS)
    topics = lab.cluster.controller.image.topics.values()
    assert [each.name for each in topics if not each.is_internal] == ["orders"]
