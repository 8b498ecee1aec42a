"""A classic group as a record of `__consumer_offsets`, and back.

    group_record(group, assignments)    key: the group; value: generation, protocol, members
    group_tombstone("billing")          the group is gone
    read_group("billing", value, clock) a group that is Stable, or Empty without members

Members are kept with the metadata of the protocol that was chosen only, so a group that was read
again supports just that.

Source: Kafka's `GroupCoordinatorRecordHelpers`, `GroupMetadataManager.replay`; KIP-211 (version 2,
since when it is in its state), KIP-345 (version 3, static members).
"""

from collections.abc import Mapping
from typing import Final

from kdiag.clock import Clock
from kdiag.lab.coordinator.group.classic.group_member import (
    ClassicGroupMember,
    MemberProtocol,
    MemberTimeouts,
)
from kdiag.lab.coordinator.group.classic.group_metadata import GroupMetadata
from kdiag.lab.coordinator.group.classic.group_state import ClassicGroupState
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord
from kdiag.wire.internal.group_metadata import (
    GroupMetadataKey,
    GroupMetadataValue,
    MemberMetadata,
)

VALUE_VERSION: Final = 3

_UNKNOWN: Final = -1


def group_record(group: GroupMetadata, assignments: Mapping[str, bytes]) -> CoordinatorRecord:
    """Return a group as a record.

    Args:
        group: in any state.
        assignments: what each member is given; nothing to those that are not in it.
    """
    protocol = group.protocol_name
    value = GroupMetadataValue(
        protocol_type=group.protocol_type or "",
        generation=group.generation_id,
        protocol=protocol,
        leader=group.leader_id,
        current_state_timestamp=(
            _UNKNOWN if group.state_timestamp_ms is None else group.state_timestamp_ms
        ),
        members=[
            MemberMetadata(
                member_id=member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                rebalance_timeout=member.timeouts.rebalance_ms,
                session_timeout=member.timeouts.session_ms,
                subscription=member.metadata(protocol),
                assignment=assignments.get(member.member_id, b""),
            )
            for member in group.members.values()
        ],
    )
    return CoordinatorRecord(GroupMetadataKey(group=group.group_id), value, VALUE_VERSION)


def group_tombstone(group_id: str) -> CoordinatorRecord:
    """Return the record that says that a group is gone."""
    return CoordinatorRecord(GroupMetadataKey(group=group_id), None)


def read_group(group_id: str, value: GroupMetadataValue, clock: Clock) -> GroupMetadata:
    """Return the group of a record; its members have not been heard of yet."""
    group = GroupMetadata(group_id, clock)
    group.generation_id = value.generation
    for member in value.members:
        rebalance_ms = member.rebalance_timeout
        group.add(
            ClassicGroupMember(
                member.member_id,
                group_instance_id=member.group_instance_id,
                client_id=member.client_id,
                client_host=member.client_host,
                protocol_type=value.protocol_type,
                protocols=[MemberProtocol(value.protocol or "", member.subscription)],
                timeouts=MemberTimeouts(
                    member.session_timeout if rebalance_ms == _UNKNOWN else rebalance_ms,
                    member.session_timeout,
                ),
                assignment=member.assignment,
            )
        )
        group.state = ClassicGroupState.STABLE
    group.protocol_type = value.protocol_type or None
    group.protocol_name = value.protocol
    group.leader_id = value.leader
    known = value.current_state_timestamp
    group.state_timestamp_ms = None if known == _UNKNOWN else known
    group.subscribed_topics = group.compute_subscribed_topics()
    return group
