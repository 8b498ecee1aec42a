import numpy as np
import pytest

from kdiag.exchange.tcp_facts import TcpDirection
from kdiag.pcap.tcp.waits import Answers, Sent, Waits

MS = 1_000_000
FAR = 1 << 62


def sent(*segments: tuple[float, int, int]) -> Sent:
    """Return segments: milliseconds, what had been sent before, and with them."""
    time_ms, before, after = (np.array(column) for column in zip(*segments, strict=True))
    whole = (before.astype(np.int64), after.astype(np.int64))
    return Sent((time_ms * MS).astype(np.int64), *whole, np.zeros(len(before), np.bool_))


def told(*answers: tuple[float, int, int]) -> Answers:
    """Return answers: milliseconds, what they acknowledge, and the window."""
    time_ms, acknowledged, window = (np.array(column) for column in zip(*answers, strict=True))
    edge = np.maximum.accumulate(acknowledged + window).astype(np.int64)
    times_ns = (time_ms * MS).astype(np.int64)
    return Answers(times_ns, acknowledged.astype(np.int64), edge, window.astype(np.int64))


def waited(segments: Sent, answers: Answers, rtt_to_sender_ms: float = 0) -> TcpDirection:
    """Return what a sender waited for."""
    direction = TcpDirection()
    Waits().add(segments, answers, int(rtt_to_sender_ms * MS), direction)
    return direction


def test_a_full_window_is_waited_for() -> None:
    """What a sender may not send is the receiver's doing until it answers."""
    segments = sent((0, 0, 1000), (0, 1000, 4000), (20, 4000, 8000))
    direction = waited(segments, told((-1, 0, 4000), (20, 4000, 4000)))
    assert direction.window_full_ns == 20 * MS
    assert (direction.idle_ns, direction.held_ns, direction.window_closed_ns) == (0, 0, 0)


def test_a_window_that_shrank_is_a_reader_that_does_not_read() -> None:
    """Less than half of the largest window is room that unread bytes take."""
    answers = told((-1, 0, 4000), (20, 4000, 500), (50, 4000, 4000))
    direction = waited(sent((0, 0, 4000), (50, 4000, 8000)), answers)
    assert (direction.window_full_ns, direction.window_closed_ns) == (0, 50 * MS)
    answers = told((-1, 0, 4000), (20, 2000, 4000), (50, 6000, 4000))
    direction = waited(sent((0, 0, 4000), (20, 4000, 6000), (50, 6000, 8000)), answers)
    assert (direction.window_full_ns, direction.window_closed_ns) == (50 * MS, 0)


def test_nothing_in_flight_is_nothing_to_send() -> None:
    """From the last acknowledgement to the next segment the program is waited for."""
    answers = told((-1, 0, 64000), (20, 1000, 64000))
    direction = waited(sent((0, 0, 1000), (100, 1000, 2000)), answers)
    assert (direction.held_ns, direction.idle_ns) == (20 * MS, 80 * MS)


def test_bytes_in_flight_and_room_for_more_are_held() -> None:
    """Neither window nor program can be told to be the reason."""
    answers = told((-1, 0, 64000), (10, 500, 64000), (20, 1000, 64000))
    direction = waited(sent((0, 0, 1000), (10, 1000, 2000), (20, 2000, 3000)), answers)
    assert direction.held_ns == 20 * MS
    assert (direction.first_ns, direction.last_ns) == (0, 20 * MS)


def test_what_the_sender_knows_is_older_far_away_from_it() -> None:
    """Near the receiver an acknowledgement seems to come before what it lets go."""
    near = told((-30, 0, 4000), (0.1, 4000, 4000))
    direction = waited(sent((0, 0, 4000), (20.1, 4000, 8000)), near, 20)
    assert direction.window_full_ns == 20.1 * MS
    assert direction.idle_ns == 0


def test_in_flight_is_what_the_sender_had_not_seen_acknowledged() -> None:
    """With the distance to the sender taken into account."""
    waits = Waits()
    segments = sent((0, 0, 4000), (15, 4000, 5000), (21, 5000, 6000))
    in_flight = waits.add(segments, told((1, 4000, 9000)), 19 * MS, TcpDirection())
    assert in_flight.tolist() == [4000, 5000, 2000]


def test_a_window_of_unknown_scale_blocks_nobody() -> None:
    """Without a handshake the window is not known, and not blamed."""
    answers = Answers(np.array([0, 20 * MS]), np.array([0, 4000]), np.full(2, FAR), np.full(2, FAR))
    direction = waited(sent((1, 0, 4000), (20, 4000, 8000)), answers)
    assert (direction.window_full_ns, direction.held_ns) == (0, 19 * MS)


@pytest.mark.thorough
def test_answers_to_segments_that_are_not_captured_are_bounded() -> None:
    """A capture of one direction takes no more memory the longer it is."""
    waits = Waits()
    for number in range(30):
        answers = told(*((number * 1000 + n, number * 1000 + n, 4000) for n in range(1000)))
        waits.add(Sent.none(), answers, 0, TcpDirection())
    assert len(waits._answers.time_ns) == 1 << 14


def test_it_makes_no_difference_how_segments_are_grouped() -> None:
    """Times are the same whether everything is looked at at once or step by step."""
    segments = [(n * 5.0, n * 1000, n * 1000 + 1000) for n in range(20)]
    answers = [(n * 5.0 + 3, n * 1000 - 1000, 3000 + n % 3 * 1000) for n in range(1, 20)]
    whole, parts = TcpDirection(), TcpDirection()
    at_once = Waits().add(sent(*segments), told(*answers), 2 * MS, whole)
    waits, in_flight = Waits(), []
    for n in range(20):
        edge = told(*answers).edge[n - 1 : n] if n else None
        some = told(answers[n - 1])._replace(edge=edge) if edge is not None else Answers.none()
        in_flight += waits.add(sent(segments[n]), some, 2 * MS, parts).tolist()
    assert in_flight == at_once.tolist()
    assert parts == whole
