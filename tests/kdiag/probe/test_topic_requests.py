from kdiag.probe.buffers.load import Target
from kdiag.probe.topic_requests import produce_request, request_about
from kdiag.wire.api.fetch import FetchRequest
from kdiag.wire.api.produce import ProduceRequest
from kdiag.wire.schema import ZERO_UUID

TOPIC = Target(1, "load", bytes(range(16)), 0, {})


def test_a_topic_without_an_id_is_asked_for_by_name() -> None:
    """The newest version of Fetch knows ids only."""
    nameless = TOPIC._replace(topic_id=ZERO_UUID)

    assert request_about(TOPIC, FetchRequest()).versions.high > 12
    assert request_about(nameless, FetchRequest()).versions.high == 12


def test_a_batch_goes_to_its_partition() -> None:
    """By name and by id, for the version that is spoken is not known yet."""
    request = produce_request(TOPIC, 3, -1, b"batch").build(9)

    assert isinstance(request, ProduceRequest)
    (topic,) = request.topic_data
    (data,) = topic.partition_data
    assert (topic.name, topic.topic_id) == (TOPIC.topic, TOPIC.topic_id)
    assert (request.acks, data.index, data.records) == (-1, 3, b"batch")
