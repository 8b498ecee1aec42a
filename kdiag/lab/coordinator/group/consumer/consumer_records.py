"""The parts of a consumer group as records of `__consumer_offsets`, and what each does to it.

    epoch_record          ConsumerGroupMetadata: the group epoch, and a hash of what is read
    member_record         ConsumerGroupMemberMetadata: what a member reads, who it is
    target_record         ConsumerGroupTargetAssignmentMember: what it is to have
    target_epoch_record   ConsumerGroupTargetAssignmentMetadata: for which epoch that is
    current_record        ConsumerGroupCurrentMemberAssignment: what it has
    regex_record          ConsumerGroupRegularExpression: the topics of a pattern

    replay_into(group, record)    applies one; None in place of a value takes it away

Source: Kafka's `GroupCoordinatorRecordHelpers`, `GroupMetadataManager.replay`; KIP-848, KIP-1101
(the hash).
"""

from collections.abc import Iterable
from typing import Any, Final

from kdiag.lab.coordinator.group.consumer.assignor.group_spec import (
    Partitions,
    TopicIdPartition,
)
from kdiag.lab.coordinator.group.consumer.consumer_group import ConsumerGroup
from kdiag.lab.coordinator.group.consumer.consumer_member import (
    ConsumerGroupMember,
    ReconciliationState,
)
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord
from kdiag.wire.internal import (
    consumer_group_current_member_assignment as current,
)
from kdiag.wire.internal import consumer_group_target_assignment_member as target
from kdiag.wire.internal.consumer_group_member_metadata import (
    ConsumerGroupMemberMetadataKey,
    ConsumerGroupMemberMetadataValue,
)
from kdiag.wire.internal.consumer_group_metadata import (
    ConsumerGroupMetadataKey,
    ConsumerGroupMetadataValue,
)
from kdiag.wire.internal.consumer_group_regular_expression import (
    ConsumerGroupRegularExpressionKey,
    ConsumerGroupRegularExpressionValue,
)
from kdiag.wire.internal.consumer_group_target_assignment_metadata import (
    ConsumerGroupTargetAssignmentMetadataKey,
    ConsumerGroupTargetAssignmentMetadataValue,
)
from kdiag.wire.records.internal import InternalRecord

RECORD_PREFIX: Final = "ConsumerGroup"


def epoch_record(group_id: str, epoch: int, metadata_hash: int) -> CoordinatorRecord:
    """Return the record of a group epoch."""
    value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
    return CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), value)


def member_record(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    """Return the record that says who a member is, and what it reads."""
    value = ConsumerGroupMemberMetadataValue(
        instance_id=member.instance_id,
        rack_id=member.rack_id,
        client_id=member.client_id,
        client_host=member.client_host,
        subscribed_topic_names=sorted(member.topics),
        subscribed_topic_regex=member.regex,
        rebalance_timeout_ms=member.rebalance_timeout_ms,
        server_assignor=member.server_assignor,
        classic_member_metadata=None,
    )
    key = ConsumerGroupMemberMetadataKey(group_id=group_id, member_id=member.member_id)
    return CoordinatorRecord(key, value)


def target_record(group_id: str, member_id: str, partitions: Partitions) -> CoordinatorRecord:
    """Return the record that says what a member is to have."""
    value = target.ConsumerGroupTargetAssignmentMemberValue(
        topic_partitions=[
            target.TopicPartition(topic_id=topic_id, partitions=numbers)
            for topic_id, numbers in by_topic(partitions).items()
        ]
    )
    key = target.ConsumerGroupTargetAssignmentMemberKey(group_id=group_id, member_id=member_id)
    return CoordinatorRecord(key, value)


def target_epoch_record(group_id: str, epoch: int, timestamp_ms: int) -> CoordinatorRecord:
    """Return the record that says for which epoch the targets are."""
    value = ConsumerGroupTargetAssignmentMetadataValue(
        assignment_epoch=epoch, assignment_timestamp=timestamp_ms
    )
    key = ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id)
    return CoordinatorRecord(key, value)


def current_record(group_id: str, member: ConsumerGroupMember) -> CoordinatorRecord:
    """Return the record that says what a member has."""
    value = current.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=member.epoch,
        previous_member_epoch=member.previous_epoch,
        state=member.state,
        assigned_partitions=_topic_partitions(member.assigned),
        partitions_pending_revocation=_topic_partitions(member.revoked),
    )
    key = current.ConsumerGroupCurrentMemberAssignmentKey(
        group_id=group_id, member_id=member.member_id
    )
    return CoordinatorRecord(key, value)


def regex_record(
    group_id: str, regex: str, topics: frozenset[str], version: int, timestamp_ms: int
) -> CoordinatorRecord:
    """Return the record that says which topics a pattern has."""
    value = ConsumerGroupRegularExpressionValue(
        topics=sorted(topics), version=version, timestamp=timestamp_ms
    )
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    return CoordinatorRecord(key, value)


def regex_tombstone(group_id: str, regex: str) -> CoordinatorRecord:
    """Return the record that says that nobody has a pattern any more."""
    key = ConsumerGroupRegularExpressionKey(group_id=group_id, regular_expression=regex)
    return CoordinatorRecord(key, None)


def member_tombstones(group_id: str, member_id: str) -> list[CoordinatorRecord]:
    """Return the records that say that a member is gone, in this order."""
    keys = (
        current.ConsumerGroupCurrentMemberAssignmentKey,
        target.ConsumerGroupTargetAssignmentMemberKey,
        ConsumerGroupMemberMetadataKey,
    )
    return [CoordinatorRecord(key(group_id=group_id, member_id=member_id), None) for key in keys]


def consumer_group_tombstones(group: ConsumerGroup) -> list[CoordinatorRecord]:
    """Return the records that say that a group is gone."""
    group_id = group.group_id
    return [
        *(each for member_id in group.members for each in member_tombstones(group_id, member_id)),
        *(regex_tombstone(group_id, regex) for regex in group.resolved),
        CoordinatorRecord(ConsumerGroupTargetAssignmentMetadataKey(group_id=group_id), None),
        CoordinatorRecord(ConsumerGroupMetadataKey(group_id=group_id), None),
    ]


def replay_into(group: ConsumerGroup, record: InternalRecord) -> None:
    """Apply a record to a group; that of its end is for whoever keeps it."""
    assert record.key is not None
    key = record.key.message
    value = None if record.value is None else record.value.message
    replay = _REPLAYS.get(record.type)
    if replay is not None:
        replay(group, key, value)


def by_topic(partitions: Partitions) -> dict[bytes, list[int]]:
    """Return partitions by topic, in order."""
    numbers: dict[bytes, list[int]] = {}
    for topic_id, number in sorted(partitions):
        numbers.setdefault(topic_id, []).append(number)
    return numbers


def partitions_of(topics: Iterable[Any]) -> Partitions:
    """Return the partitions of a list of topics, each with `topic_id` and `partitions`."""
    return frozenset(
        TopicIdPartition(bytes(topic.topic_id), number)
        for topic in topics
        for number in topic.partitions
    )


def _topic_partitions(partitions: Partitions) -> list[current.TopicPartitions]:
    return [
        current.TopicPartitions(topic_id=topic_id, partitions=numbers, assignment_epochs=None)
        for topic_id, numbers in by_topic(partitions).items()
    ]


def _replay_epoch(group: ConsumerGroup, _: Any, value: Any) -> None:
    if value is not None:
        group.epoch, group.metadata_hash = value.epoch, value.metadata_hash


def _replay_member(group: ConsumerGroup, key: Any, value: Any) -> None:
    if value is None:
        group.remove_member(key.member_id)
        return
    known = group.members.get(key.member_id) or ConsumerGroupMember(key.member_id)
    group.set_member(
        known._replace(
            instance_id=value.instance_id,
            rack_id=value.rack_id,
            client_id=value.client_id,
            client_host=value.client_host,
            rebalance_timeout_ms=value.rebalance_timeout_ms,
            topics=frozenset(value.subscribed_topic_names),
            regex=value.subscribed_topic_regex or "",
            server_assignor=value.server_assignor,
        )
    )


def _replay_target(group: ConsumerGroup, key: Any, value: Any) -> None:
    if value is None:
        group.targets.pop(key.member_id, None)
    else:
        group.targets[key.member_id] = partitions_of(value.topic_partitions)


def _replay_target_epoch(group: ConsumerGroup, _: Any, value: Any) -> None:
    group.assignment_epoch = -1 if value is None else value.assignment_epoch


def _replay_current(group: ConsumerGroup, key: Any, value: Any) -> None:
    if value is None:
        group.release_member(key.member_id)
        return
    known = group.members.get(key.member_id) or ConsumerGroupMember(key.member_id)
    group.set_member(
        known._replace(
            epoch=value.member_epoch,
            previous_epoch=value.previous_member_epoch,
            state=ReconciliationState.of(value.state),
            assigned=partitions_of(value.assigned_partitions),
            revoked=partitions_of(value.partitions_pending_revocation),
        )
    )


def _replay_regex(group: ConsumerGroup, key: Any, value: Any) -> None:
    if value is None:
        group.resolved.pop(key.regular_expression, None)
    else:
        group.resolved[key.regular_expression] = frozenset(value.topics)


_REPLAYS: Final = {
    "ConsumerGroupMetadata": _replay_epoch,
    "ConsumerGroupMemberMetadata": _replay_member,
    "ConsumerGroupTargetAssignmentMember": _replay_target,
    "ConsumerGroupTargetAssignmentMetadata": _replay_target_epoch,
    "ConsumerGroupCurrentMemberAssignment": _replay_current,
    "ConsumerGroupRegularExpression": _replay_regex,
}
