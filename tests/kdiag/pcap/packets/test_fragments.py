from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.packets.fragments import Defragmenter
from kdiag.pcap.packets.layer import Payloads, ProtocolLayer

BODY = bytes(range(256)) * 4
SECOND_NS = 1_000_000_000


class Piece(NamedTuple):
    """A fragment of `BODY`, captured in full unless its captured bytes say otherwise."""

    start: int
    end: int
    identity: int = 1
    captured_bytes: int | None = None
    time_ns: int = 0


class Whole(NamedTuple):
    """A datagram that came out."""

    row: int
    captured: bytes
    wire_bytes: int


def join(defragmenter: Defragmenter, pieces: Sequence[Piece]) -> list[Whole]:
    """Return the datagrams that fragments of one block complete; the block starts with `x`."""
    data = b"x" + b"".join(BODY[piece.start : piece.end] for piece in pieces)
    wire = np.array([piece.end - piece.start for piece in pieces], np.int64)
    captured = [
        piece.end - piece.start if piece.captured_bytes is None else piece.captured_bytes
        for piece in pieces
    ]
    rows = np.arange(len(pieces))
    fragments = Payloads(
        ProtocolLayer(rows, 1 + np.cumsum(wire) - wire, np.array(captured, np.int64), wire),
        rows * 0 + 6,
        rows.astype(np.uint64) * 0 + 1,
        rows.astype(np.uint64) * 0 + 2,
        np.array([piece.identity for piece in pieces], np.int64),
        np.array([piece.start for piece in pieces], np.int64),
        np.array([piece.end < len(BODY) for piece in pieces], np.bool_),
    )
    times = np.array([piece.time_ns for piece in pieces], np.int64)
    joined, whole = defragmenter.join(np.frombuffer(data, np.uint8), times, fragments)
    assert joined[: len(data)].tobytes() == data
    assert not whole.fragmented().any()
    assert set(whole.protocol.tolist()) <= {6}
    assert set(whole.source.tolist()) <= {1}
    return [
        Whole(row, joined[offset : offset + size].tobytes(), wire_bytes)
        for row, offset, size, wire_bytes in zip(
            *(column.tolist() for column in whole.layer), strict=True
        )
    ]


def pieces_of(*cuts: int) -> list[Piece]:
    """Return `BODY` cut there."""
    return [Piece(start, end) for start, end in pairwise([0, *cuts, len(BODY)])]


@given(
    cuts=st.lists(st.integers(1, len(BODY) // 8 - 1), unique=True, min_size=1, max_size=8),
    data=st.data(),
)
def test_fragments_may_come_in_any_order_and_twice(cuts: list[int], data: st.DataObject) -> None:
    """The datagram is there with the fragment that was missing last, whichever it was."""
    pieces = pieces_of(*(8 * cut for cut in sorted(cuts)))
    order = data.draw(st.permutations(pieces))
    twice = [piece for piece in order[:-1] for _ in range(2)]
    expected = [Whole(2 * len(pieces) - 2, BODY, len(BODY))]
    assert join(Defragmenter(), [*twice, order[-1]]) == expected


def test_fragments_are_collected_over_blocks() -> None:
    """A datagram may begin in one buffer and end in another."""
    defragmenter = Defragmenter()
    first, second, third = pieces_of(400, 800)
    assert join(defragmenter, [first]) == []
    assert join(defragmenter, [third]) == []
    assert join(defragmenter, [second]) == [Whole(0, BODY, len(BODY))]


def test_datagrams_are_told_apart_by_their_identity() -> None:
    """Fragments of several datagrams may come in turns."""
    pieces = [piece._replace(identity=i) for piece in pieces_of(512) for i in (1, 2, 3)]
    assert [whole.row for whole in join(Defragmenter(), pieces)] == [3, 4, 5]


def test_overlapping_fragments_give_each_byte_once() -> None:
    """Where two fragments hold the same bytes, the datagram does not grow."""
    pieces = [Piece(0, 512), Piece(256, 768), Piece(640, len(BODY))]
    assert join(Defragmenter(), pieces) == [Whole(2, BODY, len(BODY))]


def test_a_hole_keeps_the_datagram_waiting() -> None:
    """As many bytes as the datagram has are not enough if some of them overlap."""
    pieces = [Piece(0, 512), Piece(8, 512), Piece(768, len(BODY))]
    assert join(Defragmenter(), pieces) == []


def test_cut_fragments_give_the_start_of_the_datagram() -> None:
    """Behind the first missing byte nothing is in its place; the length is still known."""
    first, second = pieces_of(512)
    whole = join(Defragmenter(), [first._replace(captured_bytes=100), second])
    assert whole == [Whole(1, BODY[:100], len(BODY))]
    whole = join(Defragmenter(), [first, second._replace(captured_bytes=0)])
    assert whole == [Whole(1, BODY[:512], len(BODY))]


def test_late_fragments_belong_to_another_datagram() -> None:
    """Identities are used again; after 30 s nobody waits for the rest."""
    first, second = pieces_of(512)
    late = second._replace(time_ns=31 * SECOND_NS)
    assert join(Defragmenter(), [first, late]) == []
    in_time = second._replace(time_ns=29 * SECOND_NS)
    assert join(Defragmenter(), [first, in_time]) == [Whole(1, BODY, len(BODY))]


def test_only_so_many_datagrams_are_waited_for() -> None:
    """When many stay incomplete, the oldest are given up."""
    first, second = pieces_of(512)
    starts = [first._replace(identity=identity) for identity in range(257)]
    ends = [second._replace(identity=identity) for identity in (1, 256, 0)]
    assert [whole.row for whole in join(Defragmenter(), starts + ends)] == [257, 258]


@pytest.mark.thorough
@pytest.mark.parametrize(
    "pieces",
    [
        [Piece(start, 1017) for start in range(1016)],
        [Piece(start, start + 1) for start in range(1016)],
    ],
    ids=["overlapping", "tiny"],
)
def test_fragments_without_end_are_thrown_away(pieces: list[Piece]) -> None:
    """Neither overlapping bytes nor tiny pieces fill the memory or cost time without bound."""
    defragmenter = Defragmenter()
    for piece in pieces:
        assert join(defragmenter, [piece]) == []
        for datagram in defragmenter._datagrams.values():
            assert len(datagram._pieces) <= 256
            assert sum(kept.wire_bytes for kept in datagram._pieces.values()) <= 65_535
