from kdiag.pcap.kafka.response_walk import ResponseWalk
from kdiag.pcap.tcp.segments import Piece
from recordings.segment_tape import response


def pieces(*parts: bytes) -> list[Piece]:
    """Return byte strings as pieces."""
    return [Piece(part, len(part), 1, 1) for part in parts]


def is_proved(parts: list[Piece], *, is_over: bool = False) -> tuple[bool, int]:
    """Return whether a walk over the pieces, one more at a time, proves responses, and where."""
    walk = ResponseWalk(1 << 20)
    proved = False
    for count in range(1, len(parts) + 1):
        stop = sum(part.size for part in parts[:count])
        proved = walk.is_proved(parts[:count], stop, is_over=is_over and count == len(parts))
    return proved, walk.start


def test_three_responses_with_growing_ids_are_proof() -> None:
    """Two are, when nothing more comes."""
    frames = [response(5, b"abc"), response(6), response(9, bytes(300))]

    assert is_proved(pieces(*frames)) == (True, 0)
    assert is_proved(pieces(b"".join(frames)[:9], b"".join(frames)[9:])) == (True, 0)
    assert is_proved(pieces(*frames[:2])) == (False, 0)
    assert is_proved(pieces(*frames[:2]), is_over=True) == (True, 0)
    assert is_proved(pieces(frames[0]), is_over=True) == (False, 0)


def test_the_chain_may_start_with_any_segment() -> None:
    """What came before is the rest of something."""
    frames = [response(number) for number in (5, 6, 7)]

    assert is_proved(pieces(b"the rest", b"of one", *frames)) == (True, 14)


def test_ids_that_do_not_grow_or_grow_by_much_are_no_chain() -> None:
    """Nor are sizes that make no sense."""
    for numbers in [(5, 5, 5), (9, 8, 7), (1, 2000, 4000), (-3, -2, -1)]:
        assert not is_proved(pieces(*map(response, numbers)))[0]
    assert not is_proved(pieces(b"\0\0\0\3\0\0\0\1" * 9))[0]
    assert not is_proved(pieces(b"\x7f\0\0\0\0\0\0\1" * 9))[0]


def test_pieces_that_were_dropped_or_cut_restart_the_walk() -> None:
    """It goes on at the first piece that is there."""
    walk = ResponseWalk(1 << 20)
    frames = pieces(*(response(number) for number in (5, 6, 7)))
    assert not walk.is_proved(pieces(b"x"), 1)

    assert walk.is_proved(frames, 1000 + sum(frame.size for frame in frames))
    assert walk.start == 1000
    cut = [Piece(frame.data[:6], frame.size, 1, 1) for frame in frames]
    assert is_proved(cut) == (False, sum(frame.size for frame in frames))


def test_a_long_stream_of_something_else_is_given_up() -> None:
    """After some hundred segments nobody looks any more."""
    walk = ResponseWalk(1 << 20)
    noise = pieces(*[b"\xff" * 20] * 400)
    frames = pieces(*(response(number) for number in (5, 6, 7)))
    assert not walk.is_proved(noise, 8000)

    assert not walk.is_proved(noise + frames, 8000 + sum(frame.size for frame in frames))
