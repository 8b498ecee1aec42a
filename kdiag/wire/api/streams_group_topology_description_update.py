"""A streams client sends the broker a description of its topology, to be shown later.

API key 93, version 0, flexible from 0.

Source: KIP-1331.
"""

import msgspec

from kdiag.wire.schema import GroupId, Int8, Int16, Int32, String, Struct, TopicName, message


class TopologyDescriptionNode(Struct):
    """The value of `source` in TopologyDescriptionGlobalStore."""

    name: String = ""
    node_type: Int8 = 0
    source_topics: list[TopicName] = []
    sink_topic: TopicName | None = None
    stores: list[String] = []
    successors: list[String] = []


class TopologyDescriptionSubtopology(Struct):
    """One element of `subtopologies` in TopologyDescription."""

    subtopology_id: String = ""
    nodes: list[TopologyDescriptionNode] = []


class TopologyDescriptionGlobalStore(Struct):
    """One element of `global_stores` in TopologyDescription."""

    source: TopologyDescriptionNode = msgspec.field(default_factory=TopologyDescriptionNode)
    processor: TopologyDescriptionNode = msgspec.field(default_factory=TopologyDescriptionNode)


class TopologyDescription(Struct):
    """The value of `topology_description` in StreamsGroupTopologyDescriptionUpdateRequest."""

    subtopologies: list[TopologyDescriptionSubtopology] = []
    global_stores: list[TopologyDescriptionGlobalStore] = []


@message(api_key=93, versions="0", flexible="0+")
class StreamsGroupTopologyDescriptionUpdateRequest(Struct):
    """The request of StreamsGroupTopologyDescriptionUpdate."""

    group_id: GroupId = ""
    member_id: String = ""
    topology_epoch: Int32 = 0
    topology_description: TopologyDescription = msgspec.field(default_factory=TopologyDescription)


@message(api_key=93, versions="0", flexible="0+")
class StreamsGroupTopologyDescriptionUpdateResponse(Struct):
    """The response of StreamsGroupTopologyDescriptionUpdate."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
