"""A member by the consumer protocol: its state, its epoch, what it is assigned, what it owns.

The broker assigns. An answer to a heartbeat has a new assignment, and the thread that polls the
member makes it true, whenever that is not so:

    commit what is consumed -> give up what others shall have -> own what is new -> acknowledge

Only then do others get what was given up. Meanwhile heartbeats go on, and may bring yet another
assignment, which comes next; or the news that the member is fenced, which ends all of it. Topics
whose names are not known yet are waited for; the rest is acknowledged without them.

Heartbeats' answers are used by whichever thread polls the client, with the member's lock; the
listener is called by the thread that polls the member, without it.

Source: Kafka's `AbstractMembershipManager`, `ConsumerMembershipManager`; KIP-848.
"""

import base64
import secrets
from collections.abc import Callable, Collection
from typing import Final, NamedTuple

from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.consumer.local_assignment import (
    NO_ASSIGNMENT,
    LocalAssignment,
    by_name,
    partitions_of,
    topic_ids,
)
from kdiag.client.group.consumer.member_state import FORMER_STATES, ConsumerMemberState
from kdiag.client.group.consumer.sent_fields import HeartbeatFields
from kdiag.client.group.consumer.subscribed_topics import SubscribedTopics
from kdiag.client.group.member import MemberSettings, RebalanceListener
from kdiag.client.group.membership import Generation, Membership
from kdiag.errors import KdiagError, WakeupError
from kdiag.wire.api.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse

JOIN_EPOCH: Final = 0
LEAVE_EPOCH: Final = -1
STATIC_LEAVE_EPOCH: Final = -2
"""A static member leaves with this one, and its partitions wait for its return."""

_ID_BYTES: Final = 16


class _Reconciliation(NamedTuple):
    """One way from what is owned to what is assigned."""

    attempt: int
    assignment: LocalAssignment
    assigned: frozenset[PartitionKey]


class ConsumerMembershipManager:
    """The membership of one member.

    Attributes:
        state: how far it is.
        member_id: its own choice, for as long as it lives.
        member_epoch: counts its assignments; 0 while it joins, negative once it leaves.
        owned: the partitions that it owns.
        current: the assignment that it has made true; `target` is the newest.
        attempt: counts its joins: an answer that belongs to a former one is stale.
        change_count: counts changes of the state, for whoever waits for one.
    """

    def __init__(
        self,
        membership: Membership,
        settings: MemberSettings,
        topics: SubscribedTopics,
        listener: RebalanceListener,
        assignor: str | None,
    ) -> None:
        """Begin outside of the group.

        Args:
            membership: what commits and the heartbeat thread know of it; is kept up to date.
            settings: of the member.
            topics: that it wants.
            listener: is told about partitions.
            assignor: of the broker; None for the broker's choice.
        """
        self._membership = membership
        self._monitor = membership.monitor
        self._settings = settings
        self._topics = topics
        self._listener = listener
        self._assignor = assignor
        self._failure: KdiagError | None = None
        self._news: KdiagError | None = None
        self.state = ConsumerMemberState.UNSUBSCRIBED
        self.member_id = _new_member_id()
        self.member_epoch = JOIN_EPOCH
        self.owned: frozenset[PartitionKey] = frozenset()
        self.current = self.target = NO_ASSIGNMENT
        self.attempt = 0
        self.change_count = 0
        self._publish()

    @property
    def is_settled(self) -> bool:
        """Return whether it owns what it is assigned."""
        return self.state in (ConsumerMemberState.STABLE, ConsumerMemberState.ACKNOWLEDGING)

    @property
    def leave_epoch(self) -> int:
        """Return the epoch with which it leaves."""
        return LEAVE_EPOCH if self._settings.group_instance_id is None else STATIC_LEAVE_EPOCH

    def fields(self) -> HeartbeatFields:
        """Return what a heartbeat can say of it."""
        return HeartbeatFields(
            member_id=self.member_id,
            member_epoch=self.member_epoch,
            names=self._topics.names(),
            pattern=self._topics.pattern,
            assignor=self._assignor,
            assignment=self.current,
            is_joining=self.state is ConsumerMemberState.JOINING,
        )

    def raise_failure(self) -> None:
        """Raise why it was refused: always if that is for good, else once."""
        with self._monitor:
            error, self._news = self._news, None
        error = self._failure or error
        if error is not None:
            raise error

    def join(self) -> None:
        """Join, with the next heartbeat."""
        with self._monitor:
            self.attempt += 1
            self.member_epoch = JOIN_EPOCH
            self.target = NO_ASSIGNMENT
            self._topics.forget_names()
            self._move(ConsumerMemberState.JOINING)

    def on_heartbeat_generated(self) -> None:
        """Record that a heartbeat says what there is to acknowledge."""
        with self._monitor:
            if self.state is ConsumerMemberState.ACKNOWLEDGING:
                is_all = self.current == self.target
                self._move(
                    ConsumerMemberState.STABLE if is_all else ConsumerMemberState.RECONCILING
                )

    def on_heartbeat_success(self, body: ConsumerGroupHeartbeatResponse) -> None:
        """Use the answer to a heartbeat, unless it comes too late to matter."""
        with self._monitor:
            if not self.state.is_in_group or self.state is ConsumerMemberState.LEAVING:
                return
            if body.member_epoch < 0:
                return
            self.member_id = body.member_id or self.member_id
            self.member_epoch = body.member_epoch
            self._publish()
            if body.assignment is not None and self.state.takes_assignments:
                self._assign(partitions_of(body.assignment.topic_partitions))

    def fence(self, end_reason: str) -> None:
        """Lose all partitions, and join again; one that was leaving has left.

        Args:
            end_reason: why, for whoever commits too late.
        """
        with self._monitor:
            if self.state.is_leaving:
                self.end_leave()
            elif self.state.is_in_group:
                self.member_epoch = JOIN_EPOCH
                self._membership.end_reason = end_reason
                self._move(ConsumerMemberState.FENCED)

    def fail(self, error: KdiagError) -> None:
        """Be refused for good."""
        with self._monitor:
            if self.state.is_leaving:
                self.end_leave()
            elif self.state.is_in_group:
                self._failure = error
                self._membership.end_reason = f"it was refused: {error}"
                self.member_epoch = JOIN_EPOCH
                self._move(ConsumerMemberState.FATAL)

    def tell(self, error: KdiagError) -> None:
        """Have an error raised that does not end the membership."""
        with self._monitor:
            self._news = error
            self.change_count += 1

    def begin_leave(self) -> bool:
        """Give up all partitions before it leaves; return whether there is a group to leave.

        Raises:
            Exception: of the listener, once the partitions are given up.
        """
        with self._monitor:
            is_member = self.state.is_in_group
            if is_member:
                self._move(ConsumerMemberState.PREPARE_LEAVING)
            is_known = is_member and self.member_epoch > 0
        change = self._listener.on_partitions_revoked if is_known else self._lose
        error = self._tell(change, self.owned) if self.owned else None
        self.owned = frozenset()
        if error is not None:
            raise error
        return self.state is ConsumerMemberState.PREPARE_LEAVING

    def leave(self) -> bool:
        """Have the next heartbeat be the last; return False if it was fenced before."""
        with self._monitor:
            if self.state is not ConsumerMemberState.PREPARE_LEAVING:
                return False
            self.current = NO_ASSIGNMENT
            self.member_epoch = self.leave_epoch
            self._move(ConsumerMemberState.LEAVING)
            return True

    def end_leave(self) -> None:
        """Be outside of the group: the last heartbeat is sent, or cannot be."""
        with self._monitor:
            if self.state.is_leaving:
                self.current = self.target = NO_ASSIGNMENT
                self._move(ConsumerMemberState.UNSUBSCRIBED)

    def expire_poll(self, end_reason: str) -> bool:
        """Have the next heartbeat be the last, as the program does not poll; see `fence`."""
        with self._monitor:
            if not self.state.is_in_group or self.state.is_leaving:
                return False
            self._move(ConsumerMemberState.PREPARE_LEAVING)
            self._membership.end_reason = end_reason
            return self.leave()

    def end_stale(self) -> None:
        """Have left, and wait for the program to poll."""
        with self._monitor:
            self._move(ConsumerMemberState.STALE)

    def release_lost(self) -> bool:
        """Tell the listener what was lost, if anything was; return whether to join again.

        Raises:
            Exception: of the listener, once the partitions are given up.
        """
        state = self.state
        lost = (ConsumerMemberState.FENCED, ConsumerMemberState.STALE, ConsumerMemberState.FATAL)
        if state not in lost:
            return False
        error = self._tell(self._lose, self.owned) if self.owned else None
        with self._monitor:
            self.owned = frozenset()
            self.current = self.target = NO_ASSIGNMENT
        if error is not None:
            raise error
        return state is not ConsumerMemberState.FATAL

    def reconcile(self, commit: Callable[[], bool]) -> bool:
        """Own what is assigned, as far as its topics have names.

        Args:
            commit: commits what is consumed; returns False to be called again, by another call.

        Returns:
            what `commit` does; True if there was nothing to do.

        Raises:
            Exception: of the listener; the next call goes on.
        """
        found = self._begin()
        if found is None:
            return True
        if not commit():
            return False
        if not self._is_aborted(found):
            self._own(found)
        return True

    def _own(self, found: _Reconciliation) -> None:
        """Give up what others shall have, own the rest, and acknowledge it, unless it is fenced."""
        removed = self.owned - found.assigned
        if removed:
            self._listener.on_partitions_revoked(sorted(removed))
            self.owned -= removed
            if self._is_aborted(found):
                return
        added = found.assigned - self.owned
        self.owned = found.assigned
        self._listener.on_partitions_assigned(sorted(added))
        with self._monitor:
            if not self._is_aborted(found):
                self._acknowledge(found.assignment)

    def _assign(self, partitions: frozenset[tuple[bytes, int]]) -> None:
        """Take a new target, and reconcile if that is another one."""
        self.target = self.target.followed_by(partitions)
        if self.current != self.target:
            self._move(ConsumerMemberState.RECONCILING)
        elif self.state in (ConsumerMemberState.RECONCILING, ConsumerMemberState.JOINING):
            self._move(ConsumerMemberState.STABLE)

    def _begin(self) -> _Reconciliation | None:
        """Return what there is to do, if there is anything that can be done."""
        with self._monitor:
            if self.state is not ConsumerMemberState.RECONCILING:
                return None
            target = self.target
            names = self._topics.names_of(topic_ids(target.partitions))
            known = by_name(target.partitions, names)
            assigned = frozenset(PartitionKey(names[topic], number) for topic, number in known)
            assignment = LocalAssignment(target.epoch, known)
            if assignment == self.current:
                return None  # the rest has no names yet
            if not self.current.is_none and known == self.current.partitions:
                self._acknowledge(assignment)
                return None
            return _Reconciliation(self.attempt, assignment, assigned)

    def _acknowledge(self, assignment: LocalAssignment) -> None:
        self.current = assignment
        self._membership.end_reason = ""
        self._move(ConsumerMemberState.ACKNOWLEDGING)

    def _is_aborted(self, found: _Reconciliation) -> bool:
        """Return whether it was fenced since, or leaves; also if it is in the group again."""
        with self._monitor:
            is_reconciling = self.state is ConsumerMemberState.RECONCILING
            return not is_reconciling or self.attempt != found.attempt

    def _lose(self, partitions: Collection[PartitionKey]) -> None:
        self._listener.on_partitions_lost(partitions)

    def _tell(
        self, change: Callable[[Collection[PartitionKey]], None], keys: Collection[PartitionKey]
    ) -> Exception | None:
        """Call the listener; return its error, so that what must follow can be done first."""
        try:
            change(sorted(keys))
        except WakeupError:
            raise
        except Exception as error:  # noqa: BLE001 - raised once the state is consistent
            return error
        return None

    def _move(self, state: ConsumerMemberState) -> None:
        """Change the state.

        Raises:
            RuntimeError: if that does not follow.
        """
        if state is not self.state and self.state not in FORMER_STATES[state]:
            raise RuntimeError(f"a member that is {self.state.name} cannot become {state.name}")
        self.state = state
        self.change_count += 1
        self._publish()
        self._monitor.notify_all()

    def _publish(self) -> None:
        """Let commits and the heartbeat thread know."""
        with self._monitor:
            self._membership.state = self.state.membership_state
            epoch = self.member_epoch if self.member_epoch > 0 else -1
            self._membership.generation = Generation(epoch, self.member_id)


def _new_member_id() -> str:
    """Return an id as Kafka's clients have them."""
    return base64.urlsafe_b64encode(secrets.token_bytes(_ID_BYTES)).decode().rstrip("=")
