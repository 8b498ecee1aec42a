"""Scripted brokers that can be put under a load: they make topics, take records and give them out.

with LoadedCluster(2) as cluster, cluster.client() as client:
    ...  # CreateTopics, DeleteTopics, Produce, Fetch, ListOffsets and DescribeConfigs are answered
"""

from kdiag.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kdiag.wire.api.fetch import (
    FetchableTopicResponse,
    FetchRequest,
    FetchResponse,
    PartitionData,
)
from kdiag.wire.api.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from kdiag.wire.api.produce import (
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceResponse,
)
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.scripted_broker import Received
from scripted_kafka.topic_cluster import TopicCluster

_EARLIEST = -2


class LoadedCluster(TopicCluster):
    """Brokers that do what a probe of buffers asks for.

    Attributes:
        configs: what every broker is set to.
        errors: the error that an API answers with, by its name.
        early_errors: errors of the next answers to Produce.
        throttle_time_ms: what Produce and Fetch tell.
        produced: topic, partition and size of each batch.
        end_offset: where all partitions end; they begin at 0.
        is_empty: whether fetches bring no records.
    """

    def __init__(self, count: int = 1) -> None:
        super().__init__(count)
        self.configs = {
            "socket.send.buffer.bytes": "102400",
            "socket.receive.buffer.bytes": "-1",
            "message.max.bytes": "1048588",
        }
        self.errors: dict[str, str] = {}
        self.early_errors: list[str] = []
        self.throttle_time_ms = 0
        self.produced: list[tuple[str, int, int]] = []
        self.end_offset = 100
        self.is_empty = False
        for name, reply in (
            ("Produce", self._produce),
            ("Fetch", self._fetch),
            ("ListOffsets", self._list_offsets),
            ("DescribeConfigs", self._describe),
        ):
            self.on(name, reply)

    def _refusal(self, api: str) -> int:
        return CODE_BY_NAME[self.errors.get(api, "NONE")]

    def _produce(self, received: Received) -> None:
        request = received.message()
        assert isinstance(request, ProduceRequest)
        (topic,) = request.topic_data
        (data,) = topic.partition_data
        error_code = self._refusal("Produce")
        if self.early_errors:
            error_code = CODE_BY_NAME[self.early_errors.pop(0)]
        if not error_code:
            self.produced.append((topic.name, data.index, len(data.records or b"")))
        answer = PartitionProduceResponse(data.index, error_code=error_code)
        received.reply(
            ProduceResponse(
                responses=[TopicProduceResponse(topic.name, partition_responses=[answer])],
                throttle_time_ms=self.throttle_time_ms,
            )
        )

    def _fetch(self, received: Received) -> None:
        request = received.message()
        assert isinstance(request, FetchRequest)
        (topic,) = request.topics
        records = b"" if self.is_empty else bytes(topic.partitions[0].partition_max_bytes)
        parts = [
            PartitionData(each.partition, error_code=self._refusal("Fetch"), records=records)
            for each in topic.partitions[:1]
        ]
        received.reply(
            FetchResponse(
                responses=[FetchableTopicResponse(topic.topic, partitions=parts)],
                throttle_time_ms=self.throttle_time_ms,
            )
        )

    def _list_offsets(self, received: Received) -> None:
        request = received.message()
        assert isinstance(request, ListOffsetsRequest)
        topics = [
            ListOffsetsTopicResponse(
                topic.name,
                [
                    ListOffsetsPartitionResponse(
                        each.partition_index,
                        offset=0 if each.timestamp == _EARLIEST else self.end_offset,
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
        received.reply(ListOffsetsResponse(topics=topics))

    def _describe(self, received: Received) -> None:
        request = received.message()
        assert isinstance(request, DescribeConfigsRequest)
        (resource,) = request.resources
        wanted = resource.configuration_keys or []
        result = DescribeConfigsResult(
            error_code=self._refusal("DescribeConfigs"),
            resource_type=resource.resource_type,
            resource_name=resource.resource_name,
            configs=[
                DescribeConfigsResourceResult(name, value)
                for name, value in self.configs.items()
                if name in wanted
            ],
        )
        received.reply(DescribeConfigsResponse(results=[result]))
