"""Idle expiry: which connection was unused for so long that it is to be closed.

Source: Kafka's `Selector.IdleExpiryManager`; `connections.max.idle.ms`.
"""


class IdleExpiry:
    """Connections in the order of their last use; each check names one at the most.

    With a limit of 10, `a` used at 0 and `b` at 4: nothing before 11; then `a`, if it was not used
    since. After `a` is removed, nothing before 15; then `b`.
    """

    def __init__(self, max_idle_ns: int, now_ns: int) -> None:
        """Begin without connections.

        Args:
            max_idle_ns: how long a connection may be unused; negative is for ever.
            now_ns: the time on a monotonic clock, which the other methods use as well.
        """
        self._max_idle_ns = max_idle_ns
        self._next_check_ns = now_ns + max_idle_ns
        self._last_use_ns: dict[str, int] = {}

    def touch(self, channel_id: str, now_ns: int) -> None:
        """Note that a connection was used."""
        self._last_use_ns.pop(channel_id, None)
        self._last_use_ns[channel_id] = now_ns

    def remove(self, channel_id: str) -> None:
        """Forget a connection, known or not."""
        self._last_use_ns.pop(channel_id, None)

    @property
    def least_recently_used(self) -> str | None:
        """Return the connection that was not used for the longest time."""
        return next(iter(self._last_use_ns), None)

    def expired(self, now_ns: int) -> str | None:
        """Return the connection that has been idle too long; None if there is none."""
        if self._max_idle_ns < 0 or now_ns <= self._next_check_ns:
            return None
        oldest = self.least_recently_used
        last_use_ns = now_ns if oldest is None else self._last_use_ns[oldest]
        self._next_check_ns = last_use_ns + self._max_idle_ns
        return oldest if now_ns > self._next_check_ns else None
