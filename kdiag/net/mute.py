"""Muting: why a channel is not read, as a table of states and events.

A server mutes a channel while it works on the channel's request, so that requests of one connection
are answered in their order, and while it throttles the client. Only a channel that waits for
neither can be un-muted.

Source: Kafka's `KafkaChannel.ChannelMuteState` and `ChannelMuteEvent`.
"""

from enum import Enum, auto
from typing import Final


class MuteState(Enum):
    """Whether a channel is read, and if not, what it waits for."""

    NOT_MUTED = auto()
    MUTED = auto()
    MUTED_AND_RESPONSE_PENDING = auto()
    MUTED_AND_THROTTLED = auto()
    MUTED_AND_THROTTLED_AND_RESPONSE_PENDING = auto()


class MuteEvent(Enum):
    """What happens to the request of a muted channel."""

    REQUEST_RECEIVED = auto()
    RESPONSE_SENT = auto()
    THROTTLE_STARTED = auto()
    THROTTLE_ENDED = auto()


_NEXT: Final = {
    (MuteState.MUTED, MuteEvent.REQUEST_RECEIVED): MuteState.MUTED_AND_RESPONSE_PENDING,
    (MuteState.MUTED_AND_RESPONSE_PENDING, MuteEvent.RESPONSE_SENT): MuteState.MUTED,
    (
        MuteState.MUTED_AND_RESPONSE_PENDING,
        MuteEvent.THROTTLE_STARTED,
    ): MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING,
    (
        MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING,
        MuteEvent.RESPONSE_SENT,
    ): MuteState.MUTED_AND_THROTTLED,
    (
        MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING,
        MuteEvent.THROTTLE_ENDED,
    ): MuteState.MUTED_AND_RESPONSE_PENDING,
    (MuteState.MUTED_AND_THROTTLED, MuteEvent.THROTTLE_ENDED): MuteState.MUTED,
}


def next_mute_state(state: MuteState, event: MuteEvent) -> MuteState:
    """Return the state after an event.

    Raises:
        ValueError: if the event cannot happen in the state.
    """
    try:
        return _NEXT[state, event]
    except KeyError:
        raise ValueError(f"{event.name} cannot happen to a channel that is {state.name}") from None
