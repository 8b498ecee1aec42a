"""The epochs of a streams group.

Record type 17 of `__consumer_offsets`, version 0, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import Int32, Int64, String, Struct, message, tag


@message(versions="0")
class StreamsGroupMetadataKey(Struct):
    """The key of a record of type 17."""

    group_id: String = ""


class LastAssignmentConfig(Struct):
    """One element of `last_assignment_configs` in StreamsGroupMetadataValue."""

    key: String = ""
    value: String = ""


@message(versions="0", flexible="0+")
class StreamsGroupMetadataValue(Struct):
    """The value of a record of type 17."""

    epoch: Int32 = 0
    metadata_hash: Int64 = 0
    validated_topology_epoch: Annotated[Int32, tag(0)] = -1
    last_assignment_configs: Annotated[list[LastAssignmentConfig] | None, tag(1)] = []
    stored_description_topology_epoch: Annotated[Int32, tag(2)] = -1
    failed_description_topology_epoch: Annotated[Int32, tag(3)] = -1
