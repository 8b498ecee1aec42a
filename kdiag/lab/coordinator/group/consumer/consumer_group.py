"""A consumer group: its epochs, its members, what each is to have, and who holds which partition.

    group epoch         goes up with every change of members, subscriptions and topics
    assignment epoch    the group epoch for which the target was computed
    member epoch        the assignment epoch up to which a member has changed over

    Empty        no members
    Assigning    the group epoch is above the assignment epoch
    Reconciling  a member has not changed over
    Stable       all have

It changes by records alone (`replay`), so it is the same when it is read again.

Source: Kafka's `ConsumerGroup`, `ModernGroup`; KIP-848.
"""

from collections import Counter
from collections.abc import Iterable
from enum import StrEnum
from typing import Final

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.consumer.assignor.group_spec import (
    Partitions,
    TopicIdPartition,
)
from kdiag.lab.coordinator.group.consumer.consumer_member import (
    LEAVE_EPOCH,
    ConsumerGroupMember,
)

NOT_HELD: Final = -1
FIRST_EPOCH: Final = 1
"""Of a group without members, and of its empty target (KAFKA-20268): the first member has 2."""

_EPOCH_COMMIT_SINCE: Final = 9


class ConsumerGroupState(StrEnum):
    """The states, by the names that clients are told."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"


class ConsumerGroup:
    """A consumer group.

    Attributes:
        group_id: its id.
        epoch: counts the changes there have been.
        metadata_hash: of the topics that its members read, in that epoch.
        assignment_epoch: the epoch of the target.
        members: by id.
        static_members: instance id -> member id.
        targets: what each member is to have.
        resolved: the topics of each pattern that members have.
        image_version: of the cluster's state for which topics were looked at last.
    """

    def __init__(self, group_id: str) -> None:
        """Begin without members."""
        self.group_id = group_id
        self.epoch = FIRST_EPOCH
        self.metadata_hash = 0
        self.assignment_epoch = FIRST_EPOCH
        self.members: dict[str, ConsumerGroupMember] = {}
        self.static_members: dict[str, str] = {}
        self.targets: dict[str, Partitions] = {}
        self.resolved: dict[str, frozenset[str]] = {}
        self.image_version = -1
        self._partition_epochs: dict[TopicIdPartition, int] = {}

    def __repr__(self) -> str:
        return f"<ConsumerGroup {self.group_id!r}: {self.state}, epoch {self.epoch}>"

    @property
    def state(self) -> ConsumerGroupState:
        """Return its state."""
        if not self.members:
            return ConsumerGroupState.EMPTY
        if self.epoch > self.assignment_epoch:
            return ConsumerGroupState.ASSIGNING
        reconciled = (
            each.is_reconciled_to(self.assignment_epoch) for each in self.members.values()
        )
        return ConsumerGroupState.STABLE if all(reconciled) else ConsumerGroupState.RECONCILING

    @property
    def is_empty(self) -> bool:
        """Return whether it has no members."""
        return not self.members

    @property
    def preferred_assignor(self) -> str | None:
        """Return the assignor that most members prefer; None if nobody prefers one."""
        return preferred_assignor(self.members.values())

    def is_held(self, partition: TopicIdPartition) -> bool:
        """Return whether a member has a partition, or has not given it up."""
        return self._partition_epochs.get(partition, NOT_HELD) != NOT_HELD

    def is_subscribed_to(self, topic: str) -> bool:
        """Return whether a member reads a topic."""
        return any(
            topic in member.topics or topic in self.resolved.get(member.regex, ())
            for member in self.members.values()
        )

    def member(self, member_id: str) -> ConsumerGroupMember:
        """Return a member.

        Raises:
            RequestRefusedError: UNKNOWN_MEMBER_ID.
        """
        member = self.members.get(member_id)
        if member is None:
            why = f"Member {member_id} is not a member of group {self.group_id}."
            raise RequestRefusedError("UNKNOWN_MEMBER_ID", why)
        return member

    def set_member(self, member: ConsumerGroupMember) -> None:
        """Add a member, or replace what is known of it."""
        self._release(self.members.get(member.member_id))
        self.members[member.member_id] = member
        if member.instance_id is not None:
            self.static_members[member.instance_id] = member.member_id
        for partition in member.held:
            self._partition_epochs[partition] = member.epoch

    def remove_member(self, member_id: str) -> None:
        """Remove a member."""
        member = self.members.pop(member_id, None)
        self._release(member)
        name = None if member is None else member.instance_id
        if name is not None and self.static_members.get(name) == member_id:
            del self.static_members[name]

    def release_member(self, member_id: str) -> None:
        """Record that a member has nothing any more."""
        member = self.members.get(member_id)
        if member is not None:
            none: Partitions = frozenset()
            self.set_member(
                member._replace(
                    epoch=LEAVE_EPOCH, previous_epoch=LEAVE_EPOCH, assigned=none, revoked=none
                )
            )

    def check_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id: int,
        *,
        is_transactional: bool,
        version: int,
    ) -> None:
        """Refuse a commit of somebody who may not.

        Raises:
            RequestRefusedError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH, UNSUPPORTED_VERSION;
                ILLEGAL_GENERATION in a transaction.
        """
        del group_instance_id
        if generation_id < 0 and self.is_empty:
            return
        member = self.member(member_id)
        if not is_transactional and version < _EPOCH_COMMIT_SINCE:
            why = "OffsetCommit version 9 or above must be used by members using this protocol"
            raise RequestRefusedError("UNSUPPORTED_VERSION", why)
        if generation_id != member.epoch:
            error = "ILLEGAL_GENERATION" if is_transactional else "STALE_MEMBER_EPOCH"
            raise RequestRefusedError(error, f"epoch {generation_id}, it is {member.epoch}")

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:
        """Refuse a fetch of a member in another epoch; who is no member may always.

        Raises:
            RequestRefusedError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.
        """
        if member_id is None and member_epoch < 0:
            return
        member = self.member(member_id or "")
        if member.epoch != member_epoch:
            why = f"epoch {member_epoch}, it is {member.epoch}"
            raise RequestRefusedError("STALE_MEMBER_EPOCH", why)

    def check_offset_delete(self) -> None:
        """Refuse nothing: it is known what members read."""

    def check_delete(self) -> None:
        """Refuse to delete a group that has members.

        Raises:
            RequestRefusedError: NON_EMPTY_GROUP.
        """
        if not self.is_empty:
            raise RequestRefusedError("NON_EMPTY_GROUP", "the group has members")

    def expiry_base_ms(self, commit_timestamp_ms: int) -> int | None:
        """Return since when an offset of a topic that nobody reads is not needed."""
        return commit_timestamp_ms

    def _release(self, member: ConsumerGroupMember | None) -> None:
        """Record that a member holds nothing, unless another one does by now."""
        for partition in () if member is None else member.held:
            if member is not None and self._partition_epochs.get(partition) == member.epoch:
                del self._partition_epochs[partition]


def preferred_assignor(members: Iterable[ConsumerGroupMember]) -> str | None:
    """Return the assignor that most of some members prefer; None if nobody prefers one."""
    votes = Counter(member.server_assignor for member in members if member.server_assignor)
    return votes.most_common(1)[0][0] if votes else None
