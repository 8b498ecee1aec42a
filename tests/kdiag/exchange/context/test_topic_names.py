import pytest

from kdiag.exchange.context.topic_names import (
    CLUSTER_METADATA_ID,
    NAMING_REQUESTS,
    NAMING_RESPONSES,
    DeferredNames,
    TopicNames,
    may_tell_names,
)
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.mentions import mentions_of
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
    return any(mentions_of(cls, version).pairs is not None for version in range(low, high + 1))


@pytest.mark.thorough
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


def test_a_topic_keeps_the_name_that_was_learnt_first() -> None:
    """A damaged response tells another one, and so every row has the same."""
    names = TopicNames()
    for name in ("orders", "or\udcffers"):
        answered = MetadataResponse(topics=[MetadataResponseTopic(name=name, topic_id=ID)])
        names.learn(Dissection(make_exchange(MetadataRequest(), answered, version=12)))
    assert names.name(TEXT) == "orders"


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


def fetch(last_byte: int) -> Dissection:
    """Return a fetch from the topic whose id ends with a byte."""
    topic = FetchTopic(topic_id=bytes(15) + bytes([last_byte]))
    return Dissection(make_exchange(FetchRequest(topics=[topic]), version=13))


def metadata(last_byte: int) -> Dissection:
    """Return an exchange that tells the name of that topic."""
    topic = MetadataResponseTopic(name=f"t{last_byte}", topic_id=bytes(15) + bytes([last_byte]))
    answered = MetadataResponse(topics=[topic])
    return Dissection(make_exchange(MetadataRequest(), answered, version=12))


def test_looking_ahead_happens_once_and_only_if_a_name_is_missing() -> None:
    """The first id without a name settles all that follow, named or not."""
    names = TopicNames()
    looks: list[int] = []
    deferred = DeferredNames(names, lambda: looks.append(len(names)))
    known, unknown = metadata(5), fetch(6)
    names.learn(known)
    assert deferred.add(known) == [known]
    assert looks == []
    assert deferred.add(unknown) == [unknown]
    assert deferred.add(unknown) == [unknown]
    assert len(looks) == 1
    assert deferred.release_all() == []


def test_without_looking_ahead_an_exchange_waits_for_its_name() -> None:
    """Others pass it; it goes on with the next exchange after its name was told."""
    names = TopicNames()
    deferred = DeferredNames(names, None)
    waiting, hopeless, telling = fetch(6), fetch(9), metadata(6)
    assert deferred.add(waiting) == []
    assert deferred.add(hopeless) == []
    names.learn(telling)
    assert deferred.add(telling) == [waiting, telling]
    assert deferred.release_all() == [hopeless]
    assert deferred.release_all() == []


def test_no_more_exchanges_wait_than_are_allowed() -> None:
    """The oldest goes on without a name, by number or by size."""
    first, second = fetch(6), fetch(7)
    by_number = DeferredNames(TopicNames(), None, max_exchanges=1)
    assert by_number.add(first) == []
    assert by_number.add(second) == [first]
    by_size = DeferredNames(TopicNames(), None, max_bytes=100)
    assert by_size.add(first) == []
    assert by_size.add(second) == [first]
