import pytest

from kdiag.client.group.member import MemberSettings, OffsetAndMetadata, TopicSubscription
from kdiag.clock import NS_PER_S
from kdiag.errors import ConfigError, GroupError


def test_settings_are_kafkas_defaults() -> None:
    """But offsets are committed only by who asks for it."""
    settings = MemberSettings("billing")
    assert settings.session_timeout_ns == 45 * NS_PER_S
    assert settings.heartbeat_interval_ns == 3 * NS_PER_S
    assert settings.max_poll_interval_ns == 300 * NS_PER_S
    assert settings.auto_commit_interval_ns is None
    settings.check()


@pytest.mark.parametrize("interval_s", [45, 60])
def test_heartbeats_come_more_often_than_the_session_ends(interval_s: int) -> None:
    """The error names the setting, and the one that it contradicts."""
    settings = MemberSettings("billing", heartbeat_interval_ns=interval_s * NS_PER_S)
    with pytest.raises(ConfigError, match=r"heartbeat.interval.ms: .*session.timeout.ms.* 45000"):
        settings.check()


def test_a_member_needs_a_group() -> None:
    """An empty name is not one."""
    with pytest.raises(ConfigError, match=r"group.id: "):
        MemberSettings("").check()


def test_a_list_wants_its_topics_whether_they_exist_or_not() -> None:
    """They may be created later."""
    subscription = TopicSubscription.of("orders", "bills")
    assert subscription.matching(["orders", "other"]) == {"orders", "bills"}


def test_a_pattern_must_match_a_whole_name() -> None:
    """As Java's `Pattern.matches` does."""
    subscription = TopicSubscription(pattern="ord.*s")
    assert subscription.matching(["orders", "orders-2", "my-orders"]) == {"orders"}


def test_a_pattern_that_is_none_is_the_users_fault() -> None:
    """The error shows it and the reason."""
    with pytest.raises(ConfigError, match=r"'\(' is not a regular expression: "):
        TopicSubscription(pattern="(").matching(["orders"])


def test_an_offset_has_no_epoch_and_no_note_unless_given() -> None:
    """As in Kafka's own class."""
    assert OffsetAndMetadata(7) == (7, -1, "")


def test_a_group_error_says_which_group_what_and_why() -> None:
    """It cannot be retried unless it says so."""
    error = GroupError("billing", "FENCED_INSTANCE_ID", "another has the id")
    assert str(error) == "group billing: FENCED_INSTANCE_ID: another has the id"
    assert not error.is_retriable
