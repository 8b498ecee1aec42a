"""`auto.offset.reset` and its policies."""

import pytest

from kdiag.client.config.load import ConfigSources, load_config
from kdiag.client.fetch.offset_reset import LogRange, ResetPolicy, reset_policy
from kdiag.client.fetch.offsets import EARLIEST, LATEST
from kdiag.errors import ConfigError

NOW_MS = 10_000_000


def policy(*texts: str) -> ResetPolicy | None:
    """Return the policy of settings."""
    properties = ["bootstrap.servers=h:9092", *(f"auto.offset.reset={text}" for text in texts)]
    return reset_policy(load_config(ConfigSources(properties=properties)).values)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("earliest", ResetPolicy("earliest")),
        ("smallest", ResetPolicy("earliest")),
        ("Latest", ResetPolicy("latest")),
        ("none", ResetPolicy("none")),
        ("by_duration:PT1H", ResetPolicy("by_duration:PT1H", 3_600_000)),
        ("by_duration:P1DT2M0.5S", ResetPolicy("by_duration:P1DT2M0.5S", 86_520_500)),
    ],
)
def test_the_policies_are_those_of_kafka(text: str, expected: ResetPolicy) -> None:
    """With the old names of librdkafka."""
    assert policy(text) == expected


def test_without_the_setting_there_is_no_policy() -> None:
    """Whoever reads loses as little as can be then."""
    assert policy() is None


@pytest.mark.parametrize(
    "text",
    ["by_duration:", "by_duration:P", "by_duration:PT", "by_duration:1h", "by_duration:-PT1H"],
)
def test_a_duration_that_is_none_is_refused(text: str) -> None:
    """With an example of one."""
    with pytest.raises(ConfigError, match="expected by_duration:PT1H"):
        policy(text)


def test_each_policy_has_its_offset_in_a_log() -> None:
    """By duration the end counts if no record is as new."""
    log = LogRange(100, 1038)
    hour = ResetPolicy("by_duration:PT1H", 3_600_000)
    assert ResetPolicy("earliest").offset_in(log) == 100
    assert ResetPolicy("latest").offset_in(log) == 1038
    assert hour.offset_in(log) == 1038
    assert hour.offset_in(log._replace(at_time=700)) == 700
    policies = (ResetPolicy("earliest"), ResetPolicy("latest"), hour)
    assert [each.timestamp(NOW_MS) for each in policies] == [EARLIEST, LATEST, 6_400_000]


def test_none_refuses_and_names_what_is_there() -> None:
    """The other policies do not."""
    why = LogRange(100, 1038).lacks(5)
    with pytest.raises(ConfigError, match="it is none, and the log has offsets 100 to 1038"):
        ResetPolicy("none").refuse(why)
    ResetPolicy("latest").refuse(why)
