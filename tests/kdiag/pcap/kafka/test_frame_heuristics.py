import random
import struct
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from kdiag.pcap.kafka.frame_heuristics import (
    FrameHeuristics,
    RequestHeuristics,
    ResponseHeuristics,
    is_border,
)
from kdiag.pcap.kafka.resync import Found, FrameSearch
from kdiag.pcap.kafka.trial_decoding import RequestKind
from kdiag.pcap.tcp.segments import Piece, Segments
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseTopic
from kdiag.wire.codec.messages import encode
from recordings.segment_tape import contiguous_run, request, request_about, response
from tiers.cases import for_each
from tiers.sampling import sample

MAX_FRAME_BYTES = 100 << 20
MIB = 1 << 20
METADATA = 3


def anybody() -> RequestHeuristics:
    """Return how requests look on a connection of which nothing was seen."""
    return RequestHeuristics(MAX_FRAME_BYTES, set())


def somebody() -> RequestHeuristics:
    """Return how requests look after one of `client-1` with id 10."""
    return RequestHeuristics(MAX_FRAME_BYTES, {b"client-1"}, 10)


def undecodable(*correlation_ids: int) -> dict[int, set[RequestKind]]:
    """Return outstanding requests of a version that nobody knows."""
    return {each: {(METADATA, 99)} for each in correlation_ids}


def decodable(*correlation_ids: int) -> dict[int, set[RequestKind]]:
    """Return outstanding Metadata requests of a version that is known."""
    return {each: {(METADATA, 5)} for each in correlation_ids}


def metadata(correlation_id: int, topic: str = "orders") -> bytes:
    """Return the frame of a Metadata response of that version."""
    body = MetadataResponse(topics=[MetadataResponseTopic(name=topic)])
    return response(correlation_id, encode(body, 5))


def search(heuristics: FrameHeuristics, *parts: bytes) -> Found | None:
    """Return what is found in byte strings, one segment each, until the stream ends."""
    looking = FrameSearch(heuristics, 4 * MIB)
    looking.add_segments(contiguous_run(parts), 0, len(parts))
    if looking.found is None:
        looking.flush()
    return looking.found


def bytes_of(found: Found | None) -> bytes:
    """Return what was found."""
    assert found is not None
    return found.segments.view.tobytes()


@pytest.mark.parametrize("heuristics", [anybody, somebody])
def test_a_request_is_proved_by_the_next_of_the_same_client(
    heuristics: Callable[[], FrameHeuristics],
) -> None:
    """Wherever in a segment it starts."""
    frames = request_about(11, b"one") + request_about(12, b"two")

    assert bytes_of(search(heuristics(), b"rest of a body" + frames + b"more")) == frames + b"more"
    assert (
        search(heuristics(), b"rest" + request(11) + request(12, client_id=b"another") + b"?")
        is None
    )


@pytest.mark.parametrize("heuristics", [anybody, somebody])
def test_a_request_is_proved_by_the_borders_of_segments(
    heuristics: Callable[[], FrameHeuristics],
) -> None:
    """It starts and ends where a segment starts and ends, or at least ends with the stream."""
    assert bytes_of(search(heuristics(), b"rest", request(11), b"?")) == request(11)
    assert bytes_of(search(heuristics(), b"rest", request(11)[:9], request(11)[9:])) == request(11)
    assert bytes_of(search(heuristics(), b"rest" + request(11))) == request(11)
    assert search(heuristics(), b"rest" + request(11) + b"?") is None


@for_each(
    "frame",
    [
        request(11, client_id=b"stranger"),
        request(10, b"wrong"),
        request(11, api_key=-1),
        request(11, version=-1),
        request(11, api_key=3, client_id=None),
        b"\x7f" + request(11)[1:],
    ],
)
def test_a_request_that_does_not_fit_what_was_seen_is_not_believed(frame: bytes) -> None:
    """Client id, body and size must make sense; key and version must not be negative."""
    assert search(somebody(), b"rest", frame, frame) is None


@for_each("frame", [request(10), request(10 + 100_001), request(-9)])
def test_an_unexpected_correlation_id_is_believed_where_segments_start_and_end(
    frame: bytes,
) -> None:
    """A broker accepts any; a client may use one for all its requests."""
    assert bytes_of(search(somebody(), b"rest", frame, b"?")) == frame
    assert search(somebody(), b"rest" + frame + frame + b"?") is None


@for_each("kind", [(3, 31), (999, 3), (10_001, 0), (10_001, 900)])
def test_an_api_or_version_far_from_all_that_are_known_wants_another_request(
    kind: tuple[int, int],
) -> None:
    """Other brokers have APIs of their own. A client that was seen before is enough."""
    api_key, version = kind
    one, two = (request(number, api_key=api_key, version=version) for number in (11, 12))

    assert bytes_of(search(anybody(), b"rest", one, two, b"?")) == one + two
    assert search(anybody(), b"rest", one, b"?") is None
    assert bytes_of(search(somebody(), b"rest", one, b"?")) == one
    assert bytes_of(search(somebody(), b"rest" + one + two + b"?")) == one + two + b"?"


def test_requests_without_client_id_must_be_two_to_their_last_bytes() -> None:
    """Ten bytes of a response are easily ApiVersions v0; and ids must grow."""
    one, two = (request(number, client_id=None) for number in (1, 2))
    broken = one[:-4] + b"\0\0\0\5"

    assert bytes_of(search(anybody(), b"rest", one, two, b"?")) == one + two
    assert search(anybody(), b"rest", one, b"?") is None
    assert search(anybody(), b"rest", one) is None
    assert search(anybody(), b"rest", two, one) is None
    assert search(anybody(), b"rest", broken, broken) is None
    assert search(anybody(), b"rest", one + b"?") is None
    assert search(anybody(), b"rest", one, two[:-1]) is None


@for_each("name", [b"esc\x1b[31m", b"\x1b]0;", b"\0", b"caf\xe9"])
def test_a_known_client_is_found_again_whatever_its_id_holds(name: bytes) -> None:
    """Of a client that was not seen before, two requests must be whole."""
    one, two = (request(number, client_id=name) for number in (11, 12))
    known = RequestHeuristics(MAX_FRAME_BYTES, {name}, 10)

    assert bytes_of(search(known, b"rest" + one + two + b"?")) == one + two + b"?"
    assert bytes_of(search(known, b"rest", two)) == two
    assert search(known, b"rest", request(11, b"wrong", client_id=name)) is None
    assert search(known, b"rest", request(11, client_id=name + b"?")) is None
    assert search(anybody(), b"rest" + one) is None


@pytest.mark.parametrize("heuristics", [anybody, somebody])
def test_what_looks_like_a_request_must_decode(
    heuristics: Callable[[], FrameHeuristics],
) -> None:
    """Wherever it starts and ends, and whatever follows it."""
    wrong = request(11, b"one") + request(12, b"two")

    assert search(heuristics(), b"rest", request(11, b"one"), request(12, b"two")) is None
    assert search(heuristics(), b"rest" + wrong + b"more") is None
    assert search(heuristics(), b"rest" + request(11, b"one")) is None


def test_a_request_of_a_version_that_is_not_known_needs_a_second_proof() -> None:
    """One more of the same client, or a client that was seen before."""
    one, two = (request(number, b"\0?", version=14) for number in (11, 12))

    assert search(anybody(), b"rest", one, b"?") is None
    assert search(anybody(), b"rest", one) is None
    assert bytes_of(search(anybody(), b"rest" + one + two + b"?")) == one + two + b"?"
    assert bytes_of(search(somebody(), b"rest", one, b"?")) == one


def test_a_request_that_is_cut_must_contradict_nothing() -> None:
    """The bytes that are here must be those of such a request."""
    whole = request_about(11, b"a" * 60)
    wrong = request(11, b"\0\0\0\7\x7f\xff" + bytes(60))
    for frame, is_found in ((whole, True), (wrong, False)):
        pieces = [Piece(b"rest", 4, 1, 1), Piece(frame[:40], len(frame), 2, 2)]
        pieces.append(Piece(b"more", 4, 3, 3))
        searching = FrameSearch(anybody(), 4 * MIB)
        searching.add_segments(Segments.of_pieces(pieces), 0, len(pieces))
        assert (searching.found is not None) is is_found


def test_a_client_id_that_comes_in_two_segments_is_awaited() -> None:
    """Half a name decides nothing."""
    frames = request(11) + request(12)

    assert bytes_of(search(anybody(), b"rest" + frames[:17], frames[17:])) == frames


def test_a_response_of_unknown_form_is_proved_by_the_next_to_outstanding_requests() -> None:
    """Two of them, or one where segments start with both, or the end of the stream."""
    heuristics = ResponseHeuristics(MAX_FRAME_BYTES, undecodable(7, 8, 9, 30))
    frames = response(7, b"known") + response(8) + response(9)

    assert bytes_of(search(heuristics, b"rest" + frames + b"more")) == frames + b"more"
    assert search(heuristics, b"rest" + response(7) + response(8) + b"more") is None
    found = search(heuristics, b"rest", response(7), response(8) + b"more")
    assert bytes_of(found) == response(7) + response(8) + b"more"
    assert bytes_of(search(heuristics, b"rest" + response(30))) == response(30)
    assert search(heuristics, b"rest" + response(8) + response(7) + b"more") is None
    assert search(heuristics, b"rest" + response(7) + response(9) + b"more") is None


def test_a_response_to_a_lost_request_is_found_where_segments_start() -> None:
    """Its id is smaller than that of the outstanding one behind it."""
    heuristics = ResponseHeuristics(MAX_FRAME_BYTES, undecodable(7, 8))
    lost, known = response(6, b"lost"), response(7)

    assert bytes_of(search(heuristics, b"rest", lost, known)) == lost + known
    assert bytes_of(search(heuristics, b"rest", lost + known)) == known
    assert bytes_of(search(heuristics, b"rest" + lost, known)) == known


def test_a_response_that_decodes_is_proved_by_one_more() -> None:
    """Wherever it starts; if segments start and end with it, by nothing else."""
    heuristics = ResponseHeuristics(MAX_FRAME_BYTES, decodable(7, 8, 9))
    two = metadata(7) + metadata(8)

    assert bytes_of(search(heuristics, b"rest" + two + b"more")) == two + b"more"
    assert bytes_of(search(heuristics, b"rest", metadata(7), b"more")) == metadata(7)
    assert bytes_of(search(heuristics, b"rest" + metadata(7))) == metadata(7)
    assert search(heuristics, b"rest" + metadata(7) + b"more") is None
    assert search(heuristics, b"rest" + metadata(7) + metadata(7) + b"more") is None


def test_a_response_that_should_decode_and_does_not_is_none() -> None:
    """Nor is one that another follows which does not; both were believed for their ids."""
    heuristics = ResponseHeuristics(MAX_FRAME_BYTES, decodable(7, 8, 9, 10))
    wrong = [response(number, b"?") for number in range(11)]

    assert search(heuristics, b"rest", wrong[7], wrong[8], wrong[9]) is None
    assert search(heuristics, b"rest" + metadata(7) + wrong[8] + b"more") is None
    good = metadata(9) + metadata(10)
    assert (
        bytes_of(search(heuristics, b"rest" + wrong[7] + wrong[8] + good + b"more"))
        == good + b"more"
    )


def test_one_of_several_requests_with_the_same_id_must_fit() -> None:
    """Some clients give all requests the same id."""
    outstanding: dict[int, set[RequestKind]] = {
        7: {(METADATA, 5), (1, 4)},
        8: {(1, 4), (METADATA, 5)},
    }
    two = metadata(7) + metadata(8)

    assert bytes_of(search(ResponseHeuristics(MAX_FRAME_BYTES, outstanding), b"rest" + two + b"?"))


def test_a_short_response_that_decodes_needs_two_more() -> None:
    """Or one, where segments start with both."""
    heuristics = ResponseHeuristics(MAX_FRAME_BYTES, {each: {(12, 0)} for each in (7, 8, 9)})
    beats = [response(number, b"\0\0") for number in (7, 8, 9)]

    assert search(heuristics, b"rest" + beats[0] + beats[1] + b"more") is None
    assert bytes_of(search(heuristics, b"rest" + b"".join(beats) + b"?")) == b"".join(beats) + b"?"
    assert (
        bytes_of(search(heuristics, b"rest", beats[0], beats[1] + b"?"))
        == b"".join(beats[:2]) + b"?"
    )


def test_the_response_behind_is_awaited_unless_it_is_huge() -> None:
    """All of it must fit; but what is larger than a search can keep is believed for its head."""
    heuristics = ResponseHeuristics(MAX_FRAME_BYTES, decodable(7, 8))
    first, second = metadata(7), metadata(8, "t" * 3000)
    searching = FrameSearch(heuristics, 4 * MIB)
    searching.add_segments(contiguous_run([b"rest" + first + second[:2000]]), 0, 1)
    assert searching.found is None
    searching.add_segments(contiguous_run([second[2000:]]), 0, 1)
    assert bytes_of(searching.found) == first + second

    head = struct.pack(">ii", 2 * MIB, 8)
    assert bytes_of(search(heuristics, b"rest" + first + head + b"?")) == first + head + b"?"


def test_a_response_with_a_hole_is_believed_for_those_that_follow() -> None:
    """It cannot be decoded, but its size and id are here, as the recorder has cut it."""
    heuristics = ResponseHeuristics(MAX_FRAME_BYTES, decodable(7, 8, 9))
    frames = [metadata(number, "t" * 100) for number in (7, 8, 9)]
    pieces = [Piece(b"rest", 4, 1, 1), *(Piece(each[:60], len(each), 2, 2) for each in frames)]
    searching = FrameSearch(heuristics, 4 * MIB)
    searching.add_segments(Segments.of_pieces(pieces), 0, len(pieces))

    assert searching.found is not None
    assert searching.found.skipped_bytes == 4


def test_what_is_decoded_in_vain_is_bounded() -> None:
    """Hostile bytes could make every place the start of a large response."""
    heuristics = ResponseHeuristics(MAX_FRAME_BYTES, decodable(7, 8))
    large = metadata(7, "t" * 30_000) + metadata(8)
    assert bytes_of(search(heuristics, b"rest" + large))

    heuristics._trial_bytes = -MIB
    assert search(heuristics, b"rest" + large) is None


def test_many_outstanding_requests_between_two_responses_are_no_proof() -> None:
    """Only those with acks=0 get no response."""
    heuristics = ResponseHeuristics(MAX_FRAME_BYTES, undecodable(*range(50)))

    assert search(heuristics, b"rest" + response(1) + response(20) + b"more") is None


def test_without_requests_three_growing_ids_prove_responses() -> None:
    """Each must start where a segment starts."""
    heuristics = ResponseHeuristics(MAX_FRAME_BYTES, {}, is_one_sided=True)
    frames = [response(5, b"abc"), response(6), response(8)]

    assert bytes_of(search(heuristics, b"rest", *frames)) == b"".join(frames)
    assert search(heuristics, b"rest", *frames[:2], b"more") is None
    assert search(heuristics, b"rest", *frames[::-1]) is None
    assert search(heuristics, b"rest", frames[0] + frames[1] + frames[2]) is None


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


@pytest.mark.thorough
@pytest.mark.sampled(4)
@pytest.mark.parametrize("segment_bytes", [512, 1460])
@pytest.mark.parametrize("noise", NOISE)
def test_a_mebibyte_of_binary_data_fools_nobody(noise: str, segment_bytes: int) -> None:
    """However full of small integers it is, only the frames behind it are found."""
    data = NOISE[noise]()
    parts = [data[at : at + segment_bytes] for at in range(0, len(data), segment_bytes)]
    requests = [request_about(11, b"true"), request(12)]
    responses = [response(number) for number in (1010, 1011, 1012)]

    searches: list[tuple[FrameHeuristics, list[bytes]]] = [
        (anybody(), requests),
        (somebody(), requests),
        (ResponseHeuristics(MAX_FRAME_BYTES, undecodable(*range(1000, 1050))), responses),
        (ResponseHeuristics(MAX_FRAME_BYTES, {}, is_one_sided=True), responses),
    ]
    for heuristics, frames in searches:
        found = bytes_of(search(heuristics, *parts, *frames))
        assert b"".join(frames).startswith(found)


INTEGERS: dict[str, Callable[[np.random.Generator], np.ndarray[Any, Any]]] = {
    "zeros": lambda dice: dice.integers(0, 1, MIB).astype(">i1"),
    "i2 below 3": lambda dice: dice.integers(0, 3, MIB // 2).astype(">i2"),
    "i2 below 10": lambda dice: dice.integers(0, 10, MIB // 2).astype(">i2"),
    "i2 below 100": lambda dice: dice.integers(0, 100, MIB // 2).astype(">i2"),
    "i4 below 30": lambda dice: dice.integers(0, 30, MIB // 4).astype(">i4"),
    "i4 below 100": lambda dice: dice.integers(0, 100, MIB // 4).astype(">i4"),
    "i4 below 1000": lambda dice: dice.integers(0, 1000, MIB // 4).astype(">i4"),
    "i4 sorted": lambda dice: np.sort(dice.integers(0, 1000, MIB // 4)).astype(">i4"),
    "i4 counting": lambda _: np.arange(MIB // 4).astype(">i4"),
    "i4 walking": lambda dice: np.abs(np.cumsum(dice.integers(-1, 2, MIB // 4))).astype(">i4"),
    "i8 below 100": lambda dice: dice.integers(0, 100, MIB // 8).astype(">i8"),
    "i8 counting": lambda _: np.arange(MIB // 8).astype(">i8"),
    "f4": lambda dice: dice.normal(0, 1, MIB // 4).astype(">f4"),
    "f8": lambda dice: dice.normal(0, 1, MIB // 8).astype(">f8"),
}
OUTSTANDING = [range(5), range(60, 65), range(50), range(500, 1000), range(65536, 65546)]
KINDS: list[RequestKind] = [(0, 7), (1, 4), (1, 18), (METADATA, 5), (12, 0), (12, 4)]


@pytest.mark.thorough
@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_among_which_the_outstanding_ids_lie_fool_nobody(name: str) -> None:
    """Whatever the requests asked, in a MiB for each set of ids nothing is found but the frames."""
    dice = np.random.default_rng(1)
    for number, ids in sample(name, [*enumerate(OUTSTANDING)], 2):
        data = INTEGERS[name](dice).tobytes()
        parts = [data[at : at + 1460] for at in range(0, len(data), 1460)]
        kind = KINDS[(number + len(name)) % len(KINDS)]
        outstanding: dict[int, set[RequestKind]] = {each: {kind} for each in ids}
        outstanding |= decodable(70_000, 70_001)
        heuristics = ResponseHeuristics(MAX_FRAME_BYTES, outstanding)
        frames = [metadata(70_000), metadata(70_001)]

        assert bytes_of(search(heuristics, *parts, *frames)) == frames[0]


def test_borders_are_where_segments_start_and_the_last_one_ends() -> None:
    """Nothing else is."""
    assert [place for place in range(12) if is_border([0, 4, 9], place)] == [0, 4, 9]
