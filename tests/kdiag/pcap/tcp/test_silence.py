import msgspec
import numpy as np

from kdiag.pcap.tcp import silence
from kdiag.pcap.tcp.silence import (
    DEFAULT_IDLE_NS,
    ECHO_NS,
    LateEchoes,
    SilencedConnection,
    SilenceWatch,
)

HOUR_NS = DEFAULT_IDLE_NS


class Line(msgspec.Struct):
    """Something that was silent since a time."""

    last_ns: int
    may_end_early: bool = True


def passed(watch: SilenceWatch, hours: float, packets: int = 64) -> None:
    """Let packets of one time pass."""
    watch.add_packets(np.full(packets, int(hours * HOUR_NS)))


def test_more_than_an_hour_of_silence_ends_a_connection() -> None:
    """As much does not; nothing does without a limit."""
    watch = SilenceWatch(HOUR_NS)
    assert not watch.is_over(5, 5 + HOUR_NS)
    assert watch.is_over(5, 6 + HOUR_NS)
    assert not SilenceWatch(0).is_over(0, 10**18)


def test_memory_is_freed_once_all_packets_are_past_the_hour() -> None:
    """Of connections that wait for nothing; they are looked through when one can be silent."""
    watch, held = SilenceWatch(HOUR_NS), Line(HOUR_NS, may_end_early=False)
    lines = [Line(HOUR_NS), held, Line(2 * HOUR_NS)]
    passed(watch, 1)
    assert watch.due(lines) == []
    passed(watch, 2)
    assert watch.due([]) == []
    passed(watch, 2.5)
    assert watch.due(lines) == [lines[0]]
    passed(watch, 2.9)
    assert watch.due([Line(0)]) == []
    passed(watch, 3.1)
    assert watch.due(lines) == [lines[0], lines[2]]


def test_a_packet_with_a_wrong_time_ends_nothing() -> None:
    """Many must agree on the time."""
    watch = SilenceWatch(HOUR_NS)
    passed(watch, 1)
    watch.due([])
    passed(watch, 99, packets=1)
    passed(watch, 1.1, packets=63)
    assert watch.due([Line(HOUR_NS)]) == []
    passed(watch, 99, packets=63)
    assert watch.due([Line(HOUR_NS)]) == []


def test_echoes_are_expected_for_two_minutes() -> None:
    """Later packets begin a connection, and so do those of ends that nobody remembers."""
    echoes = LateEchoes()
    echoes.expect(1, 7, 7)

    assert echoes.has(1, 7 + ECHO_NS)
    assert not echoes.has(1, 8 + ECHO_NS)
    assert not echoes.has(2, 7)


def test_what_ended_long_ago_is_forgotten() -> None:
    """However many connections there were; a clock that lags a little forgets none."""
    echoes = LateEchoes()
    for number in range(1000):
        echoes.expect(number, number * ECHO_NS // 10, number * ECHO_NS // 10)
        assert len(echoes) <= 21
    assert echoes.has(980, 980 * ECHO_NS // 10)
    echoes.expect(2000, 0, 1000 * ECHO_NS)
    assert not echoes.has(2000, 0)
    assert len(echoes) == 0


def test_what_was_ended_is_remembered_once() -> None:
    """A SYN begins a connection that continues none; of too many the first are forgotten."""
    watch, ended = SilenceWatch(HOUR_NS), SilencedConnection("tcp-1", 1)
    assert watch.continued(1, has_syn=False) is None
    for ends in range(silence.MAX_REMEMBERED + 1):
        watch.remember(ends, ended)
    assert watch.continued(0, has_syn=False) is None
    assert watch.continued(1, has_syn=False) == ended
    assert watch.continued(1, has_syn=False) is None
    assert watch.continued(2, has_syn=True) is None
    assert watch.continued(2, has_syn=False) is None
