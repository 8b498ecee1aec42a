from contextlib import redirect_stderr

import pytest

from kdiag.clock import NS_PER_S, ManualClock
from kdiag.lab.broker.lab_status import GroupStatus, LabStatus
from kdiag_cli.commands.lab.screen import LabScreen
from programs.kdiag_program import Screen

GROUPS = (GroupStatus("billing", "Stable", 2),)
BEFORE = LabStatus(
    1, 2, 5, 0, 0, 3, {"librdkafka 2.10.0": 3}, 100, 1000, 2000, 0, GROUPS, {"Fetch": 3}
)


def test_the_state_is_written_over_the_one_before(monkeypatch: pytest.MonkeyPatch) -> None:
    """With rates between the two; what is said stands above it."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "60")
    stream = Screen(is_terminal=True)
    with redirect_stderr(stream):
        clock = ManualClock()
        screen = LabScreen(clock)
        screen.show(BEFORE)
        clock.advance(2 * NS_PER_S)
        screen.show(BEFORE._replace(requests=180, bytes_in=5_001_000))
        screen.say("a warning")
        screen.show(BEFORE)
        screen.clear()
    text = stream.text
    assert "40/s, 180 in all" in text
    assert "2.5 MB/s in, 0 B/s out" in text
    assert "3 connections: librdkafka 2.10.0" in text
    assert "topics    2 of 5 partitions" in text
    assert "waits     Fetch 3" in text
    assert "groups    billing Stable 2" in text
    assert text.count("\x1b[7A") == 3
    assert text.index("a warning") < text.rindex("brokers")
    assert text.endswith("\x1b[J")


def test_elsewhere_it_shows_nothing() -> None:
    """Only what has to be said."""
    stream = Screen(is_terminal=False)
    with redirect_stderr(stream):
        screen = LabScreen(ManualClock())
        screen.show(BEFORE)
        screen.say("a warning")
        screen.clear()
    assert stream.text == "kdiag: a warning\n"


def test_several_brokers_show_what_goes_between_them_and_what_they_lack(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Nothing is said of replicas as long as all are in sync."""
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    stream = Screen(is_terminal=True)
    with redirect_stderr(stream):
        clock = ManualClock()
        screen = LabScreen(clock)
        several = BEFORE._replace(nodes=3, replication_bytes=1000)
        screen.show(several)
        assert "replicas" not in stream.text
        clock.advance(NS_PER_S)
        screen.show(several._replace(replication_bytes=2_001_000, under_replicated=4, offline=1))
    assert "brokers   3, 2.0 MB/s between them" in stream.text
    assert "replicas  4 partitions lack some, 1 have no leader" in stream.text
