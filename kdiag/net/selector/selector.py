"""The selector: many channels, driven by one `poll`.

Each `poll` waits until sockets are ready, connects, authenticates, reads and writes as far as each
channel can, and leaves the results in four lists, which stand until the next `poll`:

    selector.connect("1", address)
    while "1" not in selector.connected:
        selector.poll(timeout_ns)
    selector.send(NetworkSend("1", [frame]))
    while not selector.completed_receives:
        selector.poll(timeout_ns)
    selector.completed_receives[0].payload

A channel gives at most one receive in a `poll`, so requests of one connection keep their order
whoever handles them. Only the wait is in the machine's own time; every deadline is in the clock's.

Only `wakeup` may be called from another thread than the one that polls.

`register`, `mute` and `unmute`, `clear_completed_sends` and `clear_completed_receives`,
`lowest_priority_channel` and `set_client_software` are a broker's side (`kdiag.net.server`).

Source: Kafka's `Selector`.
"""

import socket
from collections.abc import Callable
from contextlib import ExitStack, suppress
from enum import Enum, auto
from typing import Final, NamedTuple

from kdiag.clock import Clock
from kdiag.errors import AuthenticationError, KdiagError
from kdiag.net.address import Address, host_and_port
from kdiag.net.channel import Channel, ChannelState, Disconnection
from kdiag.net.memory_pool import UNLIMITED, MemoryPool
from kdiag.net.receive import NetworkReceive
from kdiag.net.selector.frame_deadlines import NO_DEADLINE
from kdiag.net.selector.idle import IdleExpiry
from kdiag.net.selector.metrics import SelectorMetrics
from kdiag.net.selector.poller import READ, WRITE, Poller
from kdiag.net.selector.reads import SelectorReads
from kdiag.net.selector.writes import SelectorWrites
from kdiag.net.send import NetworkSend
from kdiag.net.tcp.sockets import SYSTEM_DEFAULT, configure, peer_of, start_connect
from kdiag.wire.frame import DEFAULT_MAX_FRAME_BYTES

MakeChannel = Callable[[str, socket.socket, str, str], Channel]
"""Makes a channel from its id, a socket, the peer (`host:port`) and the peer's host; may raise."""
NEVER: Final = -1
"""The `max_idle_ns` of a selector that keeps idle connections."""

_FAILURES: Final = (OSError, KdiagError)


class SelectorSettings(NamedTuple):
    """The sizes and times that a selector is made with.

    Attributes:
        max_idle_ns: how long a connection may be unused before it is closed; `NEVER` keeps it.
        max_receive_bytes: the largest frame that is not refused.
        pool: the memory for incoming frames.
        max_frame_ns: how long a frame may make no progress before its connection is closed
            (`FrameDeadlines`).
        send_buffer_bytes: SO_SNDBUF, or `SYSTEM_DEFAULT`.
        receive_buffer_bytes: SO_RCVBUF, or `SYSTEM_DEFAULT`.
        failed_authentication_delay_ns: how long a server lets a client wait for its refusal.
    """

    max_idle_ns: int = NEVER
    max_receive_bytes: int = DEFAULT_MAX_FRAME_BYTES
    pool: MemoryPool = UNLIMITED
    max_frame_ns: int = NO_DEADLINE
    send_buffer_bytes: int = SYSTEM_DEFAULT
    receive_buffer_bytes: int = SYSTEM_DEFAULT
    failed_authentication_delay_ns: int = 0


DEFAULT_SETTINGS: Final = SelectorSettings()


class CloseMode(Enum):
    """The ways to close a channel: its last frames may be handed out, its end may be reported."""

    GRACEFUL = auto()
    """Frames that have arrived are handed out first; then it is in `disconnected`."""
    NOTIFY_ONLY = auto()
    """It is in `disconnected` at once."""
    DISCARD_NO_NOTIFY = auto()
    """It is not reported: it was closed from here."""


class Selector:
    """Channels, and the results of the last `poll`.

    Attributes:
        connected: ids of channels whose connect succeeded, and that are still there.
        disconnected: channel id -> how it ended; not for those closed from here.
        metrics: counters.
    """

    _start_connect = staticmethod(start_connect)

    def __init__(
        self,
        clock: Clock,
        *,
        make_channel: MakeChannel,
        settings: SelectorSettings = DEFAULT_SETTINGS,
    ) -> None:
        """Begin without channels.

        Args:
            clock: for idle connections, and for the delay before a refusal.
            make_channel: makes the channel of a new socket.
            settings: sizes and times.
        """
        self.connected: list[str] = []
        self.disconnected: dict[str, Disconnection] = {}
        self.metrics = SelectorMetrics()
        self._clock = clock
        self._make_channel = make_channel
        self._settings = settings
        self._poller = Poller()
        self._reads = SelectorReads(
            settings.max_receive_bytes, settings.pool, self.metrics, settings.max_frame_ns
        )
        self._writes = SelectorWrites(self.metrics)
        self._channels: dict[str, Channel] = {}
        self._closing: dict[str, Channel] = {}
        self._immediately_connected: set[str] = set()
        self._refused_until_ns: dict[str, int] = {}
        self._idle = IdleExpiry(settings.max_idle_ns, clock.monotonic_ns())

    def __repr__(self) -> str:
        return f"<Selector of {len(self._channels)} channels, {len(self._closing)} closing>"

    def connect(self, channel_id: str, address: Address) -> None:
        """Start to connect; the id will be in `connected` or in `disconnected`.

        Raises:
            ValueError: if the id is in use.
            OSError: if it failed at once; nothing is left of it.
        """
        self._check_unused(channel_id)
        sock = socket.socket(address.family, socket.SOCK_STREAM)
        with ExitStack() as on_error:
            on_error.callback(sock.close)
            self._configure(sock)
            is_connected = self._start_connect(sock, address)
            channel = self._make_channel(channel_id, sock, address.peer, address.host)
            if is_connected:
                self._immediately_connected.add(channel_id)
            self._add(channel)
            on_error.pop_all()

    def register(self, channel_id: str, sock: socket.socket) -> None:
        """Take over a connected socket, such as one that a server has accepted.

        Raises:
            ValueError: if the id is in use.
            OSError: if it is no longer connected; it is closed then.
        """
        self._check_unused(channel_id)
        with ExitStack() as on_error:
            on_error.callback(sock.close)
            self._configure(sock)
            host, port = peer_of(sock)
            channel = self._make_channel(channel_id, sock, host_and_port(host, port), host)
            channel.finish_connect()
            self._add(channel)
            on_error.pop_all()
        self.metrics.connections_created += 1

    def send(self, send: NetworkSend) -> None:
        """Start to send a frame; the following polls write it.

        On a channel that is being closed it fails, and the next poll puts it in `disconnected`.

        Raises:
            ValueError: if there is no such channel.
            RuntimeError: if the channel's last send is still under way; it is closed then.
        """
        channel = self._channel(send.channel_id)
        if channel.id in self._closing:
            self._writes.fail(channel)
            return
        try:
            self._writes.send(channel, send)
        except RuntimeError:
            self._close(channel, CloseMode.DISCARD_NO_NOTIFY)
            raise
        self._watch(channel)

    def poll(self, timeout_ns: int | None) -> None:
        """Wait until a channel is ready, process all that are, and keep the results.

        Args:
            timeout_ns: how long to wait at the most, in the machine's own time; 0 does not wait,
                None waits for ever or until `wakeup`.

        Raises:
            ValueError: if the timeout is negative.
        """
        if timeout_ns is not None and timeout_ns < 0:
            raise ValueError(f"a timeout of {timeout_ns} ns is negative")
        for channel in self._reads.recover_memory(self._channels.values()):
            self._watch(channel)
        is_busy = self._reads.can_drain or bool(self._immediately_connected)
        self._clear()
        is_busy |= bool(self.completed_receives or self.disconnected)
        ready = self._poller.wait(0 if is_busy else timeout_ns)
        self.metrics.select_count += 1
        now_ns = self._clock.monotonic_ns()
        for channel_id, events in self._channels_to_process(ready):
            self._idle.touch(channel_id, now_ns)
            self._process(self._channels[channel_id], events, now_ns)
        self._close_refused()
        self._close_expired(now_ns)

    def wakeup(self) -> None:
        """End a `poll` that waits, or the next one; safe from any thread."""
        self._poller.wakeup()

    @property
    def completed_sends(self) -> list[NetworkSend]:
        """Return the sends of which the system has every byte."""
        return self._writes.completed

    @property
    def completed_receives(self) -> list[NetworkReceive]:
        """Return the frames that arrived, at most one of each channel; their user closes them."""
        return self._reads.completed

    def clear_completed_sends(self) -> None:
        """Drop the completed sends, before the next `poll` does."""
        self._writes.begin_poll()

    def clear_completed_receives(self) -> None:
        """Drop the completed receives, before the next `poll` does; they are not closed."""
        self._reads.clear_completed()

    def mute(self, channel_id: str) -> None:
        """Stop reading a channel until it is un-muted.

        Raises:
            ValueError: if there is no such channel.
        """
        channel = self._channel(channel_id)
        self._reads.mute(channel)
        self._watch(channel)

    def unmute(self, channel_id: str) -> None:
        """Read a channel again, unless it waits for a response or for the end of a throttle.

        Raises:
            ValueError: if there is no such channel.
        """
        channel = self._channel(channel_id)
        self._reads.unmute(channel)
        if channel_id in self._closing:
            self._reads.drop_buffered(channel)
        self._watch(channel)

    def mute_all(self) -> None:
        """Stop reading every channel."""
        for channel_id in self._channels:
            self.mute(channel_id)

    def unmute_all(self) -> None:
        """Read every channel again, as `unmute` does."""
        for channel_id in self._channels:
            self.unmute(channel_id)

    @property
    def channels(self) -> list[Channel]:
        """Return the channels that are not being closed."""
        return list(self._channels.values())

    def channel(self, channel_id: str) -> Channel | None:
        """Return a channel, if there is one that is not being closed."""
        return self._channels.get(channel_id)

    def closing_channel(self, channel_id: str) -> Channel | None:
        """Return a channel that is being closed, whose last receives are still handed out."""
        return self._closing.get(channel_id)

    def is_channel_ready(self, channel_id: str) -> bool:
        """Return whether frames can be sent on a channel and received from it."""
        channel = self._channels.get(channel_id)
        return channel is not None and channel.is_ready

    def lowest_priority_channel(self) -> Channel | None:
        """Return the channel that a server would close first: one being closed, or the idlest."""
        for channel in self._closing.values():
            return channel
        oldest = self._idle.least_recently_used
        return None if oldest is None else self._channels[oldest]

    def set_client_software(self, channel_id: str, name: str, version: str) -> None:
        """Record the software that a channel's client says it is (KIP-511), for the metrics.

        Raises:
            ValueError: if there is no such channel.
        """
        channel = self._channel(channel_id)
        self.metrics.remove_client(channel.client_software)
        channel.client_software = (name, version)
        self.metrics.add_client(channel.client_software)

    def close_channel(self, channel_id: str, mode: CloseMode = CloseMode.DISCARD_NO_NOTIFY) -> None:
        """Close a channel if there is one; otherwise do nothing."""
        channel = self._channels.get(channel_id)
        if channel is not None:
            if mode is CloseMode.DISCARD_NO_NOTIFY:
                channel.state = ChannelState.LOCAL_CLOSE
            self._close(channel, mode)
        elif mode is not CloseMode.GRACEFUL and channel_id in self._closing:
            self._end(self._closing.pop(channel_id), is_notified=mode is CloseMode.NOTIFY_ONLY)

    def close(self) -> None:
        """Close every channel, though one may fail, and stop watching.

        Raises:
            Exception: whatever a channel raised; the others are closed nevertheless.
        """
        with ExitStack() as closing:
            closing.callback(self._poller.close)
            for channel_id in (*self._channels, *self._closing):
                closing.callback(self.close_channel, channel_id)

    def _configure(self, sock: socket.socket) -> None:
        settings = self._settings
        configure(
            sock,
            send_buffer_bytes=settings.send_buffer_bytes,
            receive_buffer_bytes=settings.receive_buffer_bytes,
        )

    def _check_unused(self, channel_id: str) -> None:
        for channels, what in ((self._channels, "open"), (self._closing, "being closed")):
            if channel_id in channels:
                raise ValueError(f"a channel with the id {channel_id} is {what}")

    def _channel(self, channel_id: str) -> Channel:
        channel = self._channels.get(channel_id) or self._closing.get(channel_id)
        if channel is None:
            raise ValueError(f"no channel has the id {channel_id}")
        return channel

    def _add(self, channel: Channel) -> None:
        if channel.id not in self._immediately_connected:
            self._watch(channel)
        self._channels[channel.id] = channel
        self._idle.touch(channel.id, self._clock.monotonic_ns())

    def _watch(self, channel: Channel) -> None:
        """Watch a channel for reading, writing, both or nothing, as it needs now."""
        events = 0
        if channel.id in self._closing or channel.id in self._refused_until_ns:
            return
        if channel.is_connected and not channel.is_muted:
            events |= READ
        if channel.wants_write:
            events |= WRITE
        self._poller.watch(channel.id, channel.transport.fileno(), events)

    def _clear(self) -> None:
        """Forget the results of the last poll, and drain the channels that are being closed."""
        self.connected = []
        self.disconnected = {}
        self._reads.begin_poll()
        self._writes.begin_poll()
        for channel in list(self._closing.values()):
            if self._writes.pop_failure(channel) or not self._reads.drain_closing(channel):
                del self._closing[channel.id]
                self._end(channel, is_notified=True)
        self.disconnected |= self._writes.pop_failures()

    def _channels_to_process(self, ready: dict[str, int]) -> list[tuple[str, int]]:
        """Return channels with their events: those that already hold bytes come first."""
        buffered = [(channel_id, 0) for channel_id in self._reads.pop_buffered(ready)]
        immediate = [(channel_id, 0) for channel_id in self._immediately_connected]
        self._immediately_connected = set()
        return [*buffered, *self._reads.in_turn(ready), *immediate]

    def _process(self, channel: Channel, events: int, now_ns: int) -> None:
        """Connect, authenticate, read and write, as far as the channel can."""
        try:
            self._prepare(channel)
            if events & WRITE and channel.maybe_begin_client_reauthentication():
                self._prepare(channel)
            self._reads.read(channel, is_readable=bool(events & READ))
        except _FAILURES as error:
            self._fail(channel, error, CloseMode.GRACEFUL)
            return
        try:
            if events & WRITE:
                self._writes.write(channel)
        except _FAILURES as error:
            self._fail(channel, error, CloseMode.NOTIFY_ONLY)
            return
        self._reads.observe_progress(channel, now_ns)
        self._watch(channel)

    def _prepare(self, channel: Channel) -> None:
        if not channel.is_connected:
            channel.finish_connect()
            self.connected.append(channel.id)
            self.metrics.connections_created += 1
        if not channel.is_ready and channel.prepare():
            self.metrics.authentications += channel.successful_authentications == 1
            self.metrics.reauthentications += channel.successful_authentications > 1

    def _fail(self, channel: Channel, error: Exception, mode: CloseMode) -> None:
        channel.error = error
        if isinstance(error, AuthenticationError):
            self.metrics.failed_authentications += 1
            if channel.is_authenticating:
                delay_ns = self._settings.failed_authentication_delay_ns
                self._poller.forget(channel.id)
                self._refused_until_ns[channel.id] = self._clock.monotonic_ns() + delay_ns
                return
        self._close(channel, mode)

    def _close_refused(self) -> None:
        """Report their failure to peers that were refused, after the delay, and close them."""
        now_ns = self._clock.monotonic_ns()
        due = [each for each, until_ns in self._refused_until_ns.items() if until_ns <= now_ns]
        for channel_id in due:
            channel = self._channels[channel_id]
            with suppress(OSError):  # it is closed either way
                channel.authenticator.handle_authentication_failure(channel.transport)
            self._close(channel, CloseMode.GRACEFUL)

    def _close_expired(self, now_ns: int) -> None:
        """Close what was idle for too long, and frames that make no progress."""
        expired = self._reads.pop_overdue(now_ns)
        channel_id = self._idle.expired(now_ns)
        if channel_id is not None:
            expired.append(self._channels[channel_id])
        for channel in expired:
            if channel.id in self._channels:  # it may be both
                channel.state = ChannelState.EXPIRED
                self._close(channel, CloseMode.GRACEFUL)

    def _close(self, channel: Channel, mode: CloseMode) -> None:
        """Take an open channel out of every list, and end it unless it has frames to hand out."""
        self.connected = [each for each in self.connected if each != channel.id]
        self._poller.forget(channel.id)
        self._idle.remove(channel.id)
        self._reads.drop_buffered(channel)
        self._immediately_connected.discard(channel.id)
        self._refused_until_ns.pop(channel.id, None)
        del self._channels[channel.id]
        if mode is CloseMode.GRACEFUL and self._reads.drain_closing(channel):
            self._closing[channel.id] = channel
        else:
            self._end(channel, is_notified=mode is not CloseMode.DISCARD_NO_NOTIFY)

    def _end(self, channel: Channel, *, is_notified: bool) -> None:
        self._reads.forget(channel)
        self.metrics.connections_closed += 1
        self.metrics.remove_client(channel.client_software)
        if is_notified:
            self.disconnected[channel.id] = Disconnection.of(channel)
        channel.close()
