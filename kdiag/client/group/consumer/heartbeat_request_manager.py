"""Heartbeats of a member by the consumer protocol: when they are sent, and what answers mean.

One is sent at a time: at the interval that the broker says, at once where something is to be
acknowledged, and after a backoff where the last one failed.

    FENCED_MEMBER_EPOCH, UNKNOWN_MEMBER_ID     the member joins again, its partitions are lost
    NOT_COORDINATOR and the like               the coordinator is looked for
    TOPIC_AUTHORIZATION_FAILED                 raised by the next poll; heartbeats go on
    everything else that lasts                 the member is refused for good

Source: Kafka's `AbstractHeartbeatRequestManager`, `ConsumerHeartbeatRequestManager`.
"""

from functools import partial
from typing import Final

from kdiag.client.error_reactions import is_moved
from kdiag.client.group.consumer.membership_manager import ConsumerMembershipManager
from kdiag.client.group.consumer.sent_fields import SentFields
from kdiag.client.group.coordinator_lookup import Coordinated
from kdiag.client.group.heartbeat import Heartbeat
from kdiag.client.group.refusals import refusal
from kdiag.client.request_future import RequestFuture, is_retriable
from kdiag.clock import NS_PER_MS
from kdiag.errors import AuthorizationError, GroupError, KdiagError, UnsupportedVersionError
from kdiag.wire.api.consumer_group_heartbeat import ConsumerGroupHeartbeatResponse
from kdiag.wire.error_code import error_name

_FENCED: Final = frozenset({"FENCED_MEMBER_EPOCH", "UNKNOWN_MEMBER_ID"})
_NOT_SPOKEN: Final = (
    "the broker does not speak the consumer protocol (KIP-848): that needs Kafka 4.0, after an "
    "upgrade the feature group.version=1, and consumer among the broker's "
    "group.coordinator.rebalance.protocols; use the classic protocol"
)


class ConsumerHeartbeat(Heartbeat):
    """The timers of a member that has one heartbeat in flight at most."""

    def __init__(
        self, member: Coordinated, manager: ConsumerMembershipManager, least_ns: int
    ) -> None:
        """Start all timers.

        Args:
            member: whose settings count, but for the interval.
            manager: knows whether the next heartbeat is urgent.
            least_ns: the shortest interval, whatever the broker says.
        """
        super().__init__(member.settings, member.clock.monotonic_ns())
        self._manager = manager
        self._least_ns = least_ns

    def should_heartbeat(self, now_ns: int) -> bool:
        """Return whether the next heartbeat is due, or must not wait until it is."""
        if self.is_in_flight:
            return False
        is_urgent = self._manager.state.is_urgent and not self._failures
        return is_urgent or super().should_heartbeat(now_ns)

    def reset_timeouts(self, now_ns: int) -> None:
        """Start all timers again, as one that has not failed."""
        self._failures = 0
        super().reset_timeouts(now_ns)

    def follow_interval(self, interval_ns: int) -> None:
        """Send heartbeats as often as the broker says, from the last one on."""
        self.interval_ns = max(interval_ns, self._least_ns)
        if self.last_sent_ns is not None:
            self._due_ns = self.last_sent_ns + self.interval_ns


class ConsumerHeartbeatRequestManager:
    """Sends the heartbeats of one member.

    Attributes:
        heartbeat: the timers.
    """

    def __init__(self, member: Coordinated, manager: ConsumerMembershipManager) -> None:
        self._lookup = member.lookup
        self._monitor = member.membership.monitor
        self._settings = settings = member.settings
        self._manager = manager
        self._sent = SentFields(settings)
        self.heartbeat = ConsumerHeartbeat(member, manager, settings.retry_backoff_ns)

    def send(self) -> RequestFuture[None]:
        """Send a heartbeat."""
        manager = self._manager
        with self._monitor:
            attempt = manager.attempt
            request = self._sent.next(manager.fields())
            manager.on_heartbeat_generated()
        future = self._lookup.send(request, partial(self._handle, attempt))
        future.add_listener(partial(self._handle_failure, attempt))
        return future

    def send_leave(self) -> RequestFuture[None]:
        """Send the last heartbeat; nothing depends on its answer."""
        with self._monitor:
            request = self._sent.leave(self._manager.fields())
        return self._lookup.send(request, lambda _, future: future.complete(None))

    def _handle(
        self, attempt: int, body: ConsumerGroupHeartbeatResponse, future: RequestFuture[None]
    ) -> None:
        """Use an answer, unless the member has joined again since the heartbeat was sent."""
        manager = self._manager
        with self._monitor:
            error = None if not body.error_code else self._error_of(body)
            if attempt == manager.attempt:
                if error is None:
                    self.heartbeat.follow_interval(body.heartbeat_interval_ms * NS_PER_MS)
                    manager.on_heartbeat_success(body)
                else:
                    self._handle_error(error_name(body.error_code), error)
        if error is None:
            future.complete(None)
        else:
            future.fail(error)

    def _handle_error(self, name: str, error: KdiagError) -> None:
        """Do what an error code asks for."""
        if is_moved("ConsumerGroupHeartbeat", name):
            self._lookup.mark_unknown()
        elif name in _FENCED:
            self._manager.fence(self._why_fenced())
        elif name == "TOPIC_AUTHORIZATION_FAILED":
            self._manager.tell(error)
        elif not is_retriable(error):
            self._manager.fail(error)

    def _handle_failure(self, attempt: int, future: RequestFuture[None]) -> None:
        """Tell everything again after a heartbeat of which nobody knows whether it came."""
        if not future.failed:
            return
        error = future.error()
        with self._monitor:
            self._sent.reset()
            if isinstance(error, UnsupportedVersionError):
                error = self._not_spoken()
            is_new = not isinstance(error, GroupError | AuthorizationError)
            if is_new and not is_retriable(error) and attempt == self._manager.attempt:
                self._manager.fail(error)

    def _error_of(self, body: ConsumerGroupHeartbeatResponse) -> KdiagError:
        """Return the error of an answer, with what the broker says itself."""
        name = error_name(body.error_code)
        said = f"; the broker says: {body.error_message}" if body.error_message else ""
        if name == "UNSUPPORTED_VERSION":
            return self._not_spoken(said)
        if name == "TOPIC_AUTHORIZATION_FAILED":
            return AuthorizationError(
                f"group {self._settings.group_id}: the user may not see a topic that it reads; "
                f"allow the operation DESCRIBE on it{said}"
            )
        error = refusal(self._settings, body.error_code)
        return GroupError(
            error.group_id, error.error, error.why + said, is_retriable=error.is_retriable
        )

    def _why_fenced(self) -> str:
        """Return why a member may be fenced; the broker does not say which it was."""
        limit_ms = self._settings.max_poll_interval_ns // NS_PER_MS
        return (
            "the coordinator has removed it: it had not heard of it for the broker's "
            "group.consumer.session.timeout.ms, or it took longer than max.poll.interval.ms, which "
            f"is {limit_ms}, to give up partitions, or an administrator has removed it"
        )

    def _not_spoken(self, said: str = "") -> UnsupportedVersionError:
        return UnsupportedVersionError(f"group {self._settings.group_id}: {_NOT_SPOKEN}{said}")
