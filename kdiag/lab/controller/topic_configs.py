"""The settings of topics: names, defaults, and what they take.

Some are heeded, by the log or by the partition that has it. Others are Kafka's too, and are kept
and told again, but change nothing here: when to flush (a lab leaves it to the system), how well to
compress, what remote storage does. A name that Kafka does not know is refused.

Source: Kafka's `TopicConfig`, `LogConfig`, release 4.3.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from kdiag.errors import ConfigError
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.log.config import LogConfig

MIN_INSYNC_REPLICAS: Final = "min.insync.replicas"
UNCLEAN_LEADER_ELECTION: Final = "unclean.leader.election.enable"

_MOST_REPLICAS: Final = (1 << 31) - 1
_INT64_MAX: Final = str((1 << 63) - 1)


class ConfigType(IntEnum):
    """The types of settings, as DescribeConfigs numbers them."""

    BOOLEAN = 1
    STRING = 2
    INT = 3
    LONG = 5
    DOUBLE = 6
    LIST = 7


class TopicSetting(NamedTuple):
    """A setting of topics.

    Attributes:
        name: Kafka's.
        default: its value where nobody has set it.
        type: of its value.
        is_heeded: whether it changes what a lab does.
    """

    name: str
    default: str
    type: ConfigType
    is_heeded: bool = True


_HEEDED: Final = (
    ("cleanup.policy", "delete", ConfigType.LIST),
    ("compression.type", "producer", ConfigType.STRING),
    ("delete.retention.ms", "86400000", ConfigType.LONG),
    ("index.interval.bytes", "4096", ConfigType.INT),
    ("max.compaction.lag.ms", _INT64_MAX, ConfigType.LONG),
    ("max.message.bytes", "1048588", ConfigType.INT),
    ("message.timestamp.after.max.ms", "3600000", ConfigType.LONG),
    ("message.timestamp.before.max.ms", _INT64_MAX, ConfigType.LONG),
    ("message.timestamp.type", "CreateTime", ConfigType.STRING),
    ("min.cleanable.dirty.ratio", "0.5", ConfigType.DOUBLE),
    ("min.compaction.lag.ms", "0", ConfigType.LONG),
    (MIN_INSYNC_REPLICAS, "1", ConfigType.INT),
    ("retention.bytes", "-1", ConfigType.LONG),
    ("retention.ms", "604800000", ConfigType.LONG),
    ("segment.bytes", "1073741824", ConfigType.INT),
    ("segment.index.bytes", "10485760", ConfigType.INT),
    ("segment.ms", "604800000", ConfigType.LONG),
    (UNCLEAN_LEADER_ELECTION, "false", ConfigType.BOOLEAN),
)
_KEPT: Final = (
    ("compression.gzip.level", "-1", ConfigType.INT),
    ("compression.lz4.level", "9", ConfigType.INT),
    ("compression.zstd.level", "3", ConfigType.INT),
    ("file.delete.delay.ms", "60000", ConfigType.LONG),
    ("flush.messages", _INT64_MAX, ConfigType.LONG),
    ("flush.ms", _INT64_MAX, ConfigType.LONG),
    ("follower.replication.throttled.replicas", "", ConfigType.LIST),
    ("leader.replication.throttled.replicas", "", ConfigType.LIST),
    ("local.retention.bytes", "-2", ConfigType.LONG),
    ("local.retention.ms", "-2", ConfigType.LONG),
    ("preallocate", "false", ConfigType.BOOLEAN),
    ("remote.log.copy.disable", "false", ConfigType.BOOLEAN),
    ("remote.log.delete.on.disable", "false", ConfigType.BOOLEAN),
    ("remote.storage.enable", "false", ConfigType.BOOLEAN),
    ("segment.jitter.ms", "0", ConfigType.LONG),
)

TOPIC_SETTINGS: Final = {
    setting.name: setting
    for setting in sorted(
        [
            *(TopicSetting(*row) for row in _HEEDED),
            *(TopicSetting(*row, is_heeded=False) for row in _KEPT),
        ]
    )
}
"""Every setting of topics, by its name."""


def check_configs(topic: str, configs: Mapping[str, str]) -> LogConfig:
    """Return the settings of a topic's logs.

    Raises:
        RequestRefusedError: INVALID_CONFIG if a name is unknown, or a value is not one it takes.
    """
    for name, text in configs.items():
        setting = TOPIC_SETTINGS.get(name)
        if setting is None:
            raise RequestRefusedError("INVALID_CONFIG", f"unknown topic config name: {name}")
        _check_kept(setting, text)
    min_insync_replicas(configs)
    try:
        return LogConfig.from_texts(configs, f"topic {topic}")
    except ConfigError as error:
        raise RequestRefusedError("INVALID_CONFIG", str(error)) from None


def min_insync_replicas(configs: Mapping[str, str]) -> int:
    """Return how many replicas must be in sync for acks=all.

    Raises:
        RequestRefusedError: INVALID_CONFIG if that is not a number from 1.
    """
    text = configs.get(MIN_INSYNC_REPLICAS, TOPIC_SETTINGS[MIN_INSYNC_REPLICAS].default)
    value = _whole_number(MIN_INSYNC_REPLICAS, text)
    if not 1 <= value <= _MOST_REPLICAS:
        raise RequestRefusedError("INVALID_CONFIG", f"{MIN_INSYNC_REPLICAS}={value}: at least 1")
    return value


def is_unclean_allowed(configs: Mapping[str, str]) -> bool:
    """Return whether a replica may lead that is not in sync, if no other can."""
    default = TOPIC_SETTINGS[UNCLEAN_LEADER_ELECTION].default
    return configs.get(UNCLEAN_LEADER_ELECTION, default).lower() == "true"


def _check_kept(setting: TopicSetting, text: str) -> None:
    """Refuse a value that is not of the type of a setting."""
    if setting.is_heeded and setting.name != UNCLEAN_LEADER_ELECTION:
        return
    if setting.type is ConfigType.BOOLEAN and text.lower() not in {"true", "false"}:
        why = f"{setting.name}={text!r}: expected true or false"
        raise RequestRefusedError("INVALID_CONFIG", why)
    if setting.type in {ConfigType.INT, ConfigType.LONG}:
        _whole_number(setting.name, text)


def _whole_number(name: str, text: str) -> int:
    try:
        return int(text[:20])
    except ValueError:
        why = f"{name}={text!r}: expected a whole number"
        raise RequestRefusedError("INVALID_CONFIG", why) from None
