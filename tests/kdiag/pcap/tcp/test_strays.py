from typing import Any

from kdiag.pcap.tcp.segments import Piece
from kdiag.pcap.tcp.sorted_batch import ACK, FIN, NO_PAYLOAD, SegmentRow
from kdiag.pcap.tcp.strays import Stray, Strays, most_bytes, window_bytes
from tiers.cases import for_each


def stray(packet: int, sequence: int, size: int = 0, **changes: Any) -> Stray:
    """Return a packet that does not fit.

    Args:
        packet: its number.
        sequence: of its first byte.
        size: of its payload.
        changes: other values for the columns of its row, and `fits`.
    """
    fits = changes.pop("fits", False)
    row = SegmentRow(0, ACK, sequence % 2**32, 0, 65_535, size, NO_PAYLOAD, packet, packet)
    piece = Piece(b"x" * size, size, packet, packet) if size and not fits else None
    return Stray(row._replace(**changes), piece, fits, fits_other=False)


@for_each(
    "second",
    [
        stray(2, 4100, 5),
        stray(2, 4100),
        stray(2, 0, side=1, acknowledgment=4100),
        stray(2, 9000, 5, side=1),
    ],
)
def test_two_packets_that_agree_are_no_strays(second: Stray) -> None:
    """The same end goes on, or the other one acknowledges, or is where the first one thinks."""
    strays = Strays()
    first = stray(1, 4000, 100, acknowledgment=9000)

    assert strays.add(first) == []
    found = strays.add(second)
    assert [each.row.sequence for each in found] == [4000, second.row.sequence]
    assert {each.row.packet for each in found} == {2}
    assert strays.count == 0


@for_each(
    "second",
    [
        stray(2, 4000, 100, acknowledgment=9000),
        stray(2, 4101, 5),
        stray(2, 0, side=1, acknowledgment=4099),
        stray(2, 0, side=1, acknowledgment=4100, flags=0),
        stray(2, 9001, 5, side=1),
    ],
)
def test_packets_that_do_not_agree_are_strays(second: Stray) -> None:
    """A copy of the first, or another place."""
    strays = Strays()
    strays.add(stray(1, 4000, 100, acknowledgment=9000))

    assert strays.add(second) == []
    assert strays.count == 2


def test_a_fin_counts_and_numbers_wrap_around() -> None:
    """As TCP has it."""
    strays = Strays()
    strays.add(stray(1, -10, 9, flags=ACK | FIN))

    assert strays.add(stray(2, 0))


def test_acknowledgments_of_later_bytes_agree_if_they_grow() -> None:
    """The capture has lost what they acknowledge; a copy of the first proves nothing."""
    strays = Strays()
    for packet, number, is_proof in ((1, 70, False), (2, 70, False), (3, 71, True)):
        found = strays.add(stray(packet, packet, 1, acknowledgment=number, fits=True))
        assert bool(found) is is_proof


def test_only_the_last_few_are_kept() -> None:
    """A flood of strays costs no memory."""
    strays = Strays()
    for number in range(9):
        strays.add(stray(number, number * 1000, 10))

    assert strays.add(stray(10, 10, 1)) == []
    assert strays.add(stray(11, 8010, 1)) != []


def test_a_window_is_as_large_as_its_field_may_mean() -> None:
    """By how much it is shifted is not known to all who read the packet."""
    assert window_bytes(65_535) == 65_535 << 8
    assert window_bytes(100) == 1 << 20


def test_no_network_carries_more_than_it_can() -> None:
    """400 Gbit/s are 50 bytes each nanosecond; a clock that went back gives nothing."""
    assert most_bytes(1000, 2_000_000) == 100_001_000
    assert most_bytes(1000, -2_000_000) == 1000
