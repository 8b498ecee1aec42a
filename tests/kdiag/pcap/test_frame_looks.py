import random
import struct
from collections.abc import Callable

import pytest

from kdiag.pcap.frame_looks import Looks, RequestLooks, ResponseLooks, is_border
from kdiag.pcap.resync import Found, Search
from segment_tape import request, response, stretch

MAX_FRAME_BYTES = 100 << 20
MIB = 1 << 20


def anybody() -> RequestLooks:
    """Return how requests look on a connection of which nothing was seen."""
    return RequestLooks(MAX_FRAME_BYTES, set())


def somebody() -> RequestLooks:
    """Return how requests look after one of `client-1` with id 10."""
    return RequestLooks(MAX_FRAME_BYTES, {b"client-1"}, 10)


def search(looks: Looks, *parts: bytes) -> Found | None:
    """Return what is found in byte strings, one segment each, until the stream ends."""
    looking = Search(looks, 4 * MIB)
    looking.take(stretch(parts), 0, len(parts))
    if looking.found is None:
        looking.finish()
    return looking.found


def bytes_of(found: Found | None) -> bytes:
    """Return what was found."""
    assert found is not None
    return found.segments.view.tobytes()


@pytest.mark.parametrize("looks", [anybody, somebody])
def test_a_request_is_proved_by_the_next_of_the_same_client(looks: Callable[[], Looks]) -> None:
    """Wherever in a segment it starts."""
    frames = request(11, b"one") + request(12, b"two")

    assert bytes_of(search(looks(), b"rest of a body" + frames + b"more")) == frames + b"more"
    assert search(looks(), b"rest" + request(11) + request(12, client_id=b"another") + b"?") is None


@pytest.mark.parametrize("looks", [anybody, somebody])
def test_a_request_is_proved_by_the_borders_of_segments(looks: Callable[[], Looks]) -> None:
    """It starts and ends where a segment starts and ends, or at least ends with the stream."""
    assert bytes_of(search(looks(), b"rest", request(11), b"?")) == request(11)
    assert bytes_of(search(looks(), b"rest", request(11)[:9], request(11)[9:])) == request(11)
    assert bytes_of(search(looks(), b"rest" + request(11))) == request(11)
    assert search(looks(), b"rest" + request(11) + b"?") is None


@pytest.mark.parametrize(
    "frame",
    [
        request(11, client_id=b"stranger"),
        request(10),
        request(10 + 100_001),
        request(11, version=31),
        request(11, api_key=3, client_id=None),
        b"\x7f" + request(11)[1:],
    ],
)
def test_a_request_that_does_not_fit_what_was_seen_is_not_believed(frame: bytes) -> None:
    """Client id, correlation id, key, version and size must make sense."""
    assert search(somebody(), b"rest", frame, frame) is None


def test_a_request_without_client_id_must_be_one_to_its_last_byte() -> None:
    """Nothing else speaks for it; and it must have its segments for itself."""
    whole = request(1, b"\xff\xff\xff\xff", version=1, client_id=None)
    broken = whole[:-4] + b"\0\0\0\5"

    assert bytes_of(search(anybody(), b"rest", whole, b"?")) == whole
    assert search(anybody(), b"rest", broken, broken) is None
    assert search(anybody(), b"rest", whole + b"?") is None


def test_a_client_id_that_comes_in_two_segments_is_awaited() -> None:
    """Half a name decides nothing."""
    frames = request(11) + request(12)

    assert bytes_of(search(anybody(), b"rest" + frames[:17], frames[17:])) == frames


def test_a_response_is_proved_by_the_next_to_outstanding_requests() -> None:
    """Two of them, or one where segments start with both, or the end of the stream."""
    looks = ResponseLooks(MAX_FRAME_BYTES, {7, 8, 9, 30})
    frames = response(7, b"known") + response(8) + response(9)

    assert bytes_of(search(looks, b"rest" + frames + b"more")) == frames + b"more"
    assert search(looks, b"rest" + response(7) + response(8) + b"more") is None
    found = search(looks, b"rest", response(7), response(8) + b"more")
    assert bytes_of(found) == response(7) + response(8) + b"more"
    assert bytes_of(search(looks, b"rest" + response(30))) == response(30)
    assert search(looks, b"rest" + response(8) + response(7) + b"more") is None
    assert search(looks, b"rest" + response(7) + response(9) + b"more") is None


def test_a_response_to_a_lost_request_is_found_where_segments_start() -> None:
    """Its id is smaller than that of the outstanding one behind it."""
    looks = ResponseLooks(MAX_FRAME_BYTES, {7, 8})
    lost, known = response(6, b"lost"), response(7)

    assert bytes_of(search(looks, b"rest", lost, known)) == lost + known
    assert bytes_of(search(looks, b"rest", lost + known)) == known
    assert bytes_of(search(looks, b"rest" + lost, known)) == known


def test_many_outstanding_requests_between_two_responses_are_no_proof() -> None:
    """Only those with acks=0 get no response."""
    looks = ResponseLooks(MAX_FRAME_BYTES, set(range(50)))

    assert search(looks, b"rest" + response(1) + response(20) + b"more") is None


def test_without_requests_three_growing_ids_prove_responses() -> None:
    """Each must start where a segment starts."""
    looks = ResponseLooks(MAX_FRAME_BYTES, set(), is_lone=True)
    frames = [response(5, b"abc"), response(6), response(8)]

    assert bytes_of(search(looks, b"rest", *frames)) == b"".join(frames)
    assert search(looks, b"rest", *frames[:2], b"more") is None
    assert search(looks, b"rest", *frames[::-1]) is None
    assert search(looks, b"rest", frames[0] + frames[1] + frames[2]) is None


def _integers(code: str, high: int) -> bytes:
    """Return an array of small integers, as records often hold one."""
    count = MIB // struct.calcsize(">" + code)
    return struct.pack(f">{count}{code}", *random.Random(code).choices(range(high), k=count))


NOISE: dict[str, Callable[[], bytes]] = {
    "zeros": lambda: bytes(MIB),
    "random": lambda: random.Random(1).randbytes(MIB),
    "text": lambda: b"The client said nothing.\0\0\0\7" * (MIB // 28),
    "counters": lambda: struct.pack(f">{MIB // 8}q", *range(MIB // 8)),
    "q below 100": lambda: _integers("q", 100),
    "q below 3000": lambda: _integers("q", 3000),
    "i below 100": lambda: _integers("i", 100),
    "i below 3000": lambda: _integers("i", 3000),
    "h below 3000": lambda: _integers("h", 3000),
    "bytes below 8": lambda: _integers("B", 8),
}


@pytest.mark.parametrize("segment_bytes", [512, 1460])
@pytest.mark.parametrize("noise", NOISE)
def test_a_mebibyte_of_binary_data_fools_nobody(noise: str, segment_bytes: int) -> None:
    """However full of small integers it is, only the frames behind it are found."""
    data = NOISE[noise]()
    parts = [data[at : at + segment_bytes] for at in range(0, len(data), segment_bytes)]
    requests = [request(11, b"true"), request(12)]
    responses = [response(number) for number in (1010, 1011, 1012)]

    searches: list[tuple[Looks, list[bytes]]] = [
        (anybody(), requests),
        (somebody(), requests),
        (ResponseLooks(MAX_FRAME_BYTES, set(range(1000, 1050))), responses),
        (ResponseLooks(MAX_FRAME_BYTES, set(), is_lone=True), responses),
    ]
    for looks, frames in searches:
        found = bytes_of(search(looks, *parts, *frames))
        assert b"".join(frames).startswith(found)


def test_borders_are_where_segments_start_and_the_last_one_ends() -> None:
    """Nothing else is."""
    assert [place for place in range(12) if is_border([0, 4, 9], place)] == [0, 4, 9]
