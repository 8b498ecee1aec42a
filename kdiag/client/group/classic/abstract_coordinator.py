"""The classic group protocol, whatever is assigned: join, sync, heartbeat, leave.

Two threads work for a member. The one that polls it finds the coordinator, joins and calls back;
the heartbeat thread does no more than keep the membership alive, see `heartbeat_thread`. What both
use is in `membership`, under one lock. A wait for the network by the polling thread is not under
that lock, but for the lookup of the coordinator; callbacks to the program never are.

A rebalance may be interrupted at each step, by a deadline or a wakeup, and goes on where it was:
the future of the join is kept until `on_join_complete` has returned.

Source: Kafka's `AbstractCoordinator`; KIP-62 (heartbeats in their own thread), KIP-345 (static
members do not leave), KIP-800 (reasons).
"""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from functools import partial
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.error_reactions import is_moved
from kdiag.client.group.classic.group_join import GroupJoin
from kdiag.client.group.coordinator_lookup import CoordinatorLookup
from kdiag.client.group.heartbeat import Heartbeat
from kdiag.client.group.heartbeat_thread import HeartbeatThread
from kdiag.client.group.member import MemberSettings
from kdiag.client.group.membership import Generation, Membership, MemberState, cut_reason
from kdiag.client.group.refusals import refusal
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.request import RequestBuilder, builder_of
from kdiag.client.request_future import RequestFuture, is_retriable
from kdiag.clock import NS_PER_MS
from kdiag.errors import GroupError, KdiagError
from kdiag.wire import api_keys
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.join_group import JoinGroupRequestProtocol, JoinGroupResponse
from kdiag.wire.api.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.error_code import CODE_BY_NAME, error_name
from kdiag.wire.schema import ALL_VERSIONS

_FIRST_WITH_MEMBERS: Final = 3
_JOIN_AGAIN_AT_ONCE: Final = frozenset(
    {"ILLEGAL_GENERATION", "MEMBER_ID_REQUIRED", "REBALANCE_IN_PROGRESS", "UNKNOWN_MEMBER_ID"}
)
_EXPELLED: Final = frozenset({"FENCED_INSTANCE_ID", "ILLEGAL_GENERATION", "UNKNOWN_MEMBER_ID"})


class AbstractCoordinator(ABC):
    """A member of a group; subclasses say of what kind, and what is assigned.

    Attributes:
        settings: as given.
        clock: all times are its own.
        client: shared by both threads.
        membership: the state that both threads share.
        lookup: knows the coordinator.
        heartbeat: the timers.
    """

    def __init__(self, client: ClusterClient, settings: MemberSettings) -> None:
        """Begin outside of the group.

        Raises:
            ConfigError: if the settings contradict each other.
        """
        self.settings = settings
        self.clock = client.clock
        self.client = client.client
        self.membership = Membership()
        self.heartbeat = Heartbeat(settings, self.clock.monotonic_ns())
        self.lookup = CoordinatorLookup(
            client, settings, self.membership.monitor, self._handle_coordinator
        )
        self._join = GroupJoin(
            self.lookup, self.membership, settings, self, self._enable_heartbeats
        )
        self._request_timeout_ns = client.settings.network.request_timeout_ns
        self._join_future: RequestFuture[bytes] | None = None
        self._thread: HeartbeatThread | None = None

    @property
    @abstractmethod
    def protocol_type(self) -> str:
        """Return the kind of group: `consumer`."""

    @abstractmethod
    def metadata(self) -> list[JoinGroupRequestProtocol]:
        """Return the assignors that this member has, the preferred one first, with its metadata."""

    @abstractmethod
    def on_join_prepare(self, deadline_ns: int, former: Generation) -> bool:
        """Get ready for a rebalance, once for each; return False to be called again."""

    @abstractmethod
    def on_leader_elected(self, joined: JoinGroupResponse) -> Mapping[str, bytes]:
        """Return the assignment of each member; called by either thread, with the lock."""

    @abstractmethod
    def on_join_complete(self, generation: Generation, assignment: bytes) -> None:
        """Use an assignment; called again with the same one if it raises."""

    def on_leave_prepare(self) -> None:  # noqa: B027 - nothing, unless a kind of member needs it
        """Give up what is assigned, before the member leaves."""

    @property
    def member_id(self) -> str:
        """Return the member's id; empty before it has one."""
        return self.membership.generation.member_id

    @property
    def generation(self) -> int:
        """Return the generation; -1 while there is none."""
        return self.membership.generation.generation_id

    @property
    def is_dynamic(self) -> bool:
        """Return whether it leaves the group when it is closed."""
        return self.settings.group_instance_id is None

    def rejoin_needed_or_pending(self) -> bool:
        """Return whether it must join, or has begun to."""
        with self.membership.monitor:
            return self.membership.is_rejoin_needed or self._join_future is not None

    def poll_heartbeat(self) -> None:
        """Record that the program lives, and wake the heartbeat thread if it has something to do.

        Raises:
            KdiagError: once, if the heartbeat thread has failed; the next join starts another.
        """
        now_ns = self.clock.monotonic_ns()
        with self.membership.monitor:
            thread = self._thread
            if thread is None:
                return
            if thread.failure is not None:
                self._thread = None
                thread.close()
                raise thread.failure
            if self.heartbeat.should_heartbeat(now_ns):
                self.membership.monitor.notify_all()
            self.heartbeat.poll(now_ns)

    def ns_to_next_heartbeat(self) -> int:
        """Return how long until a heartbeat is due; for ever outside of a group.

        Raises:
            KdiagError: if the heartbeat thread has failed.
        """
        with self.membership.monitor:
            if self.membership.state.has_not_joined:
                return FOREVER_NS
            if self._thread is not None and self._thread.failure is not None:
                raise self._thread.failure
            return self.heartbeat.ns_to_next_heartbeat(self.clock.monotonic_ns())

    def ensure_active_group(self, deadline_ns: int) -> bool:
        """Join if need be; return whether it is in the group, and stable, by the deadline.

        Raises:
            GroupError: if the group or its coordinator refuses the member for good.
            KdiagError: as `CoordinatorLookup.ensure_ready`, or of a callback.
        """
        if not self.lookup.ensure_ready(deadline_ns):
            return False
        with self.membership.monitor:
            if self._thread is None:
                self._thread = HeartbeatThread(self)
                self._thread.start()
        return self.join_group_if_needed(deadline_ns)

    def join_group_if_needed(self, deadline_ns: int) -> bool:
        """Do the same without a heartbeat thread."""
        while self.rejoin_needed_or_pending():
            if not self.lookup.ensure_ready(deadline_ns) or not self._prepare_join(deadline_ns):
                return False
            future = self._initiate_join()
            if not self.client.await_future(future, deadline_ns):
                return False
            if future.succeeded:
                self._complete_join(future.value())
            elif not self._handle_failed_join(future.error(), deadline_ns):
                return False
        return True

    def maybe_leave_group(self, reason: str) -> RequestFuture[None] | None:
        """Leave the group, as far as that takes no waiting; static members only forget it.

        Returns:
            the future of the answer; None if nothing was to be sent.
        """
        future: RequestFuture[None] | None = None
        membership = self.membership
        with membership.monitor:
            generation = membership.generation
            is_member = membership.state is not MemberState.UNJOINED and generation.member_id
            if self.is_dynamic and is_member and not self.lookup.is_unknown:
                request = _leave_group(self.settings.group_id, generation.member_id, reason)
                future = self.lookup.send(request, self._handle_leave)
                self.client.poll_if_free()
            membership.reset("consumer pro-actively leaving the group")
        return future

    def close(self, deadline_ns: int) -> None:
        """Stop the heartbeats, leave the group, and wait until all that was sent is answered.

        Raises:
            Exception: of the rebalance listener, after the member has left.
        """
        self._close_heartbeats()
        try:
            self.on_leave_prepare()
        finally:
            self.maybe_leave_group("the consumer is being closed")
            node = self.lookup.node
            if node is not None:
                self.client.await_pending(node.id, deadline_ns, wakes=False)

    def abandon(self) -> None:
        """Stop the heartbeats without a word, as if the program had died; close the client next."""
        self._close_heartbeats()

    def send_heartbeat(self) -> RequestFuture[None]:
        """Send a heartbeat."""
        sent = self.membership.generation
        message = HeartbeatRequest(
            group_id=self.settings.group_id,
            generation_id=sent.generation_id,
            member_id=sent.member_id,
            group_instance_id=self.settings.group_instance_id,
        )
        return self.lookup.send(builder_of(message), partial(self._handle_heartbeat, sent))

    def handle_poll_timeout(self) -> None:
        """Leave the group, as the program has not polled for `max.poll.interval.ms`."""
        self.maybe_leave_group("consumer poll timeout has expired.")
        limit_ms = self.settings.max_poll_interval_ns // NS_PER_MS
        self.membership.end_reason = (
            f"it was not polled for max.poll.interval.ms, which is {limit_ms}, and has given "
            "its membership up; raise that, or do less between two polls"
        )

    def _handle_coordinator(self) -> None:
        """Give a new coordinator the time of a session to answer."""
        self.heartbeat.reset_session_timeout(self.clock.monotonic_ns())

    def _enable_heartbeats(self) -> None:
        """Begin to send heartbeats: there is a new generation."""
        if self._thread is not None:
            self._thread.enable()

    def _close_heartbeats(self) -> None:
        """End the heartbeat thread, without the lock: it needs that to end."""
        with self.membership.monitor:
            thread, self._thread = self._thread, None
            if thread is not None:
                thread.close()
        if thread is not None:
            thread.join()

    def _prepare_join(self, deadline_ns: int) -> bool:
        """Call `on_join_prepare` once for each rebalance, also if it raises."""
        membership = self.membership
        if membership.needs_join_prepare:
            membership.needs_join_prepare = False
            if not self.on_join_prepare(deadline_ns, membership.generation):
                membership.needs_join_prepare = True
                return False
        return True

    def _initiate_join(self) -> RequestFuture[bytes]:
        """Send JoinGroup, unless that was done and interrupted."""
        with self.membership.monitor:
            if self._join_future is None:
                self.membership.state = MemberState.PREPARING_REBALANCE
                self._join_future = self._join.send(self._request_timeout_ns)
            return self._join_future

    def _complete_join(self, assignment: bytes) -> None:
        """Hand out the assignment, unless the heartbeat thread has lost the generation since."""
        membership = self.membership
        with membership.monitor:
            generation, state = membership.generation, membership.state
        if generation.is_reset or state is not MemberState.STABLE:
            membership.reset(
                "rebalance failed since the generation/state was modified by heartbeat thread "
                "before the rebalance callback triggered"
            )
            self._join_future = None
            return
        self.on_join_complete(generation, assignment)
        # Only now: if a wakeup had ended the callback, it would be called again.
        self._join_future = None
        membership.needs_join_prepare = True

    def _handle_failed_join(self, error: KdiagError, deadline_ns: int) -> bool:
        """Decide whether to join again; return False if there is no time for it.

        Raises:
            KdiagError: if it would not help.
        """
        self._join_future = None
        name = error.error if isinstance(error, GroupError) else type(error).__name__
        if name != "MEMBER_ID_REQUIRED":
            self.membership.request_rejoin(f"rebalance failed due to {name}")
        if name in _JOIN_AGAIN_AT_ONCE:
            return True
        if not is_retriable(error):
            raise error
        now_ns = self.clock.monotonic_ns()
        if now_ns >= deadline_ns:
            return False
        until_ns = min(deadline_ns, now_ns + self.settings.retry_backoff_ns)
        self.client.await_condition(lambda: False, until_ns)
        return True

    def _handle_heartbeat(
        self, sent: Generation, body: HeartbeatResponse, future: RequestFuture[None]
    ) -> None:
        """Complete the future, or fail it if the member must do something."""
        error = error_name(body.error_code)
        membership = self.membership
        with membership.monitor:
            is_ignored = (error == "REBALANCE_IN_PROGRESS" and not self._is_stable()) or (
                error in _EXPELLED and membership.generation != sent
            )
            if is_moved("Heartbeat", error):
                self.lookup.mark_unknown()
            elif error == "REBALANCE_IN_PROGRESS" and not is_ignored:
                membership.request_rejoin("group is already rebalancing")
            elif error in _EXPELLED and not is_ignored:
                reason = f"encountered {error} from HEARTBEAT response"
                membership.reset(
                    reason,
                    keeps_member_id=error == "ILLEGAL_GENERATION",
                    end_reason=self._why_expelled(error),
                )
        if not body.error_code or is_ignored:
            future.complete(None)
        else:
            future.fail(refusal(self.settings, body.error_code, "Heartbeat"))

    def _why_expelled(self, error: str) -> str:
        """Return why the coordinator answers a heartbeat with an error, as far as that shows."""
        session_ms = self.settings.session_timeout_ns // NS_PER_MS
        if error != "UNKNOWN_MEMBER_ID":
            return refusal(self.settings, CODE_BY_NAME[error]).why
        if self.heartbeat.has_session_expired(self.clock.monotonic_ns()):
            return (
                "the coordinator had not heard of it for session.timeout.ms, which is "
                f"{session_ms}: it hung, or could not reach the coordinator"
            )
        return (
            "the coordinator has removed it, though its heartbeats came in time: a rebalance took "
            "it longer than max.poll.interval.ms, which is "
            f"{self.settings.max_poll_interval_ns // NS_PER_MS}, or an administrator has removed it"
        )

    def _is_stable(self) -> bool:
        return self.membership.state is MemberState.STABLE

    def _handle_leave(self, body: LeaveGroupResponse, future: RequestFuture[None]) -> None:
        """Complete the future if the one member has left."""
        codes = [body.error_code, *(each.error_code for each in body.members)]
        wrong = [code for code in codes if code]
        if len(body.members) > 1:
            why = f"LeaveGroup was asked about one member and answered about {len(body.members)}"
            future.fail(GroupError(self.settings.group_id, error_name(codes[0]), why))
        elif wrong:
            future.fail(refusal(self.settings, wrong[0]))
        else:
            future.complete(None)


def _leave_group(group_id: str, member_id: str, reason: str) -> RequestBuilder:
    """Return the request by which one member leaves."""

    def build(version: int) -> LeaveGroupRequest:
        if version < _FIRST_WITH_MEMBERS:
            return LeaveGroupRequest(group_id=group_id, member_id=member_id)
        identity = MemberIdentity(member_id=member_id, reason=cut_reason(reason))
        return LeaveGroupRequest(group_id=group_id, members=[identity])

    return RequestBuilder(API_BY_KEY[api_keys.LEAVE_GROUP], ALL_VERSIONS, build)
