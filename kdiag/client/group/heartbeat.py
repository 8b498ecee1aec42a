"""The timers of a member: when its next heartbeat is due, and when it is too late.

    heartbeat   when to send the next one, `heartbeat.interval.ms` after the last
    session     how long the coordinator may be silent; then it is looked for again
    poll        how long the program may do without polling; then the member leaves

A failed heartbeat is repeated after a backoff that grows. Nothing here reads a clock: every
`now_ns` reads the same monotonic one, and never goes back.

Source: Kafka's `Heartbeat`; KIP-62 (the poll timer).
"""

from kdiag.client.group.member import MemberSettings
from kdiag.client.network.backoff import ExponentialBackoff


class Heartbeat:
    """Three deadlines, each of which something puts off.

    Attributes:
        last_sent_ns: when the last heartbeat was sent; None before the first.
        is_in_flight: whether it has no answer yet.
        interval_ns: from one heartbeat to the next.
    """

    def __init__(self, settings: MemberSettings, now_ns: int) -> None:
        """Start all timers.

        Raises:
            ConfigError: if heartbeats come no more often than sessions end.
        """
        settings.check()
        self._settings = settings
        self._backoff = ExponentialBackoff(
            settings.retry_backoff_ns, settings.retry_backoff_max_ns, jitter=settings.jitter
        )
        self._failures = 0
        self._due_ns = 0
        self._session_end_ns = 0
        self._poll_by_ns = 0
        self.last_sent_ns: int | None = None
        self.is_in_flight = False
        self.interval_ns = settings.heartbeat_interval_ns
        self.reset_timeouts(now_ns)

    def poll(self, now_ns: int) -> None:
        """Record that the program lives."""
        self._poll_by_ns = now_ns + self._settings.max_poll_interval_ns

    def sent_heartbeat(self, now_ns: int) -> None:
        """Record that a heartbeat was sent; the next is due after the interval."""
        self.last_sent_ns = now_ns
        self.is_in_flight = True
        self._due_ns = now_ns + self.interval_ns

    def fail_heartbeat(self, now_ns: int) -> None:
        """Record that it failed; the next is due after the backoff."""
        self.is_in_flight = False
        self._due_ns = now_ns + self._backoff.after(self._failures)
        self._failures += 1

    def receive_heartbeat(self, now_ns: int) -> None:
        """Record that the coordinator answered."""
        self.is_in_flight = False
        self._failures = 0
        self.reset_session_timeout(now_ns)

    def reset_timeouts(self, now_ns: int) -> None:
        """Start all timers again."""
        self._due_ns = now_ns + self.interval_ns
        self.reset_session_timeout(now_ns)
        self.poll(now_ns)

    def reset_session_timeout(self, now_ns: int) -> None:
        """Start the session's timer again; the others go on."""
        self._session_end_ns = now_ns + self._settings.session_timeout_ns

    def should_heartbeat(self, now_ns: int) -> bool:
        """Return whether the next heartbeat is due."""
        return now_ns >= self._due_ns

    def ns_to_next_heartbeat(self, now_ns: int) -> int:
        """Return how long until the next heartbeat is due; never negative."""
        return max(0, self._due_ns - now_ns)

    def has_session_expired(self, now_ns: int) -> bool:
        """Return whether the coordinator was silent for too long."""
        return now_ns >= self._session_end_ns

    def has_poll_expired(self, now_ns: int) -> bool:
        """Return whether the program has not polled for too long."""
        return now_ns >= self._poll_by_ns
