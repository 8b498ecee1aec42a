"""A consumer as a member of a classic group: its subscription, its partitions, its commits.

    topics = TopicSubscription.of("orders")
    member = ConsumerCoordinator(client, settings, topics, [RangeAssignor()], listener)
    while member.poll(deadline_ns): ...

What happens to partitions in a rebalance depends on the assignors that the member has (KIP-429):

    eager         before it joins, all of them are revoked; after it, those assigned are new
    cooperative   it keeps them while it joins; then it gives up those that others shall have, and
                  joins once more, so that these can be assigned
    lost          if it has been expelled, or has left, they are not its own any more

The leader of the group is one of its members: it divides the partitions, and watches all topics of
the group from then on, to have it rebalance when there are more partitions, or less.

Source: Kafka's `ConsumerCoordinator`, `ConsumerRebalanceListenerInvoker`; KIP-429 (cooperative),
KIP-447 (stable offsets), KIP-814 (`skipAssignment`), KIP-881 (racks).
"""

from collections.abc import Callable, Collection, Mapping, Sequence

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.assignor.assignor import (
    Assignor,
    MemberSubscription,
    RebalanceProtocol,
    partition_racks_of,
)
from kdiag.client.group.assignor.consumer_protocol import (
    MemberAssignment,
    decode_assignment,
    decode_subscription,
    encode_assignment,
    encode_subscription,
)
from kdiag.client.group.classic.abstract_coordinator import AbstractCoordinator
from kdiag.client.group.classic.subscription_state import MetadataSnapshot, SubscriptionState
from kdiag.client.group.committed_offsets import CommittedOffsets
from kdiag.client.group.member import (
    Consumed,
    MemberSettings,
    OffsetAndMetadata,
    RebalanceListener,
    TopicSubscription,
)
from kdiag.client.group.membership import Generation
from kdiag.client.group.offset_commits import OffsetCommits, OnCommit
from kdiag.client.group.rebalance_commit import RebalanceCommit
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.errors import ConfigError, GroupError, RequestTimeoutError, WakeupError
from kdiag.wire.api.join_group import JoinGroupRequestProtocol, JoinGroupResponse

Change = Callable[[Collection[PartitionKey]], None]
"""A method of the rebalance listener."""


class ConsumerCoordinator(AbstractCoordinator):
    """A ConsumerMember by the classic protocol.

    Attributes:
        subscriptions: what it wants and has.
        commits: commits its offsets.
        is_leader: whether it assigns the partitions of its generation.
    """

    protocol_type = "consumer"

    def __init__(  # noqa: PLR0913 - the last has one caller
        self,
        client: ClusterClient,
        settings: MemberSettings,
        subscription: TopicSubscription,
        assignors: Sequence[Assignor],
        listener: RebalanceListener,
        *,
        consumed: Consumed | None = None,
    ) -> None:
        """Begin outside of the group.

        Args:
            client: reaches the brokers; the member follows topics by its updater.
            settings: of the member.
            subscription: the topics that it wants.
            assignors: the preferred one first; of this member alone.
            listener: is told about partitions.
            consumed: returns how far partitions are read, if it commits by itself.

        Raises:
            ConfigError: if settings contradict each other, or the assignors do.
            ValueError: if it commits by itself and cannot know what.
        """
        super().__init__(client, settings)
        if consumed is None and settings.auto_commit_interval_ns is not None:
            raise ValueError("a member that commits by itself needs the consumed positions")
        self._client = client
        self._assignors = assignors
        self._protocol = common_protocol(assignors)
        self._listener = listener
        self.subscriptions = SubscriptionState(subscription, client.updater, settings.rack)
        self.commits = OffsetCommits(self, consumed or dict)
        self._committed = CommittedOffsets(self)
        self.is_leader = False
        self._joined_topics: frozenset[str] | None = None
        self._assigned_from: MetadataSnapshot | None = None
        self._rebalance_commit = RebalanceCommit(self, self.commits)
        client.updater.follow((), settings.refresh_times)
        self.subscribe(subscription)

    @property
    def assignment(self) -> frozenset[PartitionKey]:
        """Return the partitions that it owns."""
        return self.subscriptions.assignment

    def subscribe(self, subscription: TopicSubscription) -> None:
        """Want other topics; the next poll joins again for them.

        Raises:
            ConfigError: if the pattern is not a regular expression.
        """
        with self.membership.monitor:
            self.subscriptions.subscribe(subscription)

    def poll(self, deadline_ns: int) -> bool:
        """Join, or rejoin if need be, call back, and commit if it is time to.

        Returns:
            whether it is stable in its group.

        Raises:
            AuthorizationError: if the user may not see a topic.
            GroupError: if the group or its coordinator refuses it for good.
            KdiagError: if the cluster cannot be used.
            Exception: of the listener, once the assignment is in place.
            WakeupError: if another thread ends the wait.
        """
        self._update_metadata()
        self.commits.call_back()
        # Also when the coordinator cannot be found: the program is not to be blamed for that.
        self.poll_heartbeat()
        if not self.lookup.ensure_ready(deadline_ns):
            return False
        if self.rejoin_needed_or_pending() and not (
            self._match_pattern(deadline_ns) and self.ensure_active_group(deadline_ns)
        ):
            return False
        self.commits.maybe_auto_commit()
        return True

    def ns_to_next_poll(self) -> int:
        """Return how long the member can do without being polled, if all goes well."""
        commit_ns = self.commits.ns_to_next()
        return min(FOREVER_NS if commit_ns is None else commit_ns, self.ns_to_next_heartbeat())

    def committed(
        self, keys: Collection[PartitionKey], deadline_ns: int
    ) -> dict[PartitionKey, OffsetAndMetadata]:
        """Return the group's committed offsets, of the partitions that have any; see `fetch`."""
        return self._committed.fetch(keys, deadline_ns)

    def commit(self, offsets: Mapping[PartitionKey, OffsetAndMetadata], deadline_ns: int) -> None:
        """Commit offsets, and wait until that is done; see `commit_sync`."""
        self.commits.commit_sync(offsets, deadline_ns)

    def commit_async(
        self,
        offsets: Mapping[PartitionKey, OffsetAndMetadata],
        on_commit: OnCommit | None = None,
    ) -> None:
        """Commit offsets without waiting; a later poll calls back."""
        self.commits.commit_async(offsets, on_commit)

    def close(self, deadline_ns: int) -> None:
        """Commit if it does so by itself, give up all partitions, and leave the group."""
        try:
            self.commits.auto_commit_sync(deadline_ns)
            self.commits.await_pending(deadline_ns)
        finally:
            super().close(deadline_ns)

    def metadata(self) -> list[JoinGroupRequestProtocol]:
        """Return each assignor with what this member tells it."""
        self.is_leader = False  # also if it led an attempt that failed at its end
        topics = self._joined_topics = self.subscriptions.topics
        subscription = MemberSubscription(
            sorted(topics),
            None,
            sorted(self.assignment),
            self.generation,
            self.settings.rack,
        )
        return [
            JoinGroupRequestProtocol(
                each.name,
                encode_subscription(
                    subscription._replace(user_data=each.subscription_user_data(topics))
                ),
            )
            for each in self._assignors
        ]

    def on_leader_elected(self, joined: JoinGroupResponse) -> dict[str, bytes]:
        """Divide the partitions of all topics among all members.

        A static leader that has returned must leave the assignment as it is (KIP-814): the others
        do not join again.
        """
        assignor = self._assignor(joined.protocol_name)
        members = {
            each.member_id: decode_subscription(each.metadata, each.group_instance_id)
            for each in joined.members
        }
        topics = {topic for each in members.values() for topic in each.topics}
        self._watch(topics)
        self.is_leader = True
        self._assigned_from = self.subscriptions.snapshot
        if joined.skip_assignment:
            return {}
        racks = partition_racks_of(self.subscriptions.cluster, sorted(topics))
        assignments = assignor.assign(racks, members)
        return {
            member_id: encode_assignment(MemberAssignment(partitions))
            for member_id, partitions in assignments.items()
        }

    def on_join_prepare(self, deadline_ns: int, former: Generation) -> bool:
        """Commit what is consumed, and give up what must be given up before joining."""
        if not self._commit_before_join(deadline_ns):
            return False
        owned, error = self.assignment, None
        if former.is_lost or self.membership.generation.is_lost:
            if owned:
                error = self._tell(self._listener.on_partitions_lost, owned)
                self.subscriptions.assign(())
        elif self._protocol is RebalanceProtocol.EAGER:
            error = self._tell(self._listener.on_partitions_revoked, owned)
            self.subscriptions.assign(())
        else:
            unwanted = {key for key in owned if key.topic not in self.subscriptions.topics}
            if unwanted:
                error = self._tell(self._listener.on_partitions_revoked, unwanted)
                self.subscriptions.assign(owned - unwanted)
        with self.membership.monitor:
            self._assigned_from = None
            self.subscriptions.group_subscribe(())
        if error is not None:
            raise error
        return True

    def on_join_complete(self, generation: Generation, assignment: bytes) -> None:
        """Own what is assigned, and tell the listener what that changes."""
        if not self.is_leader:
            self._assigned_from = None  # only the leader watches the topics of all
        assignor = self._assignor(generation.protocol_name)
        assigned = frozenset(self._decode(assignment))
        if not self.subscriptions.fits(assigned):
            self.membership.request_rejoin(
                "received assignment does not match the current subscription"
            )
            return
        owned = self.assignment
        errors: list[Exception | None] = []
        if self._protocol is RebalanceProtocol.COOPERATIVE and owned - assigned:
            errors.append(self._tell(self._listener.on_partitions_revoked, owned - assigned))
            self.membership.request_rejoin("need to revoke partitions and re-join")
        self._joined_topics = self.subscriptions.add_matching(assigned, self._joined_topics)
        assignor.on_assignment(sorted(assigned), generation.generation_id)
        self.commits.reset_auto_commit()
        self.subscriptions.assign(assigned)
        errors.append(self._tell(self._listener.on_partitions_assigned, assigned - owned))
        for error in filter(None, errors):
            raise error

    def on_leave_prepare(self) -> None:
        """Give up all partitions, while they are still this member's, or as lost."""
        owned = self.assignment
        if not owned:
            return
        is_lost = self.membership.generation.is_lost or self.membership.is_rebalancing
        listener = self._listener
        error = self._tell(
            listener.on_partitions_lost if is_lost else listener.on_partitions_revoked, owned
        )
        self.subscriptions.assign(())
        if error is not None:
            raise error

    def rejoin_needed_or_pending(self) -> bool:
        """Return whether it must join: also if topics have changed since it did, or its wishes."""
        with self.membership.monitor:
            former, joined = self._assigned_from, self._joined_topics
            if former is not None and not former.matches(self.subscriptions.snapshot):
                self.membership.request_rejoin_if_necessary("cached metadata has changed")
            elif joined is not None and joined != self.subscriptions.topics:
                self.membership.request_rejoin_if_necessary("subscription has changed")
            return super().rejoin_needed_or_pending()

    def _update_metadata(self) -> None:
        with self.membership.monitor:
            self.subscriptions.update()

    def _match_pattern(self, deadline_ns: int) -> bool:
        """Match a pattern against all topics before joining; return whether they are known.

        Each member would otherwise find a new topic at a time of its own, and have the group
        rebalance.
        """
        if self.subscriptions.wanted.pattern is None or self._join_future is not None:
            return True
        updater = self._client.updater
        if not self.client.await_metadata_update(deadline_ns) or not self.client.await_condition(
            lambda: not updater.is_stale, deadline_ns
        ):
            return False
        self._update_metadata()
        return True

    def _watch(self, topics: Collection[str]) -> None:
        """Get the metadata of all topics of the group; called with the lock."""
        self.subscriptions.group_subscribe(topics)
        updater = self._client.updater
        until_ns = self.clock.monotonic_ns() + self._request_timeout_ns
        if updater.is_stale and not self.client.await_condition(
            lambda: not updater.is_stale, until_ns, wakes=False
        ):
            raise RequestTimeoutError("no broker has answered about the topics of the group")
        self.subscriptions.update()

    def _commit_before_join(self, deadline_ns: int) -> bool:
        """Commit what is consumed, as long as the group waits; return False to go on later.

        Meanwhile, the partitions that will be given up must not be read: what was read after the
        commit would be read again by whoever gets them.
        """
        is_given_up = self._protocol is RebalanceProtocol.EAGER and self.commits.is_automatic
        if is_given_up and not self.subscriptions.pending_revocation:
            self.subscriptions.pending_revocation = self.assignment
        return self._rebalance_commit.is_done(deadline_ns)

    def _assignor(self, name: str | None) -> Assignor:
        """Return the assignor that the group has agreed on."""
        for each in self._assignors:
            if each.name == name:
                return each
        why = f"the coordinator has chosen the assignor {name}, which this member does not have"
        raise GroupError(self.settings.group_id, "INCONSISTENT_GROUP_PROTOCOL", why)

    def _decode(self, assignment: bytes) -> list[PartitionKey]:
        """Return the partitions of an assignment.

        Raises:
            DecodeError: if the bytes are not one.
            GroupError: if there are none: the leader has left this member out.
        """
        if not assignment:
            why = "the group's leader has assigned nothing to this member, not even no partitions"
            raise GroupError(self.settings.group_id, "INCONSISTENT_GROUP_PROTOCOL", why)
        return decode_assignment(assignment).partitions

    def _tell(self, change: Change, partitions: Collection[PartitionKey]) -> Exception | None:
        """Call the listener; return its error, so that what must follow can be done first."""
        try:
            change(sorted(partitions))
        except WakeupError:
            raise
        except Exception as error:  # noqa: BLE001 - raised once the state is consistent
            return error
        return None


def common_protocol(assignors: Sequence[Assignor]) -> RebalanceProtocol:
    """Return the rebalance protocol that all assignors support, the most advanced one.

    Raises:
        ConfigError: if there is none.
    """
    common = set(RebalanceProtocol)
    for each in assignors:
        common &= set(each.protocols)
    if not assignors or not common:
        names = ", ".join(each.name for each in assignors) or "none"
        raise ConfigError(
            "partition.assignment.strategy",
            "partition.assignment.strategy",
            f"expected assignors that share a rebalance protocol, found {names}",
        )
    return max(common, key=lambda each: each.value)
