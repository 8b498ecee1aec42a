"""Ctrl-C between two pieces of output: it waits for the end of a piece, but not for long.

with Interruption() as interruption:
    while True:
        piece = wait_for_news()        # Ctrl-C ends this at once
        with interruption.postponed():
            print_it(piece)            # Ctrl-C waits until the piece is printed and noted,
            note(piece)                # or for a moment, if nobody reads the output
"""

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Timer
from typing import Any, Final, Self

_GRACE_S: Final = 0.3
"""How long the output of a piece may take after Ctrl-C."""


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
