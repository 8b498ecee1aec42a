"""Where a leader's log begins and ends: what a follower asks whose own log is elsewhere.

    the leader has 50 to 80, the follower 0 to 20      it begins anew at 50: the rest was deleted
    the leader has 50 to 80, the follower 0 to 90      it is cut at 80: an unclean leader

Source: Kafka's `AbstractFetcherThread.fetchOffsetAndTruncate`, `LeaderEndPoint`.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.lab.log.offset_lookup import OffsetPlace
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.peer_requests import HandleResponse, Purpose
from kdiag.wire.api.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsTopic,
)
from kdiag.wire.schema import Struct

if TYPE_CHECKING:
    from kdiag.wire.api.list_offsets import ListOffsetsResponse

_PLACES: Final = (OffsetPlace.LATEST, OffsetPlace.EARLIEST)

SendToLeader = Callable[[Purpose, Struct, HandleResponse], None]
"""Sends a request to the leader, and hands over its response."""


class LeaderRange(NamedTuple):
    """Where a leader's log is.

    Attributes:
        log_start_offset: its first offset.
        log_end_offset: the offset of its next record.
    """

    log_start_offset: int
    log_end_offset: int


def ask_for_range(
    send: SendToLeader,
    node_id: int,
    key: TopicPartitionOperationKey,
    leader_epoch: int,
    handle: Callable[[LeaderRange | None], None],
) -> None:
    """Ask a leader where its log begins and ends.

    Args:
        send: sends requests to it.
        node_id: the follower.
        key: the partition.
        leader_epoch: in which it leads.
        handle: gets the range, once; None if the leader does not tell.
    """
    found: list[int | None] = []

    def collect(response: "ListOffsetsResponse | None") -> None:
        found.append(_offset_in(response))
        if len(found) == len(_PLACES):
            end, start = found
            known = None if start is None or end is None else LeaderRange(start, end)
            handle(known)

    for place in _PLACES:
        partition = ListOffsetsPartition(
            partition_index=key.partition, current_leader_epoch=leader_epoch, timestamp=place
        )
        topic = ListOffsetsTopic(name=key.topic, partitions=[partition])
        request = ListOffsetsRequest(replica_id=node_id, topics=[topic])
        send(Purpose.OFFSETS, request, partial(collect))


def _offset_in(response: "ListOffsetsResponse | None") -> int | None:
    """Return the offset of a response about one partition; None if it has none."""
    for topic in () if response is None else response.topics:
        for partition in topic.partitions:
            if not partition.error_code and partition.offset >= 0:
                return partition.offset
    return None
