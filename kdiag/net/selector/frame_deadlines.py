"""Frame deadlines: which frame was begun and makes no progress, so that its connection is closed.

With a deadline of 30 s and 512 KiB, of a frame that claims 100 MiB:

    8 bytes at 0 s, nothing since         overdue at 30 s
    a byte each second                    overdue at 30 s
    512 KiB each 20 s                     never: each half megabyte begins a new 30 s

A frame of the login counts as any other. The time in which a channel is muted on purpose does not
count; the time in which it waits for memory does, or frames that wait for each other's memory would
wait for ever.

Kafka has no such deadline: there an unfinished frame lasts as long as its connection is not idle.
"""

from collections.abc import Container
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.errors import ConnectError, Fault, Layer
from kdiag.net.channel import Channel
from kdiag.net.receive import NetworkReceive

PROGRESS_BYTES: Final = 512 * 1024
"""So many bytes of a frame begin its time anew."""
NO_DEADLINE: Final = -1


class _Progress(NamedTuple):
    """An unfinished frame, and how much of it had arrived at the last progress that counts."""

    channel: Channel
    receive: NetworkReceive
    at_bytes: int
    since_ns: int

    @property
    def is_outrun(self) -> bool:
        return self.receive.received_bytes - self.at_bytes >= PROGRESS_BYTES


class FrameDeadlines:
    """The unfinished frames of a selector, and since when each has made no progress."""

    def __init__(self, max_frame_ns: int = NO_DEADLINE) -> None:
        """Begin without frames.

        Args:
            max_frame_ns: how long a frame may take, or 512 KiB of it; `NO_DEADLINE` is for ever.
        """
        self._max_frame_ns = max_frame_ns
        self._next_check_ns = 0
        self._unfinished: dict[str, _Progress] = {}

    def observe(self, channel: Channel, now_ns: int) -> None:
        """Note what a channel has read; to be called after each read of it."""
        if self._max_frame_ns < 0:
            return
        receive = channel.receive if channel.is_ready else channel.authenticator.receive
        if receive is None or receive.first_byte_ns is None or receive.is_completed:
            self.forget(channel.id)
            return
        before = self._unfinished.get(channel.id)
        if before is None or before.receive is not receive or before.is_outrun:
            now = _Progress(channel, receive, receive.received_bytes, now_ns)
            self._unfinished[channel.id] = now

    def forget(self, channel_id: str) -> None:
        """Forget a channel, known or not."""
        self._unfinished.pop(channel_id, None)

    def pop_overdue(self, now_ns: int, muted: Container[str]) -> list[Channel]:
        """Return, once, the channels to be closed, with the error that ends each.

        It looks at most once a second: a selector polls much more often.

        Args:
            now_ns: the time on the clock of `observe`.
            muted: the ids of channels that are not read on purpose.
        """
        if not self._unfinished or now_ns < self._next_check_ns:
            return []
        self._next_check_ns = now_ns + NS_PER_S
        overdue = []
        for channel_id, progress in [*self._unfinished.items()]:
            if channel_id in muted:
                self._unfinished[channel_id] = progress._replace(since_ns=now_ns)
            elif now_ns - progress.since_ns >= self._max_frame_ns:
                self.forget(channel_id)
                progress.channel.error = self._error(progress)
                overdue.append(progress.channel)
        return overdue

    def _error(self, progress: _Progress) -> ConnectError:
        receive = progress.receive
        size = "an unknown number of" if receive.size is None else receive.size
        why = (
            f"a frame is unfinished, and {self._max_frame_ns // NS_PER_S} s brought too little of "
            f"it: {receive.received_bytes} of {size} bytes have arrived"
        )
        return ConnectError(progress.channel.peer, Layer.KAFKA, why, fault=Fault.SILENT)
