"""The subtopologies and internal topics of a streams group.

Record type 23 of `__consumer_offsets`, version 0, flexible from 0.
"""

from kdiag.wire.schema import Int16, Int32, String, Struct, message


@message(versions="0")
class StreamsGroupTopologyKey(Struct):
    """The key of a record of type 23."""

    group_id: String = ""


class TopicConfig(Struct):
    """One element of `topic_configs` in TopicInfo."""

    key: String = ""
    value: String = ""


class TopicInfo(Struct):
    """One element of `state_changelog_topics` in Subtopology."""

    name: String = ""
    partitions: Int32 = 0
    replication_factor: Int16 = 0
    topic_configs: list[TopicConfig] = []


class CopartitionGroup(Struct):
    """One element of `copartition_groups` in Subtopology."""

    source_topics: list[Int16] = []
    source_topic_regex: list[Int16] = []
    repartition_source_topics: list[Int16] = []


class Subtopology(Struct):
    """One element of `subtopologies` in StreamsGroupTopologyValue."""

    subtopology_id: String = ""
    source_topics: list[String] = []
    source_topic_regex: list[String] = []
    state_changelog_topics: list[TopicInfo] = []
    repartition_sink_topics: list[String] = []
    repartition_source_topics: list[TopicInfo] = []
    copartition_groups: list[CopartitionGroup] = []


@message(versions="0", flexible="0+")
class StreamsGroupTopologyValue(Struct):
    """The value of a record of type 23."""

    epoch: Int32 = 0
    subtopologies: list[Subtopology] = []
