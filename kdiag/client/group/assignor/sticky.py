"""Sticky: even assignments that change as little as can be, for members that give up everything.

Members say in their user data what they had, since they own nothing any more when they rejoin:

    int32 topics, each a string and an int32 array of partitions; from version 1 int32 generation

No version is written: Java reads it as version 1, and as version 0 if the generation is missing.
Topics stand in the order of Java's hash map, partitions as they were assigned.

Source: Kafka's `StickyAssignor`; KIP-54, KIP-341 (the generation).
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, Final

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import (
    NO_GENERATION,
    Assignments,
    MemberSubscription,
    PartitionRacks,
    RebalanceProtocol,
)
from kdiag.client.group.assignor.consumer_protocol import by_topic
from kdiag.client.group.assignor.hash_order import grouping_order
from kdiag.client.group.assignor.owned_partitions import MemberData
from kdiag.client.group.assignor.sticky_division import StickyDivision
from kdiag.errors import DecodeError
from kdiag.wire.codec.messages import decode_prefix, encode
from kdiag.wire.schema import Int32, Struct, TopicName, message, since

_NEWEST: Final = 1


class StickyTopic(Struct):
    """One element of `previous_assignment` in StickyUserData."""

    topic: TopicName = ""
    partitions: list[Int32] = []  # noqa: RUF012 - msgspec copies an empty list for each instance


@message(versions="0-1")
class StickyUserData(Struct):
    """Kafka's STICKY_ASSIGNOR_USER_DATA_V0 and V1."""

    previous_assignment: list[StickyTopic] = []  # noqa: RUF012 - as above
    generation: Annotated[Int32, since("1+")] = NO_GENERATION


def encode_user_data(assignment: Sequence[PartitionKey], generation: int) -> bytes:
    """Return the user data of a member that has been assigned some partitions."""
    topics = {each.topic: each for each in by_topic(assignment, StickyTopic)}
    in_order = grouping_order([key.topic for key in assignment])
    data = StickyUserData([topics[topic] for topic in in_order], generation)
    return encode(data, _NEWEST)


def decode_user_data(data: bytes) -> MemberData:
    """Return what a member says it had; nothing if the bytes cannot be read."""
    for version in (_NEWEST, 0):
        try:
            read, _ = decode_prefix(StickyUserData, version, data)
        except DecodeError:
            continue
        partitions = [
            PartitionKey(each.topic, partition)
            for each in read.previous_assignment
            for partition in each.partitions
        ]
        return MemberData(partitions, read.generation if version else None)
    return MemberData((), NO_GENERATION)


class StickyAssignor:
    """Assigns evenly, and to each member what it had as far as possible."""

    name = "sticky"
    protocols = (RebalanceProtocol.EAGER,)

    def __init__(self) -> None:
        self._division = StickyDivision(_member_data)
        self._user_data: bytes | None = None

    def subscription_user_data(self, topics: Iterable[str]) -> bytes | None:  # noqa: ARG002 - an Assignor's
        """Return what its own member had; None before its first assignment."""
        return self._user_data

    def on_assignment(self, assignment: Sequence[PartitionKey], generation: int) -> None:
        """Remember what its own member has."""
        self._user_data = encode_user_data(assignment, generation)

    def assign(
        self, partition_racks: PartitionRacks, members: Mapping[str, MemberSubscription]
    ) -> Assignments:
        """Return the partitions of every member."""
        return self._division.divide(partition_racks, members).assignments


def _member_data(subscription: MemberSubscription) -> MemberData:
    """Return what a member had by its user data: it owns nothing when it joins."""
    return (
        decode_user_data(subscription.user_data) if subscription.user_data else MemberData((), None)
    )
