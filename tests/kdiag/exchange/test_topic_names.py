from kdiag.exchange.dissection import Dissection
from kdiag.exchange.mentions import mentions
from kdiag.exchange.topic_names import (
    CLUSTER_METADATA_ID,
    NAMING_REQUESTS,
    NAMING_RESPONSES,
    TopicNames,
    may_tell_names,
)
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    FetchTopic,
    PartitionData,
)
from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseTopic
from kdiag.wire.catalog import APIS
from kdiag.wire.codec.messages import encode
from kdiag.wire.internal.topic_record import TopicRecord
from kdiag.wire.schema import Struct, info_of
from recordings.exchange_maker import make_batch, make_exchange

ID = bytes(15) + b"\x09"
TEXT = "AAAAAAAAAAAAAAAAAAAACQ"


def tells_names(cls: type[Struct]) -> bool:
    """Return whether messages of a class have a topic's id and name side by side."""
    low, high = info_of(cls).versions
    return any(mentions(cls, version).pairs is not None for version in range(low, high + 1))


def test_the_lists_of_apis_that_tell_names_hold_what_the_schemas_say() -> None:
    """No API that gives a topic's id beside its name is missing from the lists."""
    requests = {api.key for api in APIS if tells_names(api.request_class())}
    responses = {api.key for api in APIS if tells_names(api.response_class())}
    assert requests - {3} == NAMING_REQUESTS  # Metadata's request gives one or the other
    assert responses == NAMING_RESPONSES


def test_a_metadata_response_tells_the_names_of_its_topics() -> None:
    """Ids are written as Kafka writes them; zero is no id."""
    names = TopicNames({"given": "beforehand"})
    topics = [MetadataResponseTopic(name="orders", topic_id=ID), MetadataResponseTopic(name="old")]
    answered = MetadataResponse(topics=topics)
    names.learn(Dissection(make_exchange(MetadataRequest(), answered, version=12)))
    assert names.name(TEXT) == "orders"
    assert names.of({TEXT, "unknown"}) == {TEXT: "orders"}
    assert names.has_all({TEXT, "given"})
    assert not names.has_all({TEXT, "unknown"})
    assert len(names) == 3


def test_the_metadata_log_tells_the_names_of_topics_that_are_created() -> None:
    """A follower of the controllers reads TopicRecords with its fetches."""
    record = b"\x01\x02\x00" + encode(TopicRecord(name="invoices", topic_id=ID), 0)
    log_id = bytes(15) + b"\x01"
    partition = PartitionData(records=make_batch(record, b"no record of Kafka's"))
    asked = FetchRequest(topics=[FetchTopic(topic_id=log_id)])
    answered = FetchResponse(
        responses=[FetchableTopicResponse(topic_id=log_id, partitions=[partition])]
    )
    names = TopicNames()
    names.learn(Dissection(make_exchange(asked, answered, version=13)))
    assert names.name(TEXT) == "invoices"


def test_most_exchanges_can_tell_no_names() -> None:
    """Fetches can only if they read the metadata log, by its id or its name."""
    log_id = bytes(15) + b"\x01"
    for asked, version, may in (
        (MetadataRequest(), 12, True),
        (FetchRequest(topics=[FetchTopic(topic_id=log_id)]), 13, True),
        (FetchRequest(topics=[FetchTopic(topic="__cluster_metadata")]), 12, True),
        (FetchRequest(topics=[FetchTopic(topic="orders")]), 12, False),
        (HeartbeatRequest(), 4, False),
    ):
        assert may_tell_names(make_exchange(asked, version=version)) is may


def test_the_metadata_log_itself_has_one_id_everywhere() -> None:
    """Its name is known without being told."""
    assert TopicNames().name(CLUSTER_METADATA_ID) == "__cluster_metadata"
