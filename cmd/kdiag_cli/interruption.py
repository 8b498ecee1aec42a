"""What ends the work of a command: Ctrl-C between two pieces of output, and `--timeout`.

Ctrl-C waits for the end of a piece, but not for long:

with Interruption() as interruption:
    while True:
        piece = wait_for_news()        # Ctrl-C ends this at once
        with interruption.postponed():
            print_it(piece)            # Ctrl-C waits until the piece is printed and noted,
            note(piece)                # or for a moment, if nobody reads the output
"""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Event, Thread, Timer
from typing import Any, Final, Self

from kdiag.clock import NS_PER_S

_GRACE_S: Final = 0.3
"""How long the output of a piece may take after Ctrl-C."""
_NOTICE_S: Final = 0.25
"""How long a command has to notice that its time is up, and to end besides what it cleans up."""
_LAST_S: Final = 1.0
"""How long one that has noticed may still run beyond that, on a machine that stood still."""


class TimeUp(BaseException):
    """The time of the command is up; like KeyboardInterrupt, only the frame catches it."""


class Interruption:
    """Handles SIGINT in the main thread while the `with` block runs."""

    def __init__(self, grace_s: float = _GRACE_S) -> None:
        self._grace_s = grace_s
        self._is_postponed = False
        self._is_due = False
        self._before: Any = None

    def __enter__(self) -> Self:
        """Install the handler."""
        self._before = signal.signal(signal.SIGINT, self._handle_signal)
        return self

    def __exit__(self, *_: object) -> None:
        """Restore the handler of before."""
        signal.signal(signal.SIGINT, self._before)

    @contextmanager
    def postponed(self) -> Iterator[None]:
        """Postpone an interruption to the end of the block.

        Raises:
            KeyboardInterrupt: at the end of the block, or inside it once the grace is over.
        """
        self._is_postponed = True
        try:
            yield
        finally:
            self._is_postponed = False
        if self._is_due:
            raise KeyboardInterrupt

    def _handle_signal(self, *_: object) -> None:
        if not self._is_postponed or self._is_due:
            raise KeyboardInterrupt
        self._is_due = True
        timer = Timer(self._grace_s, self._insist)
        timer.daemon = True
        timer.start()

    def _insist(self) -> None:
        """Interrupt a block that still runs: it waits for a reader who does not read."""
        if self._is_postponed:
            os.kill(os.getpid(), signal.SIGINT)


def timeout_text(timeout_ns: int | None) -> str:
    """Return the line on stderr of a command whose time is up."""
    return f"gave up after {(timeout_ns or 0) / NS_PER_S:g} s (--timeout)"


@contextmanager
def limited(timeout_ns: int | None, report: Callable[[], int], cleanup_ns: int) -> Iterator[None]:
    """Raise TimeUp when the time is up; if that does not help, report it and end the program.

    A signal interrupts whatever Python waits for, but not the C library while it looks up a name;
    then only the end of the process keeps the promise. An exception that is raised in a finalizer
    is lost, so it is raised again.

    Args:
        timeout_ns: the longest that the block may take; None for ever.
        report: says that the time is up, and returns the exit code.
        cleanup_ns: how long the block may clean up after that.
    """
    if timeout_ns is None:
        yield
        return
    seconds, cleanup_s = timeout_ns / 1e9, cleanup_ns / 1e9
    is_noticed = False
    ended = Event()

    def raise_time_up(*_: Any) -> None:
        nonlocal is_noticed
        is_noticed = True
        signal.setitimer(signal.ITIMER_REAL, cleanup_s + _NOTICE_S)  # from now on, if it gets lost
        raise TimeUp

    def insist() -> None:
        if ended.wait(seconds) or ended.wait(_NOTICE_S):
            return
        if is_noticed and ended.wait(cleanup_s + _LAST_S):
            return
        os._exit(report())

    before = signal.signal(signal.SIGALRM, raise_time_up)
    Thread(target=insist, daemon=True).start()
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        ended.set()
        signal.signal(signal.SIGALRM, before)
