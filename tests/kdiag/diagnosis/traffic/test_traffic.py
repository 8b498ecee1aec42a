from kdiag.diagnosis.traffic.traffic import Traffic
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from recordings.exchange_maker import make_exchange


def test_all_who_look_at_an_exchange_look_at_those_like_it() -> None:
    """A commit in a version that Kafka 4 has not counts twice, once for each reason."""
    traffic = Traffic(TopicNames())
    request = OffsetCommitRequest(group_id="billing")
    exchange = make_exchange(request, OffsetCommitResponse(), version=1)
    again_on = traffic.add(Dissection(exchange))
    again = again_on and again_on(exchange)
    assert again is not None
    again([exchange])
    (finding,) = traffic.findings()

    assert (finding.id, finding.evidence["requests"]) == ("KD5101", 2)


def test_quiet_traffic_is_fine() -> None:
    """And there was room for everybody."""
    traffic = Traffic(TopicNames())
    for number in range(1, 200):
        request = HeartbeatRequest(group_id="billing")
        traffic.add(
            Dissection(make_exchange(request, HeartbeatResponse(), version=4, number=number))
        )
        metadata = make_exchange(MetadataRequest(), MetadataResponse(), version=9, number=number)
        traffic.add(Dissection(metadata))

    assert list(traffic.findings()) == []
    assert traffic.left_out == 0
