"""What each member of a consumer group is to have: topics, an assignor, and what changes.

    topics = read_topics(members, resolved, image)     those that members read, and that there are
    topics_hash(topics)                                changes with their partitions
    records, targets = target_assignment(...)          records for members whose target changes

The assignor is the one that most members prefer, or uniform. A static member that came back with
another id begins with the target of its old one.

Source: Kafka's `TargetAssignmentBuilder`, `ModernGroup.computeSubscribedTopicNames`; KIP-848,
KIP-1101. The hash is a coordinator's own: Kafka counts it in another way.
"""

import hashlib
from collections.abc import Collection, Mapping
from typing import Final, NamedTuple

from kdiag.lab.controller.cluster_image import ClusterImage, TopicImage
from kdiag.lab.coordinator.group.consumer.assignor.group_spec import (
    Assign,
    MemberSpec,
    Partitions,
)
from kdiag.lab.coordinator.group.consumer.assignor.ranges import assign_ranges
from kdiag.lab.coordinator.group.consumer.assignor.uniform import assign_uniformly
from kdiag.lab.coordinator.group.consumer.consumer_member import ConsumerGroupMember
from kdiag.lab.coordinator.group.consumer.consumer_records import target_record
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord

ASSIGNORS: Final[Mapping[str, Assign]] = {"uniform": assign_uniformly, "range": assign_ranges}
DEFAULT_ASSIGNOR: Final = "uniform"

_HASH_BYTES: Final = 8
_NO_TOPICS_HASH: Final = 0

Resolved = Mapping[str, frozenset[str]]


class AssignmentInput(NamedTuple):
    """What a target is computed from.

    Attributes:
        members: of the group, as they will be.
        resolved: the topics of their patterns.
        topics: by name, those that they read.
        before: the targets that there are.
        static_before: instance id -> member id, as it was.
    """

    members: Mapping[str, ConsumerGroupMember]
    resolved: Resolved
    topics: Mapping[str, TopicImage]
    before: Mapping[str, Partitions]
    static_before: Mapping[str, str]


def names_of(member: ConsumerGroupMember, resolved: Resolved) -> frozenset[str]:
    """Return the names of the topics that a member reads."""
    return member.topics | resolved.get(member.regex, frozenset())


def read_topics(
    members: Collection[ConsumerGroupMember], resolved: Resolved, image: ClusterImage
) -> dict[str, TopicImage]:
    """Return the topics that members read, by name; only those that there are."""
    names = {name for member in members for name in names_of(member, resolved)}
    return {name: image.topics[name] for name in sorted(names) if name in image.topics}


def topics_hash(topics: Mapping[str, TopicImage]) -> int:
    """Return a number that changes with the topics and their partitions; 0 without any."""
    if not topics:
        return _NO_TOPICS_HASH
    digest = hashlib.blake2b(digest_size=_HASH_BYTES)
    for name, topic in sorted(topics.items()):
        digest.update(f"{name} {len(topic.partitions)} ".encode() + topic.topic_id)
    return int.from_bytes(digest.digest(), signed=True)


def target_assignment(
    group_id: str, assignor: str, given: AssignmentInput
) -> tuple[list[CoordinatorRecord], dict[str, Partitions]]:
    """Return the records of the targets that change, and all targets."""
    counts = {topic.topic_id: len(topic.partitions) for topic in given.topics.values()}
    specs = {
        member_id: MemberSpec(
            frozenset(
                given.topics[name].topic_id
                for name in names_of(member, given.resolved)
                if name in given.topics
            ),
            given.before.get(_known_as(member, given), frozenset()),
            member.instance_id,
        )
        for member_id, member in given.members.items()
    }
    targets = ASSIGNORS[assignor](specs, counts)
    records = [
        target_record(group_id, member_id, targets[member_id])
        for member_id in given.members
        if given.before.get(member_id) != targets[member_id]
    ]
    return records, targets


def _known_as(member: ConsumerGroupMember, given: AssignmentInput) -> str:
    """Return the id under which a member has had its target."""
    if member.instance_id is None or member.member_id in given.before:
        return member.member_id
    return given.static_before.get(member.instance_id, member.member_id)
