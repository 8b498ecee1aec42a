"""A partition changed: leader, in-sync or assigned replicas.

Record type 5 of `__cluster_metadata`, versions 0-2, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import ZERO_UUID, BrokerId, Int8, Int32, Struct, Uuid, message, since, tag


@message(versions="0-2", flexible="0+")
class PartitionChangeRecord(Struct):
    """Kafka's PartitionChangeRecord."""

    partition_id: Int32 = -1
    topic_id: Uuid = ZERO_UUID
    isr: Annotated[list[BrokerId] | None, tag(0)] = None
    leader: Annotated[BrokerId, tag(1)] = -2
    replicas: Annotated[list[BrokerId] | None, tag(2)] = None
    removing_replicas: Annotated[list[BrokerId] | None, tag(3)] = None
    adding_replicas: Annotated[list[BrokerId] | None, tag(4)] = None
    leader_recovery_state: Annotated[Int8, tag(5)] = -1
    directories: Annotated[list[Uuid] | None, since("1+"), tag(8)] = None
    eligible_leader_replicas: Annotated[list[BrokerId] | None, since("2+"), tag(6)] = None
    last_known_elr: Annotated[list[BrokerId] | None, since("2+"), tag(7)] = None
