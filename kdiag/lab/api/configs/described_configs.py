"""Settings as responses have them: their values, and where each comes from.

    segment.bytes    1048576      set for the topic (1)
    retention.ms     604800000    Kafka's default (5)

A broker's settings are those that the lab heeds; they are set where it is started.

Source: Kafka's `ConfigHelper`, `DescribeConfigsResponse.ConfigSource`.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import Final, NamedTuple

from kdiag.lab.controller.topic_configs import TOPIC_SETTINGS, ConfigType
from kdiag.wire.frame import DEFAULT_MAX_FRAME_BYTES


class SettingSource(IntEnum):
    """The sources of settings, as DescribeConfigs numbers them."""

    TOPIC = 1
    STATIC_BROKER = 4
    DEFAULT = 5

    @classmethod
    def of(cls, setting: "DescribedSetting") -> "SettingSource":
        """Return the source of a setting."""
        return setting.source


class DescribedSetting(NamedTuple):
    """A setting with its value.

    Attributes:
        name: Kafka's.
        value: that counts.
        default: the value where nobody has set it.
        type: of the value.
        source: where it comes from.
        is_read_only: whether requests cannot change it.
        documentation: one sentence, where there is something to say.
    """

    name: str
    value: str
    default: str
    type: ConfigType
    source: SettingSource
    is_read_only: bool = False
    documentation: str | None = None


KEPT: Final = "kdiag lab keeps this setting, and does not act on it."


def described_settings(configs: Mapping[str, str]) -> list[DescribedSetting]:
    """Return every setting of a topic for which some were set."""
    return [
        DescribedSetting(
            name,
            configs.get(name, setting.default),
            setting.default,
            setting.type,
            SettingSource.TOPIC if name in configs else SettingSource.DEFAULT,
            documentation=None if setting.is_heeded else KEPT,
        )
        for name, setting in TOPIC_SETTINGS.items()
    ]


def broker_settings(node_id: int, *, is_creating_topics: bool) -> list[DescribedSetting]:
    """Return the settings of a broker that a lab heeds, each at what it has."""
    values: tuple[tuple[str, object, ConfigType], ...] = (
        ("auto.create.topics.enable", str(is_creating_topics).lower(), ConfigType.BOOLEAN),
        ("broker.id", node_id, ConfigType.INT),
        ("default.replication.factor", 1, ConfigType.INT),
        ("fetch.max.bytes", 55 * 1024 * 1024, ConfigType.INT),
        ("max.incremental.fetch.session.cache.slots", 1000, ConfigType.INT),
        ("message.max.bytes", TOPIC_SETTINGS["max.message.bytes"].default, ConfigType.INT),
        ("min.insync.replicas", TOPIC_SETTINGS["min.insync.replicas"].default, ConfigType.INT),
        ("node.id", node_id, ConfigType.INT),
        ("num.partitions", 1, ConfigType.INT),
        ("process.roles", "broker,controller", ConfigType.LIST),
        ("socket.request.max.bytes", DEFAULT_MAX_FRAME_BYTES, ConfigType.INT),
    )
    return [
        DescribedSetting(
            name, str(value), str(value), kind, SettingSource.STATIC_BROKER, is_read_only=True
        )
        for name, value, kind in values
    ]
