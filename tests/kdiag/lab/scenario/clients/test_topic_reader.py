import pytest

from kdiag.clock import SystemClock
from kdiag.lab.broker.seed_records import seed_records
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.lab.scenario.clients.scenario_thread import config_of
from kdiag.lab.scenario.clients.topic_reader import TopicReader
from kdiag.lab.scenario.lab_moments import LabWatch
from kdiag.lab.scenario.scenario import LabMoment, ReaderClient, RequestMoment


@pytest.mark.thorough
def test_it_reads_from_the_beginning_until_it_is_told_to_end(
    lab: KafkaLab, watch: LabWatch, deadline_ns: int
) -> None:
    """And that is no failure."""
    seed_records(lab.cluster, 30, SystemClock())
    wanted = ReaderClient(name="reader", topic="orders")
    config = config_of(lab.bootstrap, "reader")
    reader = TopicReader(wanted, config, SystemClock(), deadline_ns)
    reader.start()
    twice = LabMoment(requests=RequestMoment(api="Fetch", client="reader", count=2))
    watch.await_moment(twice, lab, {})
    assert not reader.is_over
    reader.stop()
    assert (reader.is_over, reader.record_count, reader.notices) == (True, 30, [])
