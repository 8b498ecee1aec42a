import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.kafka.frame_heuristics import RequestHeuristics, ResponseHeuristics
from kdiag.pcap.kafka.resync import FrameSearch
from kdiag.pcap.tcp.segments import Piece, Segments
from recordings.segment_tape import START_NS, STEP_NS, contiguous_run, request, request_about

MAX_FRAME_BYTES = 100 << 20


def looking(max_bytes: int = 1 << 20) -> FrameSearch:
    """Return a search for requests after one of `client-1` with id 10."""
    return FrameSearch(RequestHeuristics(MAX_FRAME_BYTES, {b"client-1"}, 10), max_bytes)


def test_the_search_ends_with_the_segment_that_proves_a_frame() -> None:
    """It says what was skipped, what proved the frame and when; the rest is not its own."""
    search = looking()
    stop = search.add_segments(contiguous_run([b"re", b"st", request(11), b"more"]), 0, 4)

    assert stop == 3
    assert search.found is not None
    assert search.found.segments.view.tobytes() == request(11)
    assert search.found[1:] == (4, 4, 3, START_NS + 3 * STEP_NS, (1, b"rest" + request(11)[:12]))


def test_what_was_made_known_later_is_proved_later() -> None:
    """Segments that waited for others became known with those."""
    search = looking()
    search.add_segments(contiguous_run([request(11)]), 0, 1, 99)

    assert search.found is not None
    assert search.found.known == 99


@given(st.integers(0, 2**32))
def test_the_same_frame_is_found_however_many_segments_come_at_once(seed: int) -> None:
    """Only the bytes and the borders of segments matter."""
    dice = random.Random(seed)
    frames = b"".join(request_about(11 + n, b"t" * dice.randint(0, 50)) for n in range(5))
    noise = bytes(dice.choices(range(9), k=dice.randint(0, 300)))
    data, size = noise + frames, dice.choice([7, 40, 1448])
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    results = []
    for count in (1, 3, len(parts)):
        search = FrameSearch(RequestHeuristics(MAX_FRAME_BYTES, set()), 1 << 20)
        for first, last in pairwise(sorted({*range(0, len(parts), count), len(parts)})):
            if search.found is None:
                search.add_segments(contiguous_run(parts), first, last)
        search.flush()
        assert search.found is not None
        results.append(search.found[1:])

    assert results[0] == results[1] == results[2]


def test_memory_is_bounded_while_nothing_is_found() -> None:
    """The oldest bytes go; what is found later is still at its place."""
    search = looking(10_000)
    noise = [b"\1" * 500] * 100
    for row, part in enumerate([*noise, request(11)], 1):
        search.add_segments(contiguous_run([part], first_packet=row), 0, 1)
        assert sum(len(piece.data) for piece in search.pieces) <= 10_000

    assert search.found is not None
    assert (search.found.skipped_bytes, search.found.unread_bytes) == (50_000, 50_000)
    assert search.unresolved_packet(0) == 101 - (len(search.pieces) - 1)


def test_missing_bytes_are_searched_over_and_not_counted_as_unread() -> None:
    """A hole may be larger than any memory."""
    search = looking(10_000)
    for size in (300, 1 << 40):
        search.add_segments(Segments.hole(size, 1, 10), 0, 1)
    assert search.unread_bytes == 0
    search.add_segments(contiguous_run([b"rest", request(11)]), 0, 2)

    assert search.found is not None
    assert search.found[1:3] == (304 + (1 << 40), 4)


def test_bytes_that_were_passed_over_count() -> None:
    """What is not worth searching is skipped like what was."""
    search = looking()
    search.add_segments(contiguous_run([b"abc"]), 0, 1)
    search.pass_over(Piece(bytes(8), 10, 2, 0))
    search.add_segments(contiguous_run([request(11)]), 0, 1)

    assert search.found is not None
    assert search.found[1:3] == (13, 11)


def test_a_frame_larger_than_what_is_kept_is_not_found_but_the_next_one_is() -> None:
    """Its start is forgotten before its end has come."""
    search = looking(10_000)
    parts = [b"rest" + request_about(11, *[b"t" * 20_000] * 2) + request(12), request(13)]
    data = b"".join(parts)
    search.add_segments(
        contiguous_run([data[at : at + 1000] for at in range(0, len(data), 1000)]), 0, 41
    )

    assert search.found is not None
    assert search.found.segments.view.tobytes() == request(12) + request(13)


@given(st.binary(min_size=1, max_size=200), st.integers(1, 30))
def test_any_bytes_can_be_searched(data: bytes, size: int) -> None:
    """Nothing escapes."""
    parts = [data[at : at + size] for at in range(0, len(data), size)]
    for heuristics in (
        RequestHeuristics(MAX_FRAME_BYTES, set()),
        ResponseHeuristics(MAX_FRAME_BYTES, {0: {(12, 0)}, 1: {(18, 0)}, -1: {(3, 99)}}),
        ResponseHeuristics(MAX_FRAME_BYTES, {}, is_one_sided=True),
    ):
        search = FrameSearch(heuristics, 500)
        search.add_segments(contiguous_run(parts), 0, len(parts))
        search.flush()
