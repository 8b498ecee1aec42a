"""Requests about one topic, in the versions that can name it."""

from typing import Final, Protocol

from kdiag.client.fetch.session import record_versions
from kdiag.client.network.request import RequestBuilder, builder_of
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag.wire.schema import ZERO_UUID, Struct

_TIMEOUT_MS: Final = 30_000


class NamedTopic(Protocol):
    """A topic as requests name it."""

    @property
    def topic(self) -> str:
        """Return its name."""
        ...

    @property
    def topic_id(self) -> bytes:
        """Return its id: sixteen bytes; zeros if it has none."""
        ...


def request_about(topic: NamedTopic, request: Struct) -> RequestBuilder:
    """Return a builder of a Produce, Fetch or OffsetCommit that is about this topic alone."""
    builder = builder_of(request)
    has_topic_ids = topic.topic_id != ZERO_UUID
    return builder._replace(versions=record_versions(builder.api.key, has_topic_ids=has_topic_ids))


def produce_request(topic: NamedTopic, partition: int, acks: int, batch: bytes) -> RequestBuilder:
    """Return what appends a batch to a partition."""
    data = PartitionProduceData(partition, batch)
    topic_data = TopicProduceData(topic.topic, topic.topic_id, [data])
    return request_about(
        topic, ProduceRequest(acks=acks, timeout_ms=_TIMEOUT_MS, topic_data=[topic_data])
    )
