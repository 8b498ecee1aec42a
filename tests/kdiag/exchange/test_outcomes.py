"""Each error code of a response comes with the topic and the partition that it is about."""

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.outcomes import AnswerPart, outcomes_of
from kdiag.wire.api.fetch import FetchableTopicResponse, FetchRequest, FetchResponse, PartitionData
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from kdiag.wire.primitives import uuid_text
from kdiag.wire.schema import Struct
from recordings.exchange_maker import make_exchange

ID = bytes(15) + b"\x07"


def outcomes(request: Struct, response: Struct, version: int, most: int = 10) -> list[AnswerPart]:
    """Return the outcomes in a response."""
    side = Dissection(make_exchange(request, response, version=version)).response
    assert side is not None
    return outcomes_of(side, most)


def test_a_code_is_about_the_topic_and_the_partition_around_it() -> None:
    """One above them is about none; where a topic has an id only, that is its name."""
    partitions = [PartitionData(partition_index=3, error_code=6), PartitionData(partition_index=4)]
    topic = FetchableTopicResponse(topic="orders", topic_id=ID, partitions=partitions)
    response = FetchResponse(responses=[topic])
    named = [AnswerPart(0, None, None), AnswerPart(6, "orders", 3), AnswerPart(0, "orders", 4)]
    assert outcomes(FetchRequest(), response, 12) == named
    by_id = [each._replace(topic=each.topic and uuid_text(ID)) for each in named]
    assert outcomes(FetchRequest(), response, 13) == by_id
    topics = [MetadataResponseTopic(error_code=3, name="ordres"), MetadataResponseTopic(name="b")]
    found = outcomes(MetadataRequest(), MetadataResponse(topics=topics), 9)
    assert found == [AnswerPart(3, "ordres", None), AnswerPart(0, "b", None)]


def test_a_response_without_topics_has_its_own_code() -> None:
    """Of a large one the first outcomes are enough."""
    found = outcomes(HeartbeatRequest(), HeartbeatResponse(error_code=27), 4)
    assert found == [AnswerPart(27, None, None)]
    topics = [MetadataResponseTopic(name=str(each)) for each in range(9)]
    assert len(outcomes(MetadataRequest(), MetadataResponse(topics=topics), 9, most=4)) == 4
