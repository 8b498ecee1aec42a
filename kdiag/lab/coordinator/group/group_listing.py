"""What administrators ask about groups: describe, list, delete.

    describe_group(shard, "billing", 6)      members, with what they say if the group is Stable
    list_groups(shard, states, types)        each group's state and type, filtered
    describe_consumer_group(shard, ...)      epochs, what members have and are to have
    delete_group(shard, "billing")           the tombstones of a group without members

Source: Kafka's `GroupMetadataManager.describeGroups`, `listGroups`; KIP-518 (states), KIP-848
(types), KIP-1043 (version 6 of DescribeGroups tells what it does not find).
"""

from collections.abc import Collection, Mapping
from typing import Final

from kdiag.lab.controller.cluster_image import ClusterImage
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.classic.group_metadata import CONSUMER_PROTOCOL
from kdiag.lab.coordinator.group.classic.group_state import ClassicGroupState
from kdiag.lab.coordinator.group.consumer.assignor.group_spec import Partitions
from kdiag.lab.coordinator.group.consumer.consumer_group import ConsumerGroup
from kdiag.lab.coordinator.group.consumer.consumer_records import by_topic
from kdiag.lab.coordinator.group.consumer.target_assignment import DEFAULT_ASSIGNOR
from kdiag.lab.coordinator.group.group_shard import AnyGroup, GroupShard
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord
from kdiag.wire.api.consumer_group_describe import Assignment, Member, TopicPartitions
from kdiag.wire.api.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from kdiag.wire.api.describe_groups import DescribedGroup, DescribedGroupMember
from kdiag.wire.api.list_groups import ListedGroup
from kdiag.wire.error_code import CODE_BY_NAME

CLASSIC_TYPE: Final = "classic"
CONSUMER_TYPE: Final = "consumer"
CONSUMER_MEMBER_TYPE: Final = 1
"""Of a member by the consumer protocol; 0 is by the classic one."""

_NOT_FOUND_SINCE: Final = 6


def describe_group(shard: GroupShard, group_id: str, version: int) -> DescribedGroup:
    """Return a classic group; one that nobody knows is Dead.

    Args:
        shard: has the group, if anybody has.
        group_id: the group.
        version: from 6 on, what is not found is an error.
    """
    group = shard.classic_group(group_id)
    if group is None:
        described = DescribedGroup(group_id=group_id, group_state=ClassicGroupState.DEAD)
        if version >= _NOT_FOUND_SINCE:
            is_other = group_id in shard.groups
            described.error_code = CODE_BY_NAME["GROUP_ID_NOT_FOUND"]
            described.error_message = (
                f"Group {group_id} is not a classic group."
                if is_other
                else f"Group {group_id} not found."
            )
        return described
    is_stable = group.state is ClassicGroupState.STABLE
    return DescribedGroup(
        group_id=group_id,
        group_state=group.state,
        protocol_type=group.protocol_type or "",
        protocol_data=(group.protocol_name or "") if is_stable else "",
        members=[
            DescribedGroupMember(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                member_metadata=member.metadata(group.protocol_name) if is_stable else b"",
                member_assignment=member.assignment if is_stable else b"",
            )
            for member in group.members.values()
        ],
    )


def list_groups(
    shard: GroupShard, states: Collection[str], types: Collection[str]
) -> list[ListedGroup]:
    """Return the groups of a partition.

    Args:
        shard: has the groups.
        states: which ones; all if there are none. Upper and lower case are the same.
        types: likewise.
    """
    wanted_states = {state.strip().lower() for state in states}
    wanted_types = {each.strip().lower() for each in types}
    return [
        listed
        for listed in map(_listed, shard.groups.values())
        if not wanted_states or listed.group_state.lower() in wanted_states
        if not wanted_types or listed.group_type in wanted_types
    ]


def delete_group(shard: GroupShard, group_id: str) -> list[CoordinatorRecord]:
    """Return the records that say that a group is gone.

    Raises:
        RequestRefusedError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
    """
    shard.group(group_id).check_delete()
    return shard.tombstones(group_id)


def describe_consumer_group(
    shard: GroupShard, group_id: str, image: ClusterImage
) -> DescribedConsumerGroup:
    """Return a consumer group; the error says if it is not one.

    Args:
        shard: has the group, if anybody has.
        group_id: the group.
        image: knows the names of topics.
    """
    try:
        group = shard.consumer_group(group_id)
    except RequestRefusedError as error:
        return DescribedConsumerGroup(
            group_id=group_id, error_code=error.code, error_message=error.why
        )
    names = {topic.topic_id: name for name, topic in image.topics.items()}
    return DescribedConsumerGroup(
        group_id=group_id,
        group_state=group.state,
        group_epoch=group.epoch,
        assignment_epoch=group.assignment_epoch,
        assignor_name=group.preferred_assignor or DEFAULT_ASSIGNOR,
        members=[
            Member(
                member_id=member.member_id,
                instance_id=member.instance_id,
                rack_id=member.rack_id,
                member_epoch=member.epoch,
                client_id=member.client_id,
                client_host=member.client_host,
                subscribed_topic_names=sorted(member.topics),
                subscribed_topic_regex=member.regex,
                assignment=_assignment(member.assigned, names),
                target_assignment=_assignment(
                    group.targets.get(member.member_id, frozenset()), names
                ),
                member_type=CONSUMER_MEMBER_TYPE,
            )
            for member in group.members.values()
        ],
    )


def _assignment(partitions: Partitions, names: Mapping[bytes, str]) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, topic_name=names[topic_id], partitions=numbers)
            for topic_id, numbers in by_topic(partitions).items()
            if topic_id in names
        ]
    )


def _listed(group: AnyGroup) -> ListedGroup:
    if isinstance(group, ConsumerGroup):
        return ListedGroup(
            group_id=group.group_id,
            protocol_type=CONSUMER_PROTOCOL,
            group_state=group.state,
            group_type=CONSUMER_TYPE,
        )
    return ListedGroup(
        group_id=group.group_id,
        protocol_type=group.protocol_type or "",
        group_state=group.state,
        group_type=CLASSIC_TYPE,
    )
