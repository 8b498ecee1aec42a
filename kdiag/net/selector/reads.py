"""The reading side of a selector: which channels are read in a poll, and which frames arrived.

- A channel gives at most one receive in a poll.
- A transport may hold bytes that the system no longer sees (TLS). Such a channel is read in the
  next poll without waiting, but only if the last one made progress: bytes that nothing can be done
  with yet must not keep the processor busy.
- A channel for which there is no memory mutes itself until the pool has some again. One that was
  muted explicitly stays muted. Both serve a broker: a client neither mutes channels nor
  limits memory.

Source: Kafka's `Selector` (`attemptRead`, `keysWithBufferedRead`, `madeReadProgressLastPoll`).
"""

from collections.abc import Iterable
from contextlib import suppress
from typing import Final

from kdiag.errors import KdiagError
from kdiag.net.channel import Channel, ChannelState
from kdiag.net.memory_pool import MemoryPool
from kdiag.net.receive import NetworkReceive
from kdiag.net.selector.frame_deadlines import NO_DEADLINE, FrameDeadlines
from kdiag.net.selector.metrics import SelectorMetrics

_LOW_MEMORY_DIVISOR: Final = 10


class SelectorReads:
    """The channels that a selector reads, and the frames that arrived.

    Attributes:
        completed: frames that arrived, at most one for each channel.
    """

    def __init__(
        self,
        max_receive_bytes: int,
        pool: MemoryPool,
        metrics: SelectorMetrics,
        max_frame_ns: int = NO_DEADLINE,
    ) -> None:
        """Begin without channels.

        Args:
            max_receive_bytes: the largest frame that is not refused.
            pool: the memory for incoming frames.
            metrics: counts bytes and frames.
            max_frame_ns: as `FrameDeadlines`.
        """
        self.completed: list[NetworkReceive] = []
        self._max_receive_bytes = max_receive_bytes
        self._pool = pool
        self._metrics = metrics
        self._deadlines = FrameDeadlines(max_frame_ns)
        self._completed_ids: set[str] = set()
        self._buffered: dict[str, None] = {}  # ordered, unlike a set
        self._explicitly_muted: set[str] = set()
        self._is_out_of_memory = False
        self._made_progress = True

    @property
    def can_drain(self) -> bool:
        """Return whether buffered bytes can be read without waiting."""
        return self._made_progress and bool(self._buffered)

    def clear_completed(self) -> None:
        """Drop what arrived; each channel can give the next frame."""
        self.completed = []
        self._completed_ids = set()

    def begin_poll(self) -> None:
        """Forget the results of the last poll."""
        self.clear_completed()
        self._made_progress = False

    def pop_buffered(self, ready: dict[str, int]) -> list[str]:
        """Return, once, the channels that hold bytes and are not ready anyway."""
        buffered = [channel_id for channel_id in self._buffered if channel_id not in ready]
        self._buffered = {}
        return buffered

    def in_turn(self, ready: dict[str, int]) -> list[tuple[str, int]]:
        """Return the ready channels in turn: while memory is short, another one is first."""
        turn = list(ready.items())
        pool = self._pool
        if turn and pool.size_bytes is not None and pool.available_bytes is not None:
            is_low = pool.available_bytes < pool.size_bytes // _LOW_MEMORY_DIVISOR
            first = self._metrics.select_count % len(turn) if is_low else 0
            turn = turn[first:] + turn[:first]
        return turn

    def read(self, channel: Channel, *, is_readable: bool) -> None:
        """Read from a channel, unless it is muted or has given a frame in this poll.

        Raises:
            OSError, KdiagError: as `Channel.read`.
        """
        if channel.id in self._explicitly_muted:
            return
        response = channel.authenticator.poll_response()
        if response is not None:
            self._complete(response)
            self._keep_buffered(channel)  # there may be another
        can_read = channel.is_ready and (is_readable or channel.has_bytes_buffered)
        if can_read and channel.id not in self._completed_ids:
            self._attempt_read(channel)
        if channel.has_bytes_buffered:
            self._buffered[channel.id] = None

    def drain_closing(self, channel: Channel) -> bool:
        """Read from a channel that is being closed; return whether it has a frame to hand out."""
        if channel.state is not ChannelState.READY:
            return False
        if channel.id in self._explicitly_muted or channel.id in self._completed_ids:
            return True
        with suppress(OSError, KdiagError):  # why it ends is known already
            while self._attempt_read(channel) and channel.id not in self._completed_ids:
                pass  # a large frame takes several reads, though all of it may be here
        return channel.id in self._completed_ids

    def mute(self, channel: Channel) -> None:
        """Stop reading a channel until it is un-muted."""
        channel.mute()
        self._explicitly_muted.add(channel.id)
        self._buffered.pop(channel.id, None)

    def unmute(self, channel: Channel) -> None:
        """Read a channel again, unless it waits for a response or for the end of a throttle."""
        if channel.maybe_unmute():
            self._explicitly_muted.discard(channel.id)
            if channel.has_bytes_buffered:
                self._keep_buffered(channel)

    def recover_memory(self, channels: Iterable[Channel]) -> list[Channel]:
        """Un-mute the channels that lacked memory, once there is some; return those un-muted."""
        if not self._is_out_of_memory or self._pool.is_out_of_memory:
            return []
        self._is_out_of_memory = False
        self._made_progress = True
        return [
            channel
            for channel in channels
            if channel.waits_for_memory
            and channel.id not in self._explicitly_muted
            and channel.maybe_unmute()
        ]

    def drop_buffered(self, channel: Channel) -> None:
        """Forget that a channel holds bytes: it is closing from now on."""
        self._buffered.pop(channel.id, None)

    def forget(self, channel: Channel) -> None:
        """Forget a channel that is closed."""
        self.drop_buffered(channel)
        self._explicitly_muted.discard(channel.id)
        self._deadlines.forget(channel.id)

    def observe_progress(self, channel: Channel, now_ns: int) -> None:
        """Note how far the frame of a channel is, of its login as well, after a read."""
        self._deadlines.observe(channel, now_ns)

    def pop_overdue(self, now_ns: int) -> list[Channel]:
        """Return, once, the channels whose frame makes no progress, with the error of each."""
        return self._deadlines.pop_overdue(now_ns, self._explicitly_muted)

    def _keep_buffered(self, channel: Channel) -> None:
        self._buffered[channel.id] = None
        self._made_progress = True

    def _attempt_read(self, channel: Channel) -> int:
        """Read once and return how many bytes."""
        count = channel.read(self._max_receive_bytes, self._pool)
        self._metrics.bytes_received += count
        self._made_progress |= count > 0
        self._is_out_of_memory |= channel.is_muted
        receive = channel.maybe_complete_receive()
        if receive is not None:
            self._complete(receive)
        return count

    def _complete(self, receive: NetworkReceive) -> None:
        self.completed.append(receive)
        self._completed_ids.add(receive.channel_id)
        self._metrics.receives += 1
