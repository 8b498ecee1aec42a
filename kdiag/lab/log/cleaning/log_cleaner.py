"""When the logs of a broker are cleaned: the dirtiest that is due, one at a time, a step at a time.

    every 15 s        which log is due? the dirtiest of them
    every call        one step of its cleaning, of a few milliseconds, and back: requests go between
    at its end        up to where it is clean now goes to the checkpoint, and the next one follows

A log that turns out to be damaged is passed over until the broker starts again, and said once.

Source: Kafka's `LogCleaner.CleanerThread`, `LogCleanerManager` (uncleanable partitions).
"""

import logging
from typing import TYPE_CHECKING, Final

from kdiag.clock import NS_PER_S, Clock
from kdiag.lab.log.cleaning.cleaner import LogCleaning, dirtiest
from kdiag.lab.log.files.checkpoint import TopicPartition
from kdiag.lab.log.log_directory import LogDirectory
from kdiag.lab.log.refusal import LogFileError

if TYPE_CHECKING:
    from collections.abc import Iterator

LOG: Final = logging.getLogger(__name__)

BACKOFF_NS: Final = 15 * NS_PER_S
"""`log.cleaner.backoff.ms`: how long it rests when no log is due."""


class LogCleaner:
    """The cleaner of a broker's logs, which does a step with each call.

    Attributes:
        uncleanable: the logs that cannot be cleaned, with the reason.
        cleaned_count: how many cleanings there have been.
    """

    def __init__(self, logs: LogDirectory, clock: Clock) -> None:
        """Rest first.

        Args:
            logs: those of the broker.
            clock: tells when to look again.
        """
        self.uncleanable: dict[TopicPartition, LogFileError] = {}
        self.cleaned_count = 0
        self._logs = logs
        self._clock = clock
        self._next_ns = clock.monotonic_ns() + BACKOFF_NS
        self._running: _Running | None = None

    def __repr__(self) -> str:
        return f"<LogCleaner: {self.cleaned_count} cleanings>"

    def advance(self) -> int:
        """Do a step if one is due, and return when the next one is."""
        now_ns = self._clock.monotonic_ns()
        if now_ns < self._next_ns:
            return self._next_ns
        if self._running is None:
            self._running = self._begin()
        if self._running is None or not self._step(self._running):
            is_idle = self._running is None
            self._running = None
            self._next_ns = now_ns + BACKOFF_NS if is_idle else now_ns
        return self._next_ns

    def _begin(self) -> "_Running | None":
        """Return the cleaning of the log that needs it most; None if none is due."""
        logs = {key: log for key, log in self._logs.logs.items() if key not in self.uncleanable}
        found = dirtiest(logs, self._logs.cleaned_offsets, self._give_up)
        if found is None:
            return None
        key, part = found
        return _Running(key, LogCleaning(logs[key], part))

    def _step(self, running: "_Running") -> bool:
        """Do a step of a cleaning; return whether there are more."""
        if not running.is_of(self._logs):
            running.stop()  # the topic was deleted
            return False
        try:
            next(running.steps)
        except StopIteration:
            self._logs.cleaned_offsets[running.key] = running.cleaning.cleaned_offset
            self.cleaned_count += 1
            return False
        except LogFileError as error:
            self._give_up(running.key, error)
            return False
        return True

    def _give_up(self, key: TopicPartition, error: LogFileError) -> None:
        LOG.warning("%s-%d is not compacted any more: %s", *key, error)
        self.uncleanable[key] = error


class _Running:
    """A cleaning that has begun."""

    def __init__(self, key: TopicPartition, cleaning: LogCleaning) -> None:
        self.key = key
        self.cleaning = cleaning
        self.steps: Iterator[None] = cleaning.steps()

    def is_of(self, logs: LogDirectory) -> bool:
        """Return whether the log is still there."""
        return logs.logs.get(self.key) is self.cleaning.log

    def stop(self) -> None:
        """Leave the log as it is; what was written is removed."""
        self.steps = iter(())
