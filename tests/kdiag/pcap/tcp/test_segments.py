from kdiag.pcap.tcp.segments import Piece, Segments, first_packet
from recordings.segment_tape import START_NS, STEP_NS, contiguous_run


def test_a_piece_is_copied_out_of_its_segment_and_can_be_shortened() -> None:
    """What is skipped is gone; the packet and its time stay."""
    segments = contiguous_run([b"abc", b"defgh"])
    piece = segments.piece(1, 2)

    assert piece == Piece(b"fgh", 3, 2, START_NS + 2 * STEP_NS)
    assert piece.part(1, 3) == Piece(b"gh", 2, 2, START_NS + 2 * STEP_NS)


def test_segments_of_pieces_cover_what_the_pieces_cover() -> None:
    """Bytes that are missing are covered and not there."""
    segments = Segments.of_pieces([Piece(b"ab", 5, 1, 10), Piece(b"cd", 2, 3, 30)])

    assert segments.edge == [0, 5, 7]
    assert segments.has_missing
    assert segments.piece(0, 1) == Piece(b"b", 4, 1, 10)
    assert segments.piece(0, 4) == Piece(b"", 1, 1, 10)
    assert segments.piece(1) == Piece(b"cd", 2, 3, 30)


def test_a_hole_has_a_size_and_no_bytes() -> None:
    """It costs nothing, however large it is."""
    assert Segments.hole(1 << 40, 7, 70).piece(0) == Piece(b"", 1 << 40, 7, 70)


def test_the_first_packet_is_the_first_that_is_young_enough() -> None:
    """Pieces need not be in the order of their packets."""
    pieces = [Piece(b"", 0, packet, 0) for packet in (9, 3, 7)]

    assert [first_packet(pieces, oldest) for oldest in (0, 4, 10)] == [3, 7, None]
