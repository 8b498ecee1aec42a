from kdiag.client.cluster_client import ClusterClient
from kdiag.clock import NS_PER_S, SystemClock
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.lab.scenario.clients.scenario_thread import ScenarioThread, config_of


class Waiting(ScenarioThread):
    """Waits for ever, or fails."""

    def work(self, client: ClusterClient) -> None:
        """Wait."""
        client.refresh(None)
        client.wait(3_600 * NS_PER_S)
        client.refresh(None)


def test_it_ends_when_it_is_told_to_and_its_failure_is_kept(
    lab: KafkaLab, deadline_ns: int
) -> None:
    """Whatever it waits for."""
    clock = SystemClock()
    config = config_of(lab.bootstrap, "waiting", {"session.timeout.ms": 900})
    assert (config.client_id, config.session_timeout_ms) == ("waiting", 900)
    lost = Waiting("lost", config_of("127.0.0.1:1", "lost"), clock, deadline_ns)
    lost.start()
    lost._thread.join()  # it is refused at once, and would say that it was woken if told to stop
    client = Waiting("waiting", config, clock, deadline_ns)
    client.start()
    for each in (client, lost):
        each.stop()
        assert each.is_over
    assert lost.failure is not None
    assert "127.0.0.1:1" in lost.failure
