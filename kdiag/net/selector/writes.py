"""Writing: the sends of a selector, from their begin to their end.

Source: Kafka's `Selector` (`send`, `attemptWrite`, `failedSends`).
"""

from kdiag.net.channel import Channel, ChannelState
from kdiag.net.selector.disconnection import Disconnection
from kdiag.net.selector.metrics import SelectorMetrics
from kdiag.net.send import NetworkSend


class Writing:
    """The writing side of a selector.

    Attributes:
        completed: sends of which the system has every byte.
    """

    def __init__(self, metrics: SelectorMetrics) -> None:
        self.completed: list[NetworkSend] = []
        self._metrics = metrics
        self._failed: dict[str, Disconnection] = {}

    def begin(self) -> None:
        """Begin the next poll."""
        self.completed = []

    def send(self, channel: Channel, send: NetworkSend) -> None:
        """Begin a send.

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
        """Note that a send cannot be begun, for the next poll to tell."""
        self._failed[channel.id] = Disconnection.of(channel)

    def has_failed(self, channel: Channel) -> bool:
        """Return, once, whether a send could not be begun on a channel that is being closed."""
        return self._failed.pop(channel.id, None) is not None

    def take_failed(self) -> dict[str, Disconnection]:
        """Return, once, the channels that ended because a send could not be begun."""
        failed, self._failed = self._failed, {}
        return failed

    def go_on(self, channel: Channel) -> None:
        """Write what a channel's transport takes.

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
