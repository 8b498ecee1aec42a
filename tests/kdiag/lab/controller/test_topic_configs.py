import pytest

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.controller.topic_configs import (
    TOPIC_SETTINGS,
    check_configs,
    min_insync_replicas,
)
from kdiag.lab.log.config import LogConfig
from tiers.cases import for_each


def test_the_defaults_are_those_of_the_log() -> None:
    """Giving each default is the same as giving nothing."""
    defaults = {name: setting.default for name, setting in TOPIC_SETTINGS.items()}
    assert check_configs("orders", defaults) == check_configs("orders", {}) == LogConfig()
    assert min_insync_replicas(defaults) == 1


def test_settings_that_change_nothing_are_kept_if_they_are_of_their_type() -> None:
    """Their names are Kafka's."""
    assert check_configs("orders", {"flush.ms": "1000", "preallocate": "TRUE"}) == LogConfig()


@for_each(
    ("name", "value"),
    [
        ("no.such.setting", "1"),
        ("segment.bytes", "many"),
        ("cleanup.policy", "shred"),
        ("min.insync.replicas", "0"),
        ("min.insync.replicas", "one"),
        ("flush.ms", "soon"),
        ("preallocate", "maybe"),
    ],
)
def test_what_a_topic_does_not_take_is_refused(name: str, value: str) -> None:
    """By name."""
    with pytest.raises(RequestRefusedError, match=name) as caught:
        check_configs("orders", {name: value})
    assert caught.value.error == "INVALID_CONFIG"
