from kdiag.clock import SystemClock
from kdiag.lab.plugin.kafka_lab import KafkaLab
from kdiag.lab.scenario.clients.request_sender import RequestSender
from kdiag.lab.scenario.clients.scenario_thread import config_of
from kdiag.lab.scenario.lab_moments import LabWatch
from kdiag.lab.scenario.scenario import RequestsClient


def sent(lab: KafkaLab, watch: LabWatch, deadline_ns: int, wanted: RequestsClient) -> RequestSender:
    """Return a client that has sent its requests."""
    config = config_of(lab.bootstrap, wanted.name)
    sender = RequestSender(wanted, config, SystemClock(), deadline_ns)
    sender.start()
    watch.await_ends({wanted.name: sender})
    return sender


def test_so_many_requests_are_sent_as_wanted(
    lab: KafkaLab, watch: LabWatch, deadline_ns: int
) -> None:
    """In the version that is wanted, several at once; those without an answer are counted."""
    lab.fault("ListOffsets close=before nth=7 client_id=asker")
    partition = {"partitionIndex": 0, "timestamp": -1}
    body = {"replicaId": -1, "topics": [{"name": "orders", "partitions": [partition]}]}
    wanted = RequestsClient(
        name="asker", api="ListOffsets", version=5, body=body, to="leader:orders:0", times=7
    )
    sender = sent(lab, watch, deadline_ns, wanted)
    assert (sender.endings["answered"], sender.endings.total()) == (6, 7)
    asked = lab.exchanges("ListOffsets", "asker")
    assert [each.exchange.version for each in asked] == [5] * 7


def test_a_body_that_the_api_has_not_is_told(
    lab: KafkaLab, watch: LabWatch, deadline_ns: int
) -> None:
    """With the name of the field."""
    wanted = RequestsClient(name="asker", api="Metadata", version=12, body={"topic": "orders"})
    assert "topic" in str(sent(lab, watch, deadline_ns, wanted).failure)
