"""The writing side of a selector: sends, from their start to their completion.

Source: Kafka's `Selector` (`send`, `attemptWrite`, `failedSends`).
"""

from kdiag.net.channel import Channel, ChannelState, Disconnection
from kdiag.net.selector.metrics import SelectorMetrics
from kdiag.net.send import NetworkSend


class SelectorWrites:
    """The sends that a selector writes.

    Attributes:
        completed: sends of which the system has every byte.
    """

    def __init__(self, metrics: SelectorMetrics) -> None:
        self.completed: list[NetworkSend] = []
        self._metrics = metrics
        self._failed: dict[str, Disconnection] = {}

    def begin_poll(self) -> None:
        """Forget the results of the last poll."""
        self.completed = []

    def send(self, channel: Channel, send: NetworkSend) -> None:
        """Start a send.

        Raises:
            RuntimeError: if the channel's last send is still under way; it must be closed then.
        """
        try:
            channel.set_send(send)
        except RuntimeError as error:
            channel.state, channel.error = ChannelState.FAILED_SEND, error
            self.fail(channel)
            raise

    def fail(self, channel: Channel) -> None:
        """Record a send that could not be started; the next poll reports it."""
        self._failed[channel.id] = Disconnection.of(channel)

    def pop_failure(self, channel: Channel) -> bool:
        """Return, once, whether a send could not be started on a channel being closed."""
        return self._failed.pop(channel.id, None) is not None

    def pop_failures(self) -> dict[str, Disconnection]:
        """Return, once, the channels that ended because a send could not be started."""
        failed, self._failed = self._failed, {}
        return failed

    def write(self, channel: Channel) -> None:
        """Write what a channel's transport accepts.

        Raises:
            AuthenticationError: if the peer refuses us after the handshake.
            OSError: if the connection broke.
        """
        if channel.has_send and channel.is_ready:
            self._metrics.bytes_sent += channel.write()
            send = channel.maybe_complete_send()
            if send is not None:
                self.completed.append(send)
                self._metrics.sends += 1
        elif channel.transport.has_pending_writes:
            channel.transport.flush()
