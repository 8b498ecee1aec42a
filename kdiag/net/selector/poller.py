"""The poller: asks the operating system which sockets can be read or written.

It is Python's `selectors` by channel id, without registrations for nothing (which `selectors`
refuses), and another thread can end its wait.
"""

import selectors
import socket
from contextlib import suppress
from typing import Final

from kdiag.clock import NS_PER_S

READ: Final = selectors.EVENT_READ
WRITE: Final = selectors.EVENT_WRITE
_LONGEST_WAIT_NS: Final = 3600 * NS_PER_S
"""`epoll` refuses waits of more than 24 days; whoever waits for so long can ask again."""
_WAKEUP_BYTES: Final = 4096


class Poller:
    """The sockets of a selector, and the events that each is watched for."""

    def __init__(self) -> None:
        self._selector = selectors.DefaultSelector()
        self._watched: dict[str, tuple[int, int]] = {}
        self._wakeup_reader, self._wakeup_writer = socket.socketpair()
        self._wakeup_reader.settimeout(0)
        self._wakeup_writer.settimeout(0)
        self._selector.register(self._wakeup_reader, READ, None)

    def watch(self, channel_id: str, fileno: int, events: int) -> None:
        """Watch a socket for `READ`, `WRITE`, both, or from now on for nothing."""
        watched = self._watched.get(channel_id)
        if watched is None:
            if events:
                self._selector.register(fileno, events, channel_id)
                self._watched[channel_id] = fileno, events
        elif not events:
            self.forget(channel_id)
        elif watched[1] != events:
            self._selector.modify(fileno, events, channel_id)
            self._watched[channel_id] = fileno, events

    def forget(self, channel_id: str) -> None:
        """Stop watching a socket, before it is closed; nothing to do if it was not watched."""
        watched = self._watched.pop(channel_id, None)
        if watched is not None:
            # `modify` forgets a socket if a signal's handler raises while it is at work.
            with suppress(KeyError):
                self._selector.unregister(watched[0])

    def wait(self, timeout_ns: int | None) -> dict[str, int]:
        """Return which of the watched sockets are ready for what; wait until one is.

        Args:
            timeout_ns: how long to wait at the most, in the machine's own time; None is for ever.

        Returns:
            channel id -> `READ`, `WRITE` or both.
        """
        timeout_s = None
        if timeout_ns is not None:
            timeout_s = min(timeout_ns, _LONGEST_WAIT_NS) / NS_PER_S
        ready = {key.data: events for key, events in self._selector.select(timeout_s)}
        if ready.pop(None, 0):
            self._wakeup_reader.recv(_WAKEUP_BYTES)
        return ready

    def wakeup(self) -> None:
        """End the wait of another thread, or the next one of this; safe from any thread."""
        with suppress(OSError):  # it is full of wake-ups already, or nothing waits any more
            self._wakeup_writer.send(b"\0")

    def close(self) -> None:
        """Stop watching everything."""
        self._selector.close()
        self._wakeup_reader.close()
        self._wakeup_writer.close()
