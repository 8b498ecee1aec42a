"""A consumer as a member by the consumer protocol: the broker assigns its partitions.

    topics = TopicSubscription.of("orders")
    member = BrokerAssignedMember(client, settings, topics, listener)
    while member.poll(deadline_ns): ...

Two threads work for it, as for a classic member: the heartbeat thread tells the broker that it
lives and what it owns, and the one that polls it makes assignments true, and calls back. There is
no rebalance in which all of them stop: a member gives up what another shall have, says so with its
next heartbeat, and goes on reading the rest.

Source: Kafka's `AsyncKafkaConsumer`, `ConsumerMembershipManager`; KIP-848.
"""

from collections.abc import Collection, Mapping
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.client.group.committed_offsets import CommittedOffsets
from kdiag.client.group.consumer.epoch_commits import EpochCommits
from kdiag.client.group.consumer.heartbeat_request_manager import ConsumerHeartbeatRequestManager
from kdiag.client.group.consumer.member_state import ConsumerMemberState
from kdiag.client.group.consumer.membership_manager import ConsumerMembershipManager
from kdiag.client.group.consumer.subscribed_topics import SubscribedTopics
from kdiag.client.group.coordinator_lookup import CoordinatorLookup
from kdiag.client.group.heartbeat import Heartbeat
from kdiag.client.group.heartbeat_thread import HeartbeatThread
from kdiag.client.group.member import (
    Consumed,
    MemberSettings,
    OffsetAndMetadata,
    RebalanceListener,
    TopicSubscription,
)
from kdiag.client.group.membership import Membership
from kdiag.client.group.offset_commits import OnCommit
from kdiag.client.group.rebalance_commit import RebalanceCommit
from kdiag.client.request_future import RequestFuture
from kdiag.clock import NS_PER_MS

ASSIGNORS: Final = ("uniform", "range")
"""The assignors that brokers of Kafka have, the usual one first; they may have others."""


class BrokerAssignedMember:
    """A ConsumerMember by the consumer protocol.

    Attributes:
        settings: as given.
        clock: all times are its own.
        client: shared by both threads.
        membership: what commits and the heartbeat thread know of its state.
        lookup: knows the coordinator.
        heartbeat: the timers.
        topics: what it wants.
        commits: commits its offsets.
        manager: its state, and what it owns.
    """

    heartbeat: Heartbeat

    def __init__(  # noqa: PLR0913 - the last two have few callers
        self,
        client: ClusterClient,
        settings: MemberSettings,
        subscription: TopicSubscription,
        listener: RebalanceListener,
        *,
        assignor: str | None = None,
        consumed: Consumed | None = None,
    ) -> None:
        """Begin outside of the group.

        Args:
            client: reaches the brokers; the member follows topics by its updater.
            settings: of the member; how often it sends heartbeats, the broker says.
            subscription: the topics that it wants.
            listener: is told about partitions.
            assignor: the broker's assignor to ask for; None for the broker's choice.
            consumed: returns how far partitions are read, if it commits by itself.

        Raises:
            ConfigError: if settings contradict each other, or the pattern is not one.
            ValueError: if it commits by itself and cannot know what.
        """
        if consumed is None and settings.auto_commit_interval_ns is not None:
            raise ValueError("a member that commits by itself needs the consumed positions")
        self.settings = settings
        self.clock = client.clock
        self.client = client.client
        self.membership = Membership()
        self._updater = client.updater
        self.topics = SubscribedTopics(subscription, client.updater, settings)
        self.lookup = CoordinatorLookup(
            client, settings, self.membership.monitor, self._handle_coordinator
        )
        self.manager = ConsumerMembershipManager(
            self.membership, settings, self.topics, listener, assignor
        )
        self._requests = ConsumerHeartbeatRequestManager(self, self.manager)
        self.heartbeat = self._requests.heartbeat
        self.commits = EpochCommits(self, consumed or dict)
        self._committed = CommittedOffsets(self)
        self._rebalance_commit = RebalanceCommit(self, self.commits)
        self._thread: HeartbeatThread | None = None

    @property
    def member_id(self) -> str:
        """Return its id, which it has chosen itself."""
        return self.manager.member_id

    @property
    def generation(self) -> int:
        """Return its epoch; 0 while it is in none."""
        return max(0, self.manager.member_epoch)

    @property
    def assignment(self) -> frozenset[PartitionKey]:
        """Return the partitions that it owns."""
        return self.manager.owned

    def subscribe(self, subscription: TopicSubscription) -> None:
        """Want other topics; the next heartbeat says so.

        Raises:
            ConfigError: if the pattern is not a regular expression.
        """
        with self.membership.monitor:
            self.topics.subscribe(subscription)

    def poll(self, deadline_ns: int) -> bool:
        """Join, or rejoin if need be, own what is assigned, and commit if it is time to.

        Returns:
            whether it owns all that it is assigned.

        Raises:
            AuthorizationError: if the user may not see a topic.
            GroupError: if the group or its coordinator refuses it for good.
            KdiagError: if the cluster cannot be used.
            UnsupportedVersionError: if the broker does not speak the protocol.
            Exception: of the listener; the next call goes on.
            WakeupError: if another thread ends the wait.
        """
        self.commits.call_back()
        # Also when the coordinator cannot be found: the program is not to be blamed for that.
        self._poll_heartbeat()
        if not self._is_ready(deadline_ns):
            return False
        while True:
            seen = self._news()
            if not self._advance(deadline_ns):
                return False
            if self.manager.is_settled:
                break
            if not self.client.await_condition(lambda: self._news() != seen, deadline_ns):  # noqa: B023 - called within the round
                return False
        self.commits.maybe_auto_commit()
        return True

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
        """Commit if it does so by itself, give up all partitions, and leave the group.

        Raises:
            Exception: of the rebalance listener, after the member has left.
        """
        try:
            self.commits.auto_commit_sync(deadline_ns)
            self.commits.await_pending(deadline_ns)
        finally:
            try:
                self.manager.begin_leave()
            finally:
                self._close_heartbeats()
                self._leave()
                node = self.lookup.node
                if node is not None:
                    self.client.await_pending(node.id, deadline_ns, wakes=False)

    def abandon(self) -> None:
        """Stop the heartbeats without a word, as if the program had died; close the client next."""
        self._close_heartbeats()

    def send_heartbeat(self) -> RequestFuture[None]:
        """Send a heartbeat."""
        return self._requests.send()

    def handle_poll_timeout(self) -> None:
        """Leave the group, as the program has not polled for `max.poll.interval.ms`."""
        limit_ms = self.settings.max_poll_interval_ns // NS_PER_MS
        why = (
            f"it was not polled for max.poll.interval.ms, which is {limit_ms}, and has given "
            "its membership up; raise that, or do less between two polls"
        )
        if self.manager.expire_poll(why):
            self._requests.send_leave()
            self.client.poll_if_free()
            self.manager.end_stale()
        else:
            self.heartbeat.poll(self.clock.monotonic_ns())  # it leaves anyway

    def _is_ready(self, deadline_ns: int) -> bool:
        """Return whether there is a coordinator, and all is known that a pattern may match."""
        if self.manager.state is ConsumerMemberState.FATAL:
            return True  # which is raised
        return self.lookup.ensure_ready(deadline_ns) and (
            self.topics.is_ready
            or self.client.await_condition(lambda: self.topics.is_ready, deadline_ns)
        )

    def _advance(self, deadline_ns: int) -> bool:
        """Do what is to be done now; return False if the rest is for another call."""
        manager = self.manager
        if manager.release_lost():
            self._join()
        manager.raise_failure()
        if manager.state is ConsumerMemberState.UNSUBSCRIBED:
            self._join()
        epoch = manager.current.epoch
        is_done = manager.reconcile(lambda: self._rebalance_commit.is_done(deadline_ns))
        if manager.current.epoch != epoch:
            self.commits.reset_auto_commit()
        return is_done

    def _news(self) -> tuple[int, int]:
        """Return what changes whenever there may be something to do."""
        return self.manager.change_count, self._updater.update_count

    def _join(self) -> None:
        """Join, and have heartbeats sent."""
        with self.membership.monitor:
            self.manager.join()
            self._beat()

    def _beat(self) -> None:
        """Have heartbeats sent from now on."""
        with self.membership.monitor:
            if self._thread is None:
                self._thread = HeartbeatThread(self)
                self._thread.start()
            self._thread.enable()

    def _poll_heartbeat(self) -> None:
        """Record that the program lives.

        Raises:
            KdiagError: once, if the heartbeat thread has failed; the next poll starts another.
        """
        with self.membership.monitor:
            thread = self._thread
            if thread is not None and thread.failure is not None:
                self._thread = None
                thread.close()
                raise thread.failure
            if thread is None and self.manager.state.is_in_group:
                self._beat()
            self.heartbeat.poll(self.clock.monotonic_ns())

    def _handle_coordinator(self) -> None:
        """Give a new coordinator the time of a session to answer."""
        self.heartbeat.reset_session_timeout(self.clock.monotonic_ns())

    def _close_heartbeats(self) -> None:
        """End the heartbeat thread, without the lock: it needs that to end."""
        with self.membership.monitor:
            thread, self._thread = self._thread, None
            if thread is not None:
                thread.close()
        if thread is not None:
            thread.join()

    def _leave(self) -> None:
        """Send the last heartbeat, if there is a group to leave, and a coordinator to tell."""
        with self.membership.monitor:
            if self.manager.leave() and not self.lookup.is_unknown:
                self._requests.send_leave()
                self.client.poll_if_free()
            self.manager.end_leave()
