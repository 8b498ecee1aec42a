import pytest

from kdiag.exchange.tcp_facts import TcpDirection
from kdiag.pcap.tcp.tcp_odd import LONG_AGO, OddSegment, OddSegments

MS = 1_000_000


def take(*segments: OddSegment) -> tuple[TcpDirection, list[bool]]:
    """Return what odd segments were counted as, and which are retransmissions."""
    direction = TcpDirection()
    odd = OddSegments(direction)
    return direction, [odd.take(segment) for segment in segments]


def test_what_was_seen_before_was_sent_again() -> None:
    """After less than the shortest timer it was acknowledgements that told of the loss."""
    direction, found = take(OddSegment(0, 100, 500, 30 * MS, 29 * MS, 0))
    assert found == [True]
    assert (direction.retransmits, direction.retransmitted_bytes, direction.timeouts) == (1, 100, 0)


def test_after_a_silence_it_was_the_timer() -> None:
    """Linux waits 200 ms at least, Windows 300."""
    direction, _ = take(OddSegment(0, 100, 500, 230 * MS, 29 * MS, 0))
    assert direction.timeouts == 1


def test_a_hole_that_is_filled_at_once_was_overtaken() -> None:
    """Three milliseconds are enough to overtake."""
    direction, found = take(
        OddSegment(200, 300, 100, 10 * MS, 9 * MS, LONG_AGO),
        OddSegment(100, 200, 300, 11 * MS, 10 * MS, LONG_AGO),
    )
    assert found == [False, False]
    assert (direction.out_of_order, direction.retransmits) == (1, 0)


def test_a_hole_that_is_filled_late_was_a_loss_before_the_vantage_point() -> None:
    """The first copy was never seen, the second is a retransmission."""
    direction, found = take(
        OddSegment(300, 400, 100, 10 * MS, 9 * MS, LONG_AGO),
        OddSegment(100, 200, 400, 30 * MS, 10 * MS, LONG_AGO),
        OddSegment(200, 300, 400, 31 * MS, 30 * MS, LONG_AGO),
    )
    assert found == [False, True, True]
    assert direction.retransmits == 2


def test_the_same_within_an_instant_was_captured_twice() -> None:
    """As on two interfaces of one machine."""
    direction, found = take(OddSegment(0, 100, 100, 10 * MS + 50, 10 * MS, 10 * MS))
    assert found == [False]
    assert (direction.captured_twice, direction.retransmits) == (1, 0)


@pytest.mark.parametrize(("high", "counted"), [(100, 0), (200, 1)])
def test_a_byte_at_the_end_is_a_probe(high: int, counted: int) -> None:
    """Keep-alives repeat the last byte; one of the middle is sent again."""
    direction, _ = take(OddSegment(99, 100, high, 500 * MS, 0, LONG_AGO))
    assert direction.retransmits == counted


def test_a_middle_part_leaves_two_holes() -> None:
    """What is still missing around it is filled later."""
    direction, _ = take(
        OddSegment(400, 500, 100, 10 * MS, 9 * MS, LONG_AGO),
        OddSegment(200, 300, 500, 11 * MS, 10 * MS, LONG_AGO),
        OddSegment(100, 200, 500, 12 * MS, 11 * MS, LONG_AGO),
        OddSegment(300, 400, 500, 12 * MS, 12 * MS, LONG_AGO),
        OddSegment(300, 400, 500, 40 * MS, 12 * MS, LONG_AGO),
    )
    assert (direction.out_of_order, direction.retransmits) == (3, 1)


def test_holes_are_bounded() -> None:
    """A capture that lacks every second packet takes no more memory than its last holes."""
    odd = OddSegments(TcpDirection())
    for number in range(5000):
        odd.take(OddSegment(number * 200 + 100, number * 200 + 200, number * 200, 0, 0, LONG_AGO))
    assert len(odd._holes) == 1024
