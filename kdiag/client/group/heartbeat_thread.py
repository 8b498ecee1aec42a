"""The heartbeat thread: keeps a member in its group while its program is busy elsewhere.

    DISABLED    until the member has joined, and while it joins again: it waits
    ENABLED     it sends heartbeats, looks for a coordinator that is lost, and leaves the group
                when the program has not polled for too long
    CLOSED      it has ended, as it was told to, or because of `failure`

It shares the member's ConsumerNetworkClient, and polls it only when nobody else does. Everything
that it does, it does with the member's lock, which it gives away whenever it waits. It never calls
the rebalance listener, and never raises: `failure` is for the thread that polls the member.

Source: Kafka's `AbstractCoordinator.HeartbeatThread`; KIP-62.
"""

from enum import Enum, auto
from threading import Thread
from typing import Any, Protocol

from kdiag.client.group.coordinator_lookup import Coordinated
from kdiag.client.group.heartbeat import Heartbeat
from kdiag.client.request_future import RequestFuture
from kdiag.clock import NS_PER_S
from kdiag.errors import GroupError, KdiagError


class HeartbeatState(Enum):
    """What a heartbeat thread does."""

    DISABLED = auto()
    ENABLED = auto()
    CLOSED = auto()


class HeartbeatOwner(Coordinated, Protocol):
    """The member whose heartbeats a thread sends.

    Attributes:
        heartbeat: its timers.
    """

    heartbeat: Heartbeat

    def send_heartbeat(self) -> RequestFuture[None]:
        """Send a heartbeat."""
        ...

    def handle_poll_timeout(self) -> None:
        """Leave the group: the program has not polled for too long."""
        ...


class HeartbeatThread:
    """Sends the heartbeats of one member.

    Attributes:
        state: what it does.
        failure: why it ended, or must; None if all is well.
    """

    def __init__(self, owner: HeartbeatOwner) -> None:
        self._owner = owner
        self._monitor = owner.membership.monitor
        name = f"kdiag-heartbeat-{owner.settings.group_id}"
        self._thread = Thread(target=self._run, name=name, daemon=True)
        self.state = HeartbeatState.DISABLED
        self.failure: Exception | None = None

    def start(self) -> None:
        """Start it; it waits until it is enabled."""
        self._thread.start()

    def enable(self) -> None:
        """Let it send heartbeats, the first one after the interval."""
        with self._monitor:
            if self.state is not HeartbeatState.CLOSED:
                self.state = HeartbeatState.ENABLED
            self._owner.heartbeat.reset_timeouts(self._now_ns())
            self._monitor.notify_all()

    def close(self) -> None:
        """Let it end."""
        with self._monitor:
            self.state = HeartbeatState.CLOSED
            self._monitor.notify_all()

    def join(self) -> None:
        """Wait until it has ended; not to be called with the lock, which it needs for that."""
        self._thread.join()

    def _run(self) -> None:
        """Do one thing after another until it is closed."""
        try:
            while self._does_more():
                pass
        except Exception as error:  # noqa: BLE001 - raised by the thread that polls the member
            self.failure = error
        self.state = HeartbeatState.CLOSED

    def _does_more(self) -> bool:
        """Do what is to be done now, or wait; return False if it is closed."""
        with self._monitor:
            if self.state is HeartbeatState.CLOSED:
                return False
            if self.state is HeartbeatState.DISABLED:
                self._monitor.wait()
            elif self.failure is not None or self._owner.membership.state.has_not_joined:
                self.state = HeartbeatState.DISABLED
            else:
                self._attend()
            return True

    def _attend(self) -> None:
        """Do whatever the member needs most."""
        owner, heartbeat = self._owner, self._owner.heartbeat
        owner.client.poll_if_free()
        now_ns = self._now_ns()
        if owner.lookup.is_unknown:
            self._look_for_coordinator()
        elif heartbeat.has_session_expired(now_ns):
            owner.lookup.mark_unknown()
        elif heartbeat.has_poll_expired(now_ns):
            owner.handle_poll_timeout()
        elif not heartbeat.should_heartbeat(now_ns):
            self._wait()
        else:
            heartbeat.sent_heartbeat(now_ns)
            owner.send_heartbeat().add_listener(self._handle_heartbeat)

    def _look_for_coordinator(self) -> None:
        """Ask for the coordinator, and drop the answer if it did not help."""
        if self._owner.lookup.is_pending:
            self._owner.lookup.clear_future()
        else:
            self._owner.lookup.lookup()
        self._wait()

    def _wait(self) -> None:
        """Give the lock away until it is notified, or for the backoff."""
        self._monitor.wait(self._owner.settings.retry_backoff_ns / NS_PER_S)

    def _handle_heartbeat(self, future: RequestFuture[Any]) -> None:
        """Set the timers by how a heartbeat ended."""
        heartbeat = self._owner.heartbeat
        with self._monitor:
            error = future.error() if future.failed else None
            if error is None or _has_error(error, "REBALANCE_IN_PROGRESS"):
                heartbeat.receive_heartbeat(self._now_ns())
            elif _has_error(error, "FENCED_INSTANCE_ID"):
                self.failure = error
            else:
                heartbeat.fail_heartbeat(self._now_ns())
                self._monitor.notify_all()

    def _now_ns(self) -> int:
        return self._owner.clock.monotonic_ns()


def _has_error(error: KdiagError, name: str) -> bool:
    """Return whether an error is one of Kafka's, by name."""
    return isinstance(error, GroupError) and error.error == name
