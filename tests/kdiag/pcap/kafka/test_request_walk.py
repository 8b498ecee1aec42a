from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.kafka.request_walk import RequestWalk, SeenAnswer, looks_like_requests
from kdiag.pcap.tcp.segments import Piece
from recordings.segment_tape import request
from tiers.cases import for_each

NEW = [request(number, b"\0?", version=14) for number in range(3)]
WRONG = [request(number, b"wrong") for number in range(9)]


def pieces(*parts: bytes) -> list[Piece]:
    """Return byte strings as pieces."""
    return [Piece(part, len(part), 1, 1) for part in parts]


def answers(data: bytes, size: int = 1) -> list[SeenAnswer]:
    """Return the answers of a walk while bytes come, so many at once, and at the end."""
    walk = RequestWalk(1 << 20)
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    found = [walk.answer(pieces(*parts[:n]), is_over=False) for n in range(1, len(parts) + 1)]
    return [*found, walk.answer(pieces(*parts), is_over=True)]


@for_each(
    ("data", "at_last", "at_end"),
    [
        (request(1), SeenAnswer.YES, SeenAnswer.YES),
        (request(1)[:-1], SeenAnswer.OPEN, SeenAnswer.YES),
        (request(1)[:13], SeenAnswer.OPEN, SeenAnswer.NO),
        (request(1, client_id=None), SeenAnswer.YES, SeenAnswer.YES),
        (WRONG[0], SeenAnswer.OPEN, SeenAnswer.NO),
        (WRONG[0] + request(2), SeenAnswer.YES, SeenAnswer.YES),
        (b"".join(WRONG), SeenAnswer.NO, SeenAnswer.NO),
        (NEW[0], SeenAnswer.OPEN, SeenAnswer.NO),
        (NEW[0] + NEW[1], SeenAnswer.YES, SeenAnswer.YES),
        (NEW[1] + NEW[0], SeenAnswer.OPEN, SeenAnswer.NO),
        (NEW[0] + request(1, b"\0?", version=14, client_id=b"x"), SeenAnswer.OPEN, SeenAnswer.NO),
        (WRONG[0] + b"\xff\xff\xff\xff", SeenAnswer.NO, SeenAnswer.NO),
        (WRONG[0] + b"\0\0\0\0", SeenAnswer.NO, SeenAnswer.NO),
    ],
)
def test_the_first_frame_that_decodes_is_proof(
    data: bytes, at_last: SeenAnswer, at_end: SeenAnswer
) -> None:
    """Of a version that is not known two are wanted; it is said as soon as it is certain."""
    found = answers(data)

    assert found[-2:] == [at_last, at_end]
    if at_last is not SeenAnswer.NO:
        assert set(found[:-2]) <= {SeenAnswer.OPEN}
    assert answers(data, 7)[-1] is at_end


def test_a_first_frame_that_is_cut_is_believed_for_its_head() -> None:
    """No more of it will come."""
    cut = [Piece(request(1)[:20], len(request(1)), 1, 1)]
    assert RequestWalk(1 << 20).answer(cut, is_over=False) is SeenAnswer.YES


def test_a_name_is_what_looks_like_a_request() -> None:
    """Whether it decodes or not."""
    assert looks_like_requests(WRONG[0][4:], len(WRONG[0]) - 4)
    assert not looks_like_requests(b"\xff" * 20, 20)


@given(st.lists(st.binary(max_size=40), max_size=5), st.booleans())
def test_any_bytes_get_an_answer(parts: list[bytes], is_over: bool) -> None:  # noqa: FBT001
    """Nothing escapes."""
    answer = RequestWalk(1000).answer(pieces(*parts), is_over=is_over)
    assert answer in set(SeenAnswer)
    assert not is_over or answer is not SeenAnswer.OPEN
