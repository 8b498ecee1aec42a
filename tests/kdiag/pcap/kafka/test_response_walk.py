import struct

import pytest

from kdiag.pcap.kafka.response_walk import ResponseWalk
from kdiag.pcap.tcp.segments import Piece
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseTopic
from kdiag.wire.codec.messages import encode
from recordings.segment_tape import response

STAT = struct.pack(">qqqqiiiqiiq", 2, 2, 1_700_000_000_000, 1_700_000_000_000, 0, 0, 0, 0, 3, 0, 2)


def long_response(correlation_id: int) -> bytes:
    """Return the frame of a Metadata response that names a topic."""
    body = MetadataResponse(topics=[MetadataResponseTopic(name="t" * 80)])
    return response(correlation_id, encode(body, 5))


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
    frames = [response(5), response(6), long_response(9)]

    assert is_proved(pieces(*frames)) == (True, 0)
    assert is_proved(pieces(b"".join(frames)[:9], b"".join(frames)[9:])) == (True, 0)
    assert is_proved(pieces(*frames[:2])) == (False, 0)
    assert is_proved(pieces(*frames[:2]), is_over=True) == (True, 0)
    assert is_proved(pieces(frames[0]), is_over=True) == (False, 0)


def test_one_long_response_is_proof_at_the_end() -> None:
    """So many bytes do not decode by accident."""
    assert is_proved(pieces(long_response(5)), is_over=True) == (True, 0)
    assert is_proved(pieces(long_response(5))) == (False, 0)
    assert is_proved(pieces(long_response(5)[:-1]), is_over=True) == (False, 0)


@pytest.mark.thorough
def test_a_chain_of_frames_that_no_api_answers_with_is_not_kafka() -> None:
    """So look the replies of ZooKeeper: transaction ids, an error, a stat of the node."""
    replies = [response(n, struct.pack(">qi", 4_294_967_300 + n, 0) + STAT) for n in range(1, 6)]

    assert is_proved(pieces(*replies), is_over=True)[0] is False
    cut = [Piece(each[:8], len(each), 1, 1) for each in replies]
    assert is_proved(cut)[0] is True


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
