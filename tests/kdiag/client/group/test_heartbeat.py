"""The intents of HeartbeatTest, all seven, and those of its backoff."""

import pytest

from kdiag.client.group.heartbeat import Heartbeat
from kdiag.client.group.member import MemberSettings
from kdiag.errors import ConfigError

SETTINGS = MemberSettings(
    "billing",
    session_timeout_ns=300,
    heartbeat_interval_ns=100,
    max_poll_interval_ns=900,
    retry_backoff_ns=10,
    retry_backoff_max_ns=40,
    jitter=0.0,
)


@pytest.fixture
def heartbeat() -> Heartbeat:
    """Return timers that were sent a heartbeat at 0."""
    heartbeat = Heartbeat(SETTINGS, 0)
    heartbeat.sent_heartbeat(0)
    return heartbeat


def test_a_heartbeat_is_due_after_the_interval(heartbeat: Heartbeat) -> None:
    """Counted from when the last one was sent."""
    assert not heartbeat.should_heartbeat(99)
    assert heartbeat.should_heartbeat(100)
    assert heartbeat.should_heartbeat(101)
    assert heartbeat.last_sent_ns == 0


def test_a_heartbeat_that_was_sent_is_not_due(heartbeat: Heartbeat) -> None:
    """Whether it was answered or not."""
    heartbeat.sent_heartbeat(150)
    assert heartbeat.is_in_flight
    assert not heartbeat.should_heartbeat(249)
    assert heartbeat.should_heartbeat(250)


def test_the_time_to_the_next_is_never_negative(heartbeat: Heartbeat) -> None:
    """It is 0 when the next one is late."""
    assert [heartbeat.ns_to_next_heartbeat(now_ns) for now_ns in (0, 60, 100, 500)] == [
        100,
        40,
        0,
        0,
    ]


def test_a_session_ends_when_nothing_was_heard_for_its_timeout(heartbeat: Heartbeat) -> None:
    """An answer begins it again."""
    assert not heartbeat.has_session_expired(299)
    assert heartbeat.has_session_expired(300)
    heartbeat.receive_heartbeat(300)
    assert not heartbeat.is_in_flight
    assert not heartbeat.has_session_expired(599)
    assert heartbeat.has_session_expired(600)


def test_a_new_session_does_not_put_off_the_next_poll(heartbeat: Heartbeat) -> None:
    """The program may hang while the coordinator is well."""
    heartbeat.reset_session_timeout(600)
    assert not heartbeat.has_session_expired(899)
    assert heartbeat.has_poll_expired(900)


def test_all_timers_can_begin_again(heartbeat: Heartbeat) -> None:
    """As they do in each generation."""
    heartbeat.reset_timeouts(2000)
    assert not heartbeat.should_heartbeat(2099)
    assert not heartbeat.has_session_expired(2299)
    assert not heartbeat.has_poll_expired(2899)
    assert heartbeat.has_poll_expired(2900)


def test_a_poll_puts_off_its_own_timer_alone(heartbeat: Heartbeat) -> None:
    """The program lives, which says nothing about the coordinator."""
    heartbeat.poll(200)
    assert not heartbeat.has_poll_expired(1099)
    assert heartbeat.has_poll_expired(1100)
    assert heartbeat.should_heartbeat(200)
    assert heartbeat.has_session_expired(300)


def test_a_heartbeat_that_failed_is_repeated_after_a_growing_backoff(heartbeat: Heartbeat) -> None:
    """Until one is answered."""
    waits_ns = []
    for _ in range(4):
        heartbeat.fail_heartbeat(0)
        waits_ns.append(heartbeat.ns_to_next_heartbeat(0))
    assert waits_ns == [10, 20, 40, 40]
    heartbeat.receive_heartbeat(0)
    heartbeat.fail_heartbeat(0)
    assert heartbeat.ns_to_next_heartbeat(0) == 10


def test_heartbeats_that_come_too_seldom_are_refused() -> None:
    """The session would always end before the next."""
    with pytest.raises(ConfigError, match=r"heartbeat\.interval\.ms"):
        Heartbeat(SETTINGS._replace(heartbeat_interval_ns=300), 0)
