import itertools

import pytest

from kdiag.net.mute import MuteEvent, MuteState, next_mute_state

VALID = {
    (MuteState.MUTED, MuteEvent.REQUEST_RECEIVED),
    (MuteState.MUTED_AND_RESPONSE_PENDING, MuteEvent.RESPONSE_SENT),
    (MuteState.MUTED_AND_RESPONSE_PENDING, MuteEvent.THROTTLE_STARTED),
    (MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING, MuteEvent.RESPONSE_SENT),
    (MuteState.MUTED_AND_THROTTLED_AND_RESPONSE_PENDING, MuteEvent.THROTTLE_ENDED),
    (MuteState.MUTED_AND_THROTTLED, MuteEvent.THROTTLE_ENDED),
}


def follow(*events: MuteEvent) -> MuteState:
    """Return the state of a muted channel after some events."""
    state = MuteState.MUTED
    for event in events:
        state = next_mute_state(state, event)
    return state


def test_a_request_is_worked_on_until_its_response_is_sent() -> None:
    """Then the channel is only muted, and can be un-muted."""
    received = follow(MuteEvent.REQUEST_RECEIVED)

    assert received is MuteState.MUTED_AND_RESPONSE_PENDING
    assert next_mute_state(received, MuteEvent.RESPONSE_SENT) is MuteState.MUTED


def test_a_throttled_request_ends_with_both_response_and_throttle() -> None:
    """In whatever order the response is sent and the throttle ends."""
    throttled = (MuteEvent.REQUEST_RECEIVED, MuteEvent.THROTTLE_STARTED)
    sent, ended = MuteEvent.RESPONSE_SENT, MuteEvent.THROTTLE_ENDED

    assert follow(*throttled, sent) is MuteState.MUTED_AND_THROTTLED
    assert follow(*throttled, ended) is MuteState.MUTED_AND_RESPONSE_PENDING
    assert follow(*throttled, sent, ended) is MuteState.MUTED
    assert follow(*throttled, ended, sent) is MuteState.MUTED


@pytest.mark.parametrize(
    ("state", "event"), sorted(set(itertools.product(MuteState, MuteEvent)) - VALID, key=str)
)
def test_no_other_event_can_happen(state: MuteState, event: MuteEvent) -> None:
    """The error names the event and the state."""
    with pytest.raises(ValueError, match=f"{event.name} cannot happen to .* {state.name}$"):
        next_mute_state(state, event)
