"""Scripted brokers that create and delete topics.

with TopicCluster(3) as cluster, cluster.client() as client:
    ...  # CreateTopics and DeleteTopics are answered, and Metadata tells of what there is
    cluster.refusals = ["NOT_CONTROLLER"]
"""

from kdiag.wire.api.create_topics import (
    CreatableTopicResult,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from kdiag.wire.api.delete_topics import (
    DeletableTopicResult,
    DeleteTopicsRequest,
    DeleteTopicsResponse,
)
from kdiag.wire.api.metadata import MetadataResponsePartition, MetadataResponseTopic
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.scripted_broker import Received
from scripted_kafka.scripted_cluster import ScriptedCluster


class TopicCluster(ScriptedCluster):
    """A cluster whose topics come and go.

    Attributes:
        created: what was asked for.
        refusals: error names of the next answers, to either question.
    """

    def __init__(self, count: int) -> None:
        super().__init__(count)
        self.created: list[CreateTopicsRequest] = []
        self.refusals: list[str] = []
        self.on("CreateTopics", self._create)
        self.on("DeleteTopics", self._delete)

    def add_topic(self, name: str, leaders: list[int]) -> None:
        """Have a topic whose partitions are led by these brokers."""
        partitions = [
            MetadataResponsePartition(partition_index=index, leader_id=leader)
            for index, leader in enumerate(leaders)
        ]
        self.topics.append(MetadataResponseTopic(name=name, partitions=partitions))

    def _refusal(self, _api: str) -> int:
        """Return the error code with which an API is answered."""
        return CODE_BY_NAME[self.refusals.pop(0) if self.refusals else "NONE"]

    def _create(self, received: Received) -> None:
        request = received.message()
        assert isinstance(request, CreateTopicsRequest)
        self.created.append(request)
        (topic,) = request.topics
        error_code = self._refusal("CreateTopics")
        if not error_code:
            self.add_topic(topic.name, [each.broker_ids[0] for each in topic.assignments])
        result = CreatableTopicResult(topic.name, error_code=error_code, error_message="so")
        received.reply(CreateTopicsResponse(topics=[result]))

    def _delete(self, received: Received) -> None:
        request = received.message()
        assert isinstance(request, DeleteTopicsRequest)
        names = [each.name for each in request.topics] or request.topic_names
        error_code = self._refusal("DeleteTopics")
        if not error_code:
            self.topics[:] = [each for each in self.topics if each.name not in names]
        result = DeletableTopicResult(names[0], error_code=error_code, error_message="so")
        received.reply(DeleteTopicsResponse(responses=[result]))
