import pytest

from kdiag.wire.frame import DEFAULT_MAX_FRAME_BYTES, LENGTH_BYTES
from recordings.exchange_maker import cut_frame, whole_frame


def test_a_frame_is_whole_when_all_bytes_that_it_states_are_there() -> None:
    """An empty frame is whole too."""
    assert whole_frame(b"12345678").is_whole
    assert whole_frame(b"").is_whole


@pytest.mark.parametrize("kept", [0, 1, 7])
def test_a_frame_with_a_hole_is_not_whole(kept: int) -> None:
    """The bytes before the hole are kept, the rest is counted."""
    frame = cut_frame(b"12345678", kept)

    assert not frame.is_whole
    assert len(frame.data) + frame.gap_bytes == frame.size == 8


def test_the_limits_are_kafkas_own() -> None:
    """The length is an int32; a broker refuses requests beyond 100 MiB by default."""
    assert LENGTH_BYTES == 4
    assert DEFAULT_MAX_FRAME_BYTES == 104_857_600
