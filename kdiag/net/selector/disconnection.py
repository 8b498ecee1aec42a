"""Disconnections: how channels are closed, and what is told of it."""

from enum import Enum, auto
from typing import NamedTuple, Self

from kdiag.net.channel import Channel, ChannelState


class CloseMode(Enum):
    """What happens to what a closed channel still holds, and who is told."""

    GRACEFUL = auto()
    """Frames that have arrived are handed out first; then it is in `disconnected`."""
    NOTIFY_ONLY = auto()
    """It is in `disconnected` at once."""
    DISCARD_NO_NOTIFY = auto()
    """Nobody is told: it was closed from here."""


class Disconnection(NamedTuple):
    """The end of a channel.

    Attributes:
        state: how far it had come, or why it was closed.
        error: what ended it; None where nothing went wrong (an idle connection).
        peer: `host:port` of the other end.
    """

    state: ChannelState
    error: Exception | None
    peer: str

    @classmethod
    def of(cls, channel: Channel) -> Self:
        """Return how a channel has ended."""
        return cls(channel.state, channel.error, channel.peer)
