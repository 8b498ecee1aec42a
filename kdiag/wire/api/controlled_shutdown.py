"""A broker asks the ZooKeeper-era controller to move its leaders away before it stops.

API key 7, versions 0-3, flexible from 3. Today's Kafka has dropped it.
"""

from typing import Annotated

from kdiag.wire.schema import (
    BrokerId,
    Int16,
    Int32,
    Int64,
    Struct,
    TopicName,
    ignorable,
    message,
    since,
)


@message(api_key=7, versions="0-3", flexible="3+")
class ControlledShutdownRequest(Struct):
    """The request of ControlledShutdown."""

    broker_id: BrokerId = 0
    broker_epoch: Annotated[Int64, since("2+"), ignorable] = -1


class RemainingPartition(Struct):
    """One element of `remaining_partitions` in ControlledShutdownResponse."""

    topic_name: TopicName = ""
    partition_index: Int32 = 0


@message(api_key=7, versions="0-3", flexible="3+")
class ControlledShutdownResponse(Struct):
    """The response of ControlledShutdown."""

    error_code: Int16 = 0
    remaining_partitions: list[RemainingPartition] = []
