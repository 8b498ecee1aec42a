"""A purgatory: delayed operations by the keys of what they wait for, and their timeouts.

An operation is watched under several keys, and completed under one of them: the others still list
it. A list drops those when its key is checked next; the lists whose keys are never checked again
are purged once so many operations may lie there that it is worth the while. With an interval of
1000, 5 operations that wait and 1100 that were added since the last purge:

    estimated 1100, delayed 5      1100 - 5 > 1000: purge every list, and begin anew with 5

Kafka spreads its lists over 512 locks. Here one lock guards all of them: it is held for single
steps only, never while an operation is tried.

Source: Kafka's `DelayedOperationPurgatory`.
"""

from collections.abc import Hashable, Iterable
from threading import Lock
from typing import Final, Generic, TypeVar

from kdiag.lab.purgatory.delayed_operation import DelayedOperation
from kdiag.lab.timer.system_timer import SystemTimer

PURGE_INTERVAL: Final = 1000

D = TypeVar("D", bound=DelayedOperation)


class DelayedOperationPurgatory(Generic[D]):
    """Operations that wait.

    Attributes:
        name: of what waits, such as `Fetch`.
        timer: holds their timeouts, and no others.
    """

    def __init__(
        self, name: str, timer: SystemTimer, *, purge_interval: int = PURGE_INTERVAL
    ) -> None:
        """Begin without operations.

        Args:
            name: of what waits.
            timer: one of its own: its length counts the operations that wait.
            purge_interval: how many completed operations may stay in lists.
        """
        self.name = name
        self.timer = timer
        self._purge_interval = purge_interval
        self._watchers: dict[Hashable, dict[D, None]] = {}
        self._lock = Lock()
        self._estimated_total = 0

    def __repr__(self) -> str:
        return f"<DelayedOperationPurgatory {self.name}: {self.delayed_count} wait>"

    @property
    def watched_count(self) -> int:
        """Return how long all lists are together: completed operations may still be in them."""
        with self._lock:
            return sum(map(len, self._watchers.values()))

    @property
    def delayed_count(self) -> int:
        """Return how many operations wait."""
        return len(self.timer)

    def try_complete_else_watch(self, operation: D, keys: Iterable[Hashable]) -> bool:
        """Complete an operation now, or watch it under its keys; return whether it was completed.

        It is tried once more when it is in every list, so that no event is missed in between. Its
        lock is held all the time, or an event of another thread could need it while it holds what
        the operation needs (KAFKA-8334).

        Raises:
            ValueError: if there are no keys.
        """
        listed = tuple(keys)
        if not listed:
            raise ValueError("an operation without keys would wait for nothing")
        if operation.safe_try_complete_or_else(lambda: self._watch(operation, listed)):
            return True
        operation.expire_after(self.timer)
        return False

    def check_and_complete(self, key: Hashable) -> int:
        """Complete the operations of a key that can be; return how many this call has completed.

        Hold no lock that an operation needs. One that raises keeps no other from being completed.

        Raises:
            Exception: whatever the first that failed raised.
        """
        with self._lock:
            watched = list(self._watchers.get(key, ()))
        completed: list[D] = []
        errors: list[Exception] = []
        for operation in watched:
            try:
                if operation.safe_try_complete():
                    completed.append(operation)
            except Exception as error:  # noqa: BLE001 - others must be tried; it is raised below
                errors.append(error)
        self._drop(key, [each for each in watched if each.is_completed])
        if errors:
            raise errors[0]
        return len(completed)

    def cancel_for_key(self, key: Hashable) -> list[D]:
        """Stop watching the operations of a key, and return them; they are not completed."""
        with self._lock:
            cancelled = list(self._watchers.pop(key, ()))
        for operation in cancelled:
            operation.cancel()
        return cancelled

    def advance(self) -> int:
        """Complete the operations whose time is up, and return how many there were."""
        expired = self.timer.advance()
        delayed = self.delayed_count
        if self._estimated_total - delayed > self._purge_interval:
            self._estimated_total = delayed
            self._purge()
        return expired

    def _watch(self, operation: D, keys: tuple[Hashable, ...]) -> None:
        for key in keys:
            if operation.is_completed:
                break
            with self._lock:
                self._watchers.setdefault(key, {})[operation] = None
        with self._lock:
            self._estimated_total += 1

    def _drop(self, key: Hashable, done: Iterable[D]) -> None:
        """Remove operations from the list of a key, and the key if none is left."""
        with self._lock:
            watched = self._watchers.get(key)
            if watched is None:
                return
            for operation in done:
                watched.pop(operation, None)
            if not watched:
                del self._watchers[key]

    def _purge(self) -> None:
        with self._lock:
            lists = [(key, list(watched)) for key, watched in self._watchers.items()]
        for key, watched in lists:
            self._drop(key, [each for each in watched if each.is_completed])
