"""A partition was created: replicas, in-sync replicas, leader.

Record type 3 of `__cluster_metadata`, versions 0-2, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import ZERO_UUID, BrokerId, Int8, Int32, Struct, Uuid, message, since, tag


@message(versions="0-2", flexible="0+")
class PartitionRecord(Struct):
    """Kafka's PartitionRecord."""

    partition_id: Int32 = -1
    topic_id: Uuid = ZERO_UUID
    replicas: list[BrokerId] = []
    isr: list[Int32] = []
    removing_replicas: list[BrokerId] = []
    adding_replicas: list[BrokerId] = []
    leader: BrokerId = -1
    leader_recovery_state: Annotated[Int8, tag(0)] = 0
    leader_epoch: Int32 = -1
    partition_epoch: Int32 = -1
    directories: Annotated[list[Uuid], since("1+")] = []
    eligible_leader_replicas: Annotated[list[BrokerId] | None, since("2+"), tag(1)] = None
    last_known_elr: Annotated[list[BrokerId] | None, since("2+"), tag(2)] = None
