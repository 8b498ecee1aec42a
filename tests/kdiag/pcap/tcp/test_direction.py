import pytest

from kdiag.exchange.tcp_facts import Spread, TcpDirection
from kdiag.pcap.tcp.direction import LONG_AGO, OddSegment, OddSegments
from recordings.tcp_story import MS, Story
from tiers.cases import for_each


def bulk(story: Story, *, first_ms: float, count: int = 10, size: int = 1000) -> float:
    """Tell segments a millisecond apart and their acknowledgements 19 ms later."""
    for number in range(count):
        story.client(first_ms + number, size=size)
    for number in range(count):
        reached = story._sent[0] - (count - 1 - number) * size
        story.broker(first_ms + 19 + number, reached=reached)
    return first_ms + 19 + count


def test_bytes_are_counted_once() -> None:
    """Sequence numbers that begin again at zero make no difference."""
    story = Story().open()
    bulk(story, first_ms=30)
    requests = story.facts().requests
    assert (requests.bytes, requests.segments, requests.retransmits) == (10_000, 10, 0)


def test_round_trips_are_measured_from_data_to_its_acknowledgement() -> None:
    """Each of ten segments is acknowledged after 19 ms."""
    story = Story().open()
    bulk(story, first_ms=30)
    assert story.facts().requests.ack_rtt_ns == Spread(19 * MS, 19 * MS, 19 * MS, 19 * MS)


def test_one_acknowledgement_for_many_segments_is_one_for_the_last() -> None:
    """A round trip is that of the segment that caused the answer."""
    story = Story().open().client(30, size=1000).client(32, size=1000).broker(51)
    assert story.facts().requests.ack_rtt_ns == Spread(19 * MS, 19 * MS, 19 * MS, 19 * MS)


def test_what_was_sent_again_measures_nothing() -> None:
    """Which of the copies was acknowledged is not known (Karn's rule)."""
    story = Story().open().client(30, size=1000).client(31, size=1000)
    story.client(80, size=1000, start=0).broker(99)
    facts = story.facts().requests
    assert (facts.retransmits, facts.retransmitted_bytes, facts.timeouts) == (1, 1000, 0)
    assert facts.ack_rtt_ns is None
    assert facts.recovery_ns == 49 * MS


def test_a_loss_before_the_vantage_point_is_a_retransmission_too() -> None:
    """The first copy was never captured, the second comes a round trip late."""
    story = Story().open().client(30, size=1000).client(31, size=1000, start=2000)
    story.broker(49, reached=1000).broker(50, reached=1000).client(51, size=1000, start=1000)
    facts = story.broker(70).facts().requests
    assert (facts.retransmits, facts.bytes, facts.segments) == (1, 3000, 3)


def test_a_packet_captured_on_two_interfaces_is_no_retransmission() -> None:
    """An instant lies between both copies."""
    story = Story().open()
    for number in range(5):
        story.client(30 + number, size=1000)
        story.client(30.01 + number, size=1000, start=number * 1000)
    facts = story.facts().requests
    assert (facts.captured_twice, facts.retransmits, facts.bytes) == (5, 0, 5000)


@pytest.mark.parametrize(("identity", "expected"), [(7, (1, 0)), (9, (0, 1)), (0, (0, 1))])
def test_a_mirror_that_is_late_brings_copies_and_not_retransmissions(
    identity: int, expected: tuple[int, int]
) -> None:
    """They have the identification of the packet; without one, 40 ms later is sent again."""
    story = Story().open().client(30, size=1000, identity=7).client(31, size=1000, identity=8)
    story.client(70, size=1000, start=0, identity=identity)
    facts = story.facts().requests

    assert (facts.captured_twice, facts.retransmits) == expected


def test_a_mirror_brings_a_copy_of_what_is_sent_again_too() -> None:
    """One retransmission, then a copy of it, and one more retransmission."""
    story = Story().open().client(30, size=1000, identity=7).client(31, size=1000, identity=8)
    for time_ms, identity in ((70, 9), (71, 9), (90, 10)):
        story.client(time_ms, size=1000, start=0, identity=identity)
    facts = story.facts().requests

    assert (facts.captured_twice, facts.retransmits) == (1, 2)


def test_a_closed_window_is_counted_and_timed() -> None:
    """Two closings, of 100 and of 50 ms."""
    story = Story().open().client(30, size=1000)
    story.broker(40, window=0).broker(140, window=512)
    story.broker(200, window=0).broker(210, window=0).broker(250, window=512)
    facts = story.facts().requests
    assert (facts.zero_windows, facts.stalled_ns) == (2, 150 * MS)


def test_a_window_that_stays_closed_is_timed_to_the_end() -> None:
    """The connection's last packet ends it."""
    story = Story().open().client(30, size=1000).broker(40, window=0).client(90, size=1)
    assert story.facts().requests.stalled_ns == 50 * MS


def test_windows_are_told_in_bytes() -> None:
    """A window field of 512 with a scale of 7 is 64 KiB."""
    story = Story().open().client(30, size=1000).broker(49, window=512).broker(50, window=256)
    assert story.facts().requests.window == Spread(32768, 32768, 32768, 65536)


def test_without_a_handshake_windows_are_not_known() -> None:
    """Their scale is only told in SYNs."""
    story = Story().client(30, size=1000).broker(49).client(50, size=1000).broker(69)
    facts = story.facts().requests
    assert facts.window is None
    assert (facts.bytes, facts.window_full_ns) == (2000, 0)
    assert facts.ack_rtt_ns == Spread(19 * MS, 19 * MS, 19 * MS, 19 * MS)


@pytest.mark.thorough
@for_each("block_packets", [1, 2, 3, 7, 1000])
def test_it_makes_no_difference_how_packets_are_read(block_packets: int) -> None:
    """Facts depend on the packets alone."""
    story = Story().open()
    end_ms = bulk(story, first_ms=30)
    story.client(end_ms, size=500).client(end_ms + 300, size=500, start=story._sent[0] - 500)
    bulk(story, first_ms=end_ms + 400, size=1460)
    assert story.connection(block_packets=block_packets).tcp == story.facts()


def take(*segments: OddSegment) -> tuple[TcpDirection, list[bool]]:
    """Return what odd segments were counted as, and which are retransmissions."""
    direction = TcpDirection()
    odd = OddSegments(direction)
    return direction, [odd.classify(segment) for segment in segments]


def test_what_was_seen_before_was_sent_again() -> None:
    """After less than the shortest timer it was acknowledgements that told of the loss."""
    direction, found = take(OddSegment(0, 100, 500, 30 * MS, 29 * MS, 0))
    assert found == [True]
    assert (direction.retransmits, direction.retransmitted_bytes, direction.timeouts) == (1, 100, 0)


@for_each(
    ("is_copy", "after_ms", "expected"),
    [(True, 40, (1, 0)), (False, 0, (0, 1)), (None, 0, (1, 0)), (None, 40, (0, 1))],
)
def test_a_copy_of_a_packet_has_its_identification(
    is_copy: bool | None,  # noqa: FBT001
    after_ms: int,
    expected: tuple[int, int],
) -> None:
    """However late a mirror brings it; where packets have none, time decides."""
    direction, found = take(OddSegment(0, 100, 100, after_ms * MS, 0, 0, is_copy))

    assert (direction.captured_twice, direction.retransmits) == expected
    assert found == [bool(expected[1])]


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
        odd.classify(
            OddSegment(number * 200 + 100, number * 200 + 200, number * 200, 0, 0, LONG_AGO)
        )
    assert len(odd._holes) == 1024
