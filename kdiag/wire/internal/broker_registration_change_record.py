"""A registered broker changed: fenced, shutting down, disks.

Record type 17 of `__cluster_metadata`, versions 0-3, flexible from 0.
"""

from typing import Annotated

from kdiag.wire.schema import BrokerId, Int8, Int64, Struct, Uuid, message, since, tag


@message(versions="0-3", flexible="0+")
class BrokerRegistrationChangeRecord(Struct):
    """Kafka's BrokerRegistrationChangeRecord."""

    broker_id: BrokerId = 0
    broker_epoch: Int64 = 0
    fenced: Annotated[Int8, tag(0)] = 0
    in_controlled_shutdown: Annotated[Int8, since("1+"), tag(1)] = 0
    log_dirs: Annotated[list[Uuid], since("2+"), tag(2)] = []
    cordoned_log_dirs: Annotated[list[Uuid] | None, since("3+"), tag(3)] = None
