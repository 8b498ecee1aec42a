"""When to ask for metadata again.

An update is due at once when somebody requests one, and in any case when the last is too old. Two
backoffs keep that from turning into a loop: one grows with failed attempts, the other with answers
that told nothing new, as when a partition has lost its leader and every answer still names it.

Source: Kafka's `Metadata`; KIP-580 (exponential backoff).
"""

from typing import Final, NamedTuple

from kdiag.client.network.backoff import ExponentialBackoff

_MS: Final = 1_000_000


class RefreshTimes(NamedTuple):
    """How often metadata may and must be asked for; the defaults are Kafka's own.

    Attributes:
        max_age_ns: `metadata.max.age.ms`.
        retry_backoff_ns, retry_backoff_max_ns: `retry.backoff.ms` and its maximum.
        jitter: by which part of itself a backoff may differ.
    """

    max_age_ns: int = 300_000 * _MS
    retry_backoff_ns: int = 100 * _MS
    retry_backoff_max_ns: int = 1_000 * _MS
    jitter: float = 0.2


class MetadataRefresh:
    """Knows when the next update is due; every `now_ns` reads one monotonic clock."""

    def __init__(self, times: RefreshTimes | None = None) -> None:
        times = times or RefreshTimes()
        self._max_age_ns = times.max_age_ns
        self._backoff = ExponentialBackoff(
            times.retry_backoff_ns, times.retry_backoff_max_ns, jitter=times.jitter
        )
        self._is_requested = True
        self._last_update_ns: int | None = None
        self._not_before_ns = 0
        self._failures = 0
        self._equivalents = 0

    @property
    def is_requested(self) -> bool:
        """Return whether somebody waits for an update."""
        return self._is_requested

    def request_update(self, *, reset_equivalents: bool = False) -> None:
        """Want an update as soon as the backoffs allow.

        Args:
            reset_equivalents: whether something new is to be expected, so that answers which told
                nothing new count no longer.
        """
        self._is_requested = True
        if reset_equivalents:
            self._equivalents = 0
            if not self._failures:
                self._not_before_ns = 0

    def succeeded(self, now_ns: int, *, is_equivalent: bool) -> None:
        """Take an answer; `is_equivalent` tells that it says nothing new to who requested it."""
        was_requested = self._is_requested
        self._is_requested = False
        self._last_update_ns = now_ns
        self._failures = 0
        self._equivalents = self._equivalents + 1 if is_equivalent and was_requested else 0
        self._back_off(now_ns, self._equivalents)

    def failed(self, now_ns: int) -> None:
        """Take that an attempt brought no usable answer."""
        self._failures += 1
        self._back_off(now_ns, self._failures)

    def delay_ns(self, now_ns: int) -> int:
        """Return how long to wait before the next update is due; 0 is now."""
        due_ns = 0
        if not self._is_requested and self._last_update_ns is not None:
            due_ns = self._last_update_ns + self._max_age_ns
        return max(0, due_ns - now_ns, self._not_before_ns - now_ns)

    def _back_off(self, now_ns: int, attempts: int) -> None:
        """Allow the next attempt after the backoff for that many useless ones."""
        self._not_before_ns = now_ns + self._backoff.after(attempts - 1) if attempts else 0
