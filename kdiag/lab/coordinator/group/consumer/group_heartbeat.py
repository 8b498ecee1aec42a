"""ConsumerGroupHeartbeat: a member joins, stays, changes over or leaves; as records and a response.

    epoch 0     joins: the group epoch goes up, a target is computed, it gets what nobody holds
    its epoch   stays: what it owns tells what it has given up; one step of reconciliation
    -1, -2      leaves; a static member may say that it will be back
    another     FENCED_MEMBER_EPOCH: it gives up everything, and joins again

Nothing is changed here: the records are written, and change the group when they are replayed. Who
is not heard of for the session timeout, or does not give up partitions within its rebalance
timeout, is fenced.

Source: Kafka's `GroupMetadataManager.consumerGroupHeartbeat`; KIP-848, KIP-1082 (clients make
their ids).
"""

import uuid
from typing import Final, NamedTuple

from kdiag.lab.controller.cluster_image import ClusterImage
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.consumer.assignor.group_spec import Partitions
from kdiag.lab.coordinator.group.consumer.consumer_group import (
    ConsumerGroup,
    preferred_assignor,
)
from kdiag.lab.coordinator.group.consumer.consumer_member import (
    LEAVE_STATIC_EPOCH,
    ConsumerGroupMember,
)
from kdiag.lab.coordinator.group.consumer.consumer_records import (
    by_topic,
    current_record,
    epoch_record,
    member_record,
    member_tombstones,
    partitions_of,
    regex_record,
    regex_tombstone,
    target_epoch_record,
    target_record,
)
from kdiag.lab.coordinator.group.consumer.reconciliation import (
    ReconciliationTarget,
    reconciled,
)
from kdiag.lab.coordinator.group.consumer.target_assignment import (
    ASSIGNORS,
    DEFAULT_ASSIGNOR,
    AssignmentInput,
    read_topics,
    target_assignment,
    topics_hash,
)
from kdiag.lab.coordinator.group.consumer.topic_pattern import TopicPattern
from kdiag.lab.coordinator.group.group_config import GroupClient, GroupCoordinatorConfig
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord
from kdiag.wire.api.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)

_OWN_IDS_SINCE: Final = 1
_NOT_SAID: Final = -1

Records = list[CoordinatorRecord]


class HeartbeatScene(NamedTuple):
    """What a heartbeat comes into.

    Attributes:
        group: the group, as it is.
        image: the cluster's state.
        config: times and limits.
        now_ms: the time.
    """

    group: ConsumerGroup
    image: ClusterImage
    config: GroupCoordinatorConfig
    now_ms: int


class HeartbeatResult(NamedTuple):
    """What comes of a heartbeat.

    Attributes:
        records: to be written.
        response: to be sent then.
        member: as it is then; None if it has left.
    """

    records: Records
    response: ConsumerGroupHeartbeatResponse
    member: ConsumerGroupMember | None


def check_request(request: ConsumerGroupHeartbeatRequest, version: int) -> None:
    """Refuse a heartbeat that says too little or too much.

    Raises:
        RequestRefusedError: INVALID_REQUEST, UNSUPPORTED_ASSIGNOR.
    """
    if not request.group_id:
        raise _invalid("GroupId can't be empty.")
    for text, name in ((request.instance_id, "InstanceId"), (request.rack_id, "RackId")):
        if text is not None and not text:
            raise _invalid(f"{name} can't be empty.")
    is_join = request.member_epoch == 0
    if not request.member_id and (not is_join or version >= _OWN_IDS_SINCE):
        raise _invalid("MemberId can't be empty.")
    if is_join:
        _check_join(request)
    elif request.member_epoch < LEAVE_STATIC_EPOCH:
        raise _invalid("MemberEpoch is invalid.")
    elif request.member_epoch == LEAVE_STATIC_EPOCH and request.instance_id is None:
        raise _invalid("InstanceId can't be null.")
    assignor = request.server_assignor
    if assignor is not None and assignor not in ASSIGNORS:
        why = f"ServerAssignor {assignor} is not supported. Supported: {', '.join(ASSIGNORS)}."
        raise RequestRefusedError("UNSUPPORTED_ASSIGNOR", why)


def heartbeat_of(
    scene: HeartbeatScene, request: ConsumerGroupHeartbeatRequest, client: GroupClient
) -> HeartbeatResult:
    """Return what comes of a heartbeat of a member that stays, or joins.

    Raises:
        RequestRefusedError: with the error of the response.
    """
    group, group_id = scene.group, scene.group.group_id
    is_full = len(group.members) >= scene.config.group_consumer_max_size
    if is_full and request.member_id not in group.members:
        raise RequestRefusedError("GROUP_MAX_SIZE_REACHED", "the group has no room")
    owned = None if request.topic_partitions is None else partitions_of(request.topic_partitions)
    records: Records = []
    before, replaced = _found(scene, request, owned, records)
    member = _updated(before, request, client)
    if member != before or replaced is not None:
        records.append(member_record(group_id, member))
    members = {key: each for key, each in group.members.items() if key != replaced}
    members[member.member_id] = member
    resolved = _resolved(scene, members, records)
    is_other = (member.topics, member.regex) != (before.topics, before.regex)
    topics = read_topics(members.values(), resolved, scene.image)
    epoch, metadata_hash = group.epoch, topics_hash(topics)
    if is_other or metadata_hash != group.metadata_hash:
        epoch += 1
        records.append(epoch_record(group_id, epoch, metadata_hash))
    target = group.targets.get(replaced or member.member_id, frozenset())
    assignment_epoch = group.assignment_epoch
    if epoch > assignment_epoch:
        assignor = preferred_assignor(members.values()) or DEFAULT_ASSIGNOR
        given = AssignmentInput(members, resolved, topics, group.targets, group.static_members)
        changed, targets = target_assignment(group_id, assignor, given)
        records += [*changed, target_epoch_record(group_id, epoch, scene.now_ms)]
        target, assignment_epoch = targets[member.member_id], epoch
    stepped = member
    if not member.is_reconciled_to(assignment_epoch):
        goal = ReconciliationTarget(assignment_epoch, target, group.is_held, owned)
        stepped = reconciled(member, goal)
        if stepped != member:
            records.append(current_record(group_id, stepped))
    response = ConsumerGroupHeartbeatResponse(
        member_id=stepped.member_id,
        member_epoch=stepped.epoch,
        heartbeat_interval_ms=scene.config.group_consumer_heartbeat_interval_ms,
    )
    if _is_full_request(request) or stepped.assigned != before.assigned:
        response.assignment = _assignment(stepped.assigned)
    return HeartbeatResult(records, response, stepped)


def leave_of(scene: HeartbeatScene, request: ConsumerGroupHeartbeatRequest) -> HeartbeatResult:
    """Return what comes of a member's leaving.

    Raises:
        RequestRefusedError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    """
    group = scene.group
    if request.instance_id is None:
        member = group.member(request.member_id)
    else:
        member = _static_member(group, request.instance_id, request.member_id)
    response = ConsumerGroupHeartbeatResponse(
        member_id=request.member_id, member_epoch=request.member_epoch
    )
    if request.instance_id is not None and request.member_epoch == LEAVE_STATIC_EPOCH:
        away = member._replace(epoch=LEAVE_STATIC_EPOCH, revoked=frozenset())
        return HeartbeatResult([current_record(group.group_id, away)], response, away)
    return HeartbeatResult(fence_of(scene, member.member_id), response, None)


def fence_of(scene: HeartbeatScene, member_id: str) -> Records:
    """Return the records that take a member away; the others get what it had."""
    group = scene.group
    records = member_tombstones(group.group_id, member_id)
    left = {key: each for key, each in group.members.items() if key != member_id}
    resolved = _resolved(scene, left, records)
    topics = read_topics(left.values(), resolved, scene.image)
    return [*records, epoch_record(group.group_id, group.epoch + 1, topics_hash(topics))]


def _check_join(request: ConsumerGroupHeartbeatRequest) -> None:
    """Refuse a first heartbeat that does not say everything.

    Raises:
        RequestRefusedError: INVALID_REQUEST.
    """
    if request.rebalance_timeout_ms == _NOT_SAID:
        raise _invalid("RebalanceTimeoutMs must be provided in first request.")
    if request.topic_partitions is None or request.topic_partitions:
        raise _invalid("TopicPartitions must be empty when (re-)joining.")
    if not request.subscribed_topic_names and not request.subscribed_topic_regex:
        why = "Either SubscribedTopicNames or SubscribedTopicRegex must be non-null when joining."
        raise _invalid(why)


def _found(
    scene: HeartbeatScene,
    request: ConsumerGroupHeartbeatRequest,
    owned: Partitions | None,
    records: Records,
) -> tuple[ConsumerGroupMember, str | None]:
    """Return the member that asks, as it was, and whom it replaces.

    Raises:
        RequestRefusedError: UNKNOWN_MEMBER_ID, FENCED_MEMBER_EPOCH, FENCED_INSTANCE_ID,
            UNRELEASED_INSTANCE_ID.
    """
    group, name = scene.group, request.instance_id
    is_join = request.member_epoch == 0
    member_id = request.member_id or str(uuid.uuid4())
    if name is None:
        if is_join and member_id not in group.members:
            return ConsumerGroupMember(member_id), None
        member = group.member(member_id)
        _check_epoch(member, request.member_epoch, owned)
        return member, None
    if not is_join:
        member = _static_member(group, name, member_id)
        _check_epoch(member, request.member_epoch, owned)
        return member, None
    known = group.static_members.get(name)
    if known is None:
        return group.members.get(member_id) or ConsumerGroupMember(member_id), None
    old = group.members[known]
    if old.epoch != LEAVE_STATIC_EPOCH:
        why = f"Static member {name} cannot join: {known} has not released the instance id."
        raise RequestRefusedError("UNRELEASED_INSTANCE_ID", why)
    new = old._replace(member_id=member_id, epoch=0, previous_epoch=0)
    records += member_tombstones(group.group_id, known)
    records += [
        member_record(group.group_id, new),
        target_record(group.group_id, member_id, group.targets.get(known, frozenset())),
        current_record(group.group_id, new),
    ]
    return new, known


def _static_member(group: ConsumerGroup, name: str, member_id: str) -> ConsumerGroupMember:
    """Return a static member.

    Raises:
        RequestRefusedError: UNKNOWN_MEMBER_ID, FENCED_INSTANCE_ID.
    """
    known = group.static_members.get(name)
    if known is None:
        raise RequestRefusedError("UNKNOWN_MEMBER_ID", f"Instance id {name} is unknown.")
    if known != member_id:
        why = f"Static member {member_id} with instance id {name} was fenced by member {known}."
        raise RequestRefusedError("FENCED_INSTANCE_ID", why)
    return group.members[known]


def _check_epoch(member: ConsumerGroupMember, epoch: int, owned: Partitions | None) -> None:
    """Refuse a member in another epoch; the one before will do if the response was lost.

    Raises:
        RequestRefusedError: FENCED_MEMBER_EPOCH.
    """
    if epoch == member.epoch:
        return
    is_subset = owned is not None and owned <= member.assigned
    if epoch > member.epoch or epoch != member.previous_epoch or not is_subset:
        which = "greater" if epoch > member.epoch else "smaller"
        why = (
            f"The consumer group member has a {which} member epoch ({epoch}) than the one known by"
            f" the group coordinator ({member.epoch}). The member must abandon all its partitions"
            " and rejoin."
        )
        raise RequestRefusedError("FENCED_MEMBER_EPOCH", why)


def _updated(
    member: ConsumerGroupMember, request: ConsumerGroupHeartbeatRequest, client: GroupClient
) -> ConsumerGroupMember:
    """Return a member with what its heartbeat says of it."""
    names, regex = request.subscribed_topic_names, request.subscribed_topic_regex
    timeout_ms = request.rebalance_timeout_ms
    return member._replace(
        instance_id=member.instance_id if request.instance_id is None else request.instance_id,
        rack_id=member.rack_id if request.rack_id is None else request.rack_id,
        rebalance_timeout_ms=(
            member.rebalance_timeout_ms if timeout_ms == _NOT_SAID else timeout_ms
        ),
        topics=member.topics if names is None else frozenset(names),
        regex=member.regex if regex is None else regex,
        server_assignor=(
            member.server_assignor if request.server_assignor is None else request.server_assignor
        ),
        client_id=client.client_id,
        client_host=client.client_host,
    )


def _resolved(
    scene: HeartbeatScene, members: dict[str, ConsumerGroupMember], records: Records
) -> dict[str, frozenset[str]]:
    """Return the topics of each pattern that members have, and write down what changes.

    Raises:
        RequestRefusedError: INVALID_REGULAR_EXPRESSION.
    """
    group, image = scene.group, scene.image
    wanted = {member.regex for member in members.values() if member.regex}
    resolved = {}
    for regex in sorted(wanted):
        known = group.resolved.get(regex)
        if known is None or group.image_version != image.version:
            pattern = TopicPattern(regex)
            topics = frozenset(
                name
                for name, topic in image.topics.items()
                if not topic.is_internal and pattern.matches(name)
            )
            if topics != known:
                records.append(
                    regex_record(group.group_id, regex, topics, image.version, scene.now_ms)
                )
            known = topics
        resolved[regex] = known
    records += [regex_tombstone(group.group_id, each) for each in group.resolved.keys() - wanted]
    return resolved


def _is_full_request(request: ConsumerGroupHeartbeatRequest) -> bool:
    """Return whether a member says everything, as after an error: it is told everything, too."""
    says_topics = request.subscribed_topic_names is not None or bool(request.subscribed_topic_regex)
    says_all = request.rebalance_timeout_ms != _NOT_SAID and request.topic_partitions is not None
    return request.member_epoch == 0 or (says_all and says_topics)


def _assignment(partitions: Partitions) -> Assignment:
    return Assignment(
        topic_partitions=[
            TopicPartitions(topic_id=topic_id, partitions=numbers)
            for topic_id, numbers in by_topic(partitions).items()
        ]
    )


def _invalid(why: str) -> RequestRefusedError:
    return RequestRefusedError("INVALID_REQUEST", why)
