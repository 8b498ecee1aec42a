"""Delayed operations: completed exactly once, either by an event or by their timeout.

    try_complete          asks whether it can be completed now and, if so, calls force_complete
    force_complete        the first call completes it (`on_complete`); every later one is told False
    on_expiration         follows on_complete if it was the timeout that completed it

Whoever asks from outside holds the operation's lock: two threads that bring the last two events do
not both look before either has happened. The lock is re-entrant, for `try_complete` is asked under
it and completes under it.

    an event's thread                       the timer's thread
    safe_try_complete: lock                 run: not completed, waits for the lock
      try_complete: there is enough
        force_complete: is_completed
          on_complete: the response
    unlock                                  lock; completed already: neither on_complete nor
                                            on_expiration

Source: Kafka's `DelayedOperation`, release 4.x (one lock, no try-lock: apache/kafka#17842).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable
from threading import RLock
from typing import TYPE_CHECKING

from kdiag.lab.timer.system_timer import SystemTimer

if TYPE_CHECKING:
    from kdiag.lab.timer.wheel import TimerTask


class DelayedOperation(ABC):
    """Something that waits.

    Attributes:
        delay_ns: how long it waits at the most, once it is watched.
        lock: is held by whoever tries to complete it.
        is_completed: whether `on_complete` was called, or is being called.
    """

    def __init__(self, delay_ns: int) -> None:
        """Begin to wait for nothing yet."""
        self.delay_ns = delay_ns
        self.lock = RLock()
        self.is_completed = False
        self._timeout: TimerTask | None = None

    @abstractmethod
    def try_complete(self) -> bool:
        """Return `force_complete()` if the operation can be completed now, else False."""

    @abstractmethod
    def on_complete(self) -> None:
        """Finish the operation; it is called exactly once, whatever the reason."""

    @abstractmethod
    def on_expiration(self) -> None:
        """Record that its time was up; it is called after `on_complete`, if that was the reason."""

    def force_complete(self) -> bool:
        """Complete it, unless it is; return whether this call has done so."""
        return not self.is_completed and self._complete_once()

    def safe_try_complete(self) -> bool:
        """Try to complete it under its lock; return whether this call has done so."""
        if self.is_completed:
            return False
        with self.lock:
            return self.try_complete()

    def safe_try_complete_or_else(self, otherwise: Callable[[], object]) -> bool:
        """Try to complete it under its lock; if it cannot be, do something and try again.

        Args:
            otherwise: makes sure that no later event is missed; the second try is for those that
                came before it was done.
        """
        with self.lock:
            if self.try_complete():
                return True
            otherwise()
            return self.try_complete()

    def expire_after(self, timer: SystemTimer) -> None:
        """Start its timeout; nothing is left of it if the operation is completed."""
        self._timeout = timer.add(self.delay_ns, self._expire)
        if self.is_completed:  # maybe by another thread, which found no timeout to cancel
            self.cancel()

    def cancel(self) -> None:
        """Stop its timeout; the operation is not completed by this."""
        if self._timeout is not None:
            self._timeout.cancel()

    def _complete_once(self) -> bool:
        with self.lock:
            if self.is_completed:
                return False
            self.is_completed = True
            self.cancel()
            self.on_complete()
            return True

    def _expire(self) -> None:
        if self.force_complete():
            self.on_expiration()
