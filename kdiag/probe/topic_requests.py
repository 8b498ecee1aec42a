"""Requests about one topic, in the versions that identify it by name or by id."""

from typing import Final, Protocol

from kdiag.client.fetch.session import record_versions
from kdiag.client.network.request import RequestBuilder, builder_of
from kdiag.wire.api.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from kdiag.wire.schema import ZERO_UUID, Struct

_TIMEOUT_MS: Final = 30_000


class NamedTopic(Protocol):
    """A topic as requests identify it."""

    @property
    def topic(self) -> str:
        """Return its name."""
        ...

    @property
    def topic_id(self) -> bytes:
        """Return its id: sixteen bytes, all zero if it has none."""
        ...


def request_about(topic: NamedTopic, request: Struct) -> RequestBuilder:
    """Return the builder of a Produce, Fetch or OffsetCommit about this topic alone."""
    builder = builder_of(request)
    has_topic_ids = topic.topic_id != ZERO_UUID
    return builder._replace(versions=record_versions(builder.api.key, has_topic_ids=has_topic_ids))


def produce_request(topic: NamedTopic, partition: int, acks: int, batch: bytes) -> RequestBuilder:
    """Return the request that appends a batch to a partition."""
    data = PartitionProduceData(partition, batch)
    topic_data = TopicProduceData(topic.topic, topic.topic_id, [data])
    return request_about(
        topic, ProduceRequest(acks=acks, timeout_ms=_TIMEOUT_MS, topic_data=[topic_data])
    )
