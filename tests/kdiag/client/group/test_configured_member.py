import pytest

from kdiag.client.config.load import ClientConfig, ConfigSources, load_config
from kdiag.client.group.configured_member import ASSIGNORS, assignors_named, member_settings
from kdiag.clock import NS_PER_MS
from kdiag.errors import ConfigError


def config(*properties: str) -> ClientConfig:
    """Return the configuration of a client with some properties."""
    return load_config(ConfigSources(properties=["bootstrap.servers=kafka:9092", *properties]))


def test_settings_are_those_of_the_configuration() -> None:
    """By Kafka's names; what is empty there is none."""
    settings = member_settings(config(), "billing")
    assert (settings.group_id, settings.group_instance_id, settings.rack) == ("billing", None, None)
    assert settings.session_timeout_ns == 45_000 * NS_PER_MS
    own = ("group.instance.id=i-1", "session.timeout.ms=9000", "client.rack=b")
    given = member_settings(config(*own), "billing")
    assert (given.group_instance_id, given.rack) == ("i-1", "b")
    assert given.session_timeout_ns == 9_000 * NS_PER_MS
    assert member_settings(config(*own), "billing", "i-2").group_instance_id == "i-2"


def test_settings_that_contradict_each_other_are_refused() -> None:
    """Before anything is sent."""
    with pytest.raises(ConfigError, match=r"must be less than session\.timeout\.ms"):
        member_settings(config("session.timeout.ms=3000"), "billing")


def test_assignors_go_by_their_names_or_by_java_s_classes() -> None:
    """As librdkafka and Java take them."""
    names = list(ASSIGNORS)
    assert [each.name for each in assignors_named(names)] == names
    java = "org.apache.kafka.clients.consumer"
    classes = ("RangeAssignor", "RoundRobinAssignor", "StickyAssignor", "CooperativeStickyAssignor")
    assert [each.name for each in assignors_named(f"{java}.{each}" for each in classes)] == names


def test_an_assignor_that_kdiag_does_not_have_is_refused() -> None:
    """With those that it has."""
    with pytest.raises(ConfigError, match=r"of range, roundrobin, sticky, .* found 'com\.My'"):
        assignors_named(["com.My"])
