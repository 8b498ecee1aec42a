"""Subscriptions and assignments as the bytes that JoinGroup and SyncGroup carry.

A version as an int16, then the message. The bytes are those that Kafka's own clients write: topics
sorted, owned partitions sorted, an assignment's topics in the order in which it has them.

What members of other clients wrote is read as Kafka's leader reads it: a version that is newer than
any we know as the newest that we know, of which it must be an extension.

Source: Kafka's `ConsumerProtocol`, `ConsumerProtocolSubscription.json`, `...Assignment.json`.
"""

from collections.abc import Callable, Iterable, Sequence
from struct import Struct as Layout
from typing import Final, NamedTuple, TypeVar

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import NO_GENERATION, MemberSubscription
from kdiag.errors import DecodeError
from kdiag.wire.codec.messages import decode_prefix, encode
from kdiag.wire.internal import consumer_protocol_assignment, consumer_protocol_subscription
from kdiag.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment
from kdiag.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from kdiag.wire.schema import Struct, info_of

NEWEST_VERSION: Final = info_of(ConsumerProtocolSubscription).versions.high

_INT16: Final = Layout(">h")

M = TypeVar("M", bound=Struct)
T = TypeVar("T", bound=Struct)


class MemberAssignment(NamedTuple):
    """What the leader assigns to a member.

    Attributes:
        partitions: in the leader's order.
        user_data: the assignor's own; None without, as in all of Kafka's.
    """

    partitions: list[PartitionKey]
    user_data: bytes | None = None


def encode_subscription(subscription: MemberSubscription, version: int = NEWEST_VERSION) -> bytes:
    """Return a subscription as bytes; fields that the version lacks are left out."""
    message = ConsumerProtocolSubscription(
        topics=sorted(subscription.topics),
        user_data=subscription.user_data,
        owned_partitions=by_topic(
            sorted(subscription.owned_partitions), consumer_protocol_subscription.TopicPartition
        ),
        generation_id=max(subscription.generation, NO_GENERATION),
        rack_id=subscription.rack,
    )
    return _INT16.pack(version) + encode(message, version)


def decode_subscription(data: bytes, group_instance_id: str | None = None) -> MemberSubscription:
    """Return the subscription in `data`, of a member with or without an instance id.

    Raises:
        DecodeError: if the bytes are not one.
    """
    message = _decode(ConsumerProtocolSubscription, data)
    return MemberSubscription(
        tuple(message.topics),
        message.user_data,
        [
            PartitionKey(each.topic, partition)
            for each in message.owned_partitions
            for partition in each.partitions
        ],
        message.generation_id,
        message.rack_id or None,
        group_instance_id,
    )


def encode_assignment(assignment: MemberAssignment, version: int = NEWEST_VERSION) -> bytes:
    """Return an assignment as bytes, the partitions of each topic together."""
    message = ConsumerProtocolAssignment(
        assigned_partitions=by_topic(
            assignment.partitions, consumer_protocol_assignment.TopicPartition
        ),
        user_data=assignment.user_data,
    )
    return _INT16.pack(version) + encode(message, version)


def decode_assignment(data: bytes) -> MemberAssignment:
    """Return the assignment in `data`; no bytes are none, as a member gets that has no leader yet.

    Raises:
        DecodeError: if the bytes are not one.
    """
    if not data:
        return MemberAssignment([])
    message = _decode(ConsumerProtocolAssignment, data)
    partitions = [
        PartitionKey(each.topic, partition)
        for each in message.assigned_partitions
        for partition in each.partitions
    ]
    return MemberAssignment(partitions, message.user_data)


def by_topic(partitions: Iterable[PartitionKey], make: Callable[..., T]) -> list[T]:
    """Return partitions as structs with `topic` and `partitions`, by each topic's first."""
    topics: dict[str, list[int]] = {}
    for topic, partition in partitions:
        topics.setdefault(topic, []).append(partition)
    return [make(topic=topic, partitions=each) for topic, each in topics.items()]


def _decode(cls: type[M], data: bytes) -> M:
    """Return the message after its version, in that version or one before that it fits.

    Some clients (segmentio's kafka-go) state a version and leave its new fields out.
    """
    if len(data) < _INT16.size:
        raise DecodeError("version", 0, f"expected an int16, found {len(data)} bytes")
    (stated,) = _INT16.unpack_from(data)
    if stated < 0:
        raise DecodeError("version", 0, f"expected 0 or more, found {stated}")
    return _decode_oldest_fit(cls, data, range(min(stated, NEWEST_VERSION), -1, -1))


def _decode_oldest_fit(cls: type[M], data: bytes, versions: Sequence[int]) -> M:
    faults: list[DecodeError] = []
    for version in versions:
        try:
            return decode_prefix(cls, version, data, _INT16.size)[0]
        except DecodeError as error:
            faults.append(error)
    raise faults[0]
