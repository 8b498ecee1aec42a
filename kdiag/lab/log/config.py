"""The settings of a log, by the names and with the defaults of Kafka's topic configuration.

A `LogConfig` is made from texts as they stand in a topic's configuration; what concerns other parts
of a broker is not in it.

Source: Kafka's `LogConfig`, release 4.3.
"""

from collections.abc import Callable, Mapping
from typing import Final, Self

import msgspec

from kdiag.errors import ConfigError
from kdiag.wire.records.compression import CODECS
from kdiag.wire.records.record import TimestampType

COMPACT: Final = "compact"
DELETE: Final = "delete"

_HOUR_MS: Final = 60 * 60 * 1000
_DAY_MS: Final = 24 * _HOUR_MS
_INT64_MAX: Final = (1 << 63) - 1
_INT32_MAX: Final = (1 << 31) - 1


class LogConfig(msgspec.Struct, frozen=True, kw_only=True):
    """The settings of a log.

    Attributes are Kafka's settings with `_` for `.`; `max_message_bytes` is the largest batch, -1
    for no limit stands in the two retentions.
    """

    cleanup_policy: frozenset[str] = frozenset({DELETE})
    compression_type: str = "producer"
    delete_retention_ms: int = _DAY_MS
    index_interval_bytes: int = 4096
    max_compaction_lag_ms: int = _INT64_MAX
    max_message_bytes: int = 1024 * 1024 + 12
    message_timestamp_after_max_ms: int = _HOUR_MS
    message_timestamp_before_max_ms: int = _INT64_MAX
    message_timestamp_type: TimestampType = TimestampType.CREATE_TIME
    min_cleanable_dirty_ratio: float = 0.5
    min_compaction_lag_ms: int = 0
    retention_bytes: int = -1
    retention_ms: int = 7 * _DAY_MS
    segment_bytes: int = 1 << 30
    segment_index_bytes: int = 10 * 1024 * 1024
    segment_ms: int = 7 * _DAY_MS
    producer_id_expiration_ms: int = _DAY_MS
    """A broker's setting, not a topic's."""

    @property
    def is_compacted(self) -> bool:
        """Return whether only the last record of a key is kept."""
        return COMPACT in self.cleanup_policy

    @property
    def is_deleted(self) -> bool:
        """Return whether old segments are deleted."""
        return DELETE in self.cleanup_policy

    @property
    def is_stamped(self) -> bool:
        """Return whether batches get the time of appending."""
        return self.message_timestamp_type is TimestampType.LOG_APPEND_TIME

    def target_codec(self, codec: str) -> str:
        """Return the codec in which a batch of some codec is kept."""
        if self.compression_type == "producer":
            return codec
        return "none" if self.compression_type == "uncompressed" else self.compression_type

    @classmethod
    def from_texts(cls, settings: Mapping[str, str], origin: str) -> Self:
        """Return the settings of a topic; those of other parts of a broker are passed over.

        Args:
            settings: texts by Kafka's names, such as `segment.bytes`.
            origin: whose they are, for errors.

        Raises:
            ConfigError: if a value is not one that Kafka takes.
        """
        values: dict[str, object] = {}
        for key, text in settings.items():
            name = key.replace(".", "_")
            if name in _READERS:
                try:
                    values[name] = _READERS[name](text.strip())
                except ValueError as error:
                    raise ConfigError(key, origin, f"{text!r}: {error}") from None
        return msgspec.convert(values, cls)


class _Number:
    """A reader of whole numbers within bounds."""

    def __init__(self, least: int, most: int = _INT64_MAX) -> None:
        self._least, self._most = least, most

    def __call__(self, text: str) -> int:
        if not (text.isascii() and text.removeprefix("-").isdigit()):
            raise ValueError("expected a whole number")
        value = int(text[:20])
        if not self._least <= value <= self._most:
            raise ValueError(f"expected {self._least} to {self._most}")
        return value


def _ratio(text: str) -> float:
    value = float(text)
    if not 0 <= value <= 1:
        raise ValueError("expected 0 to 1")
    return value


def _policies(text: str) -> list[str]:
    policies = [part.strip() for part in text.split(",") if part.strip()]
    if {*policies} - {COMPACT, DELETE}:
        raise ValueError("expected compact, delete, both, or nothing, which keeps all")
    return policies


def _codec(text: str) -> str:
    if text not in {"producer", "uncompressed", *CODECS[1:]}:
        raise ValueError(f"expected producer, uncompressed, or one of {', '.join(CODECS[1:])}")
    return text


def _timestamp_type(text: str) -> TimestampType:
    if text == TimestampType.NO_TIMESTAMP_TYPE:
        raise ValueError("expected CreateTime or LogAppendTime")
    return TimestampType(text)


_READERS: Final[dict[str, Callable[[str], object]]] = {
    "cleanup_policy": _policies,
    "compression_type": _codec,
    "delete_retention_ms": _Number(0),
    "index_interval_bytes": _Number(0, _INT32_MAX),
    "max_compaction_lag_ms": _Number(1),
    "max_message_bytes": _Number(0, _INT32_MAX),
    "message_timestamp_after_max_ms": _Number(0),
    "message_timestamp_before_max_ms": _Number(0),
    "message_timestamp_type": _timestamp_type,
    "min_cleanable_dirty_ratio": _ratio,
    "min_compaction_lag_ms": _Number(0),
    "retention_bytes": _Number(-1),
    "retention_ms": _Number(-1),
    "segment_bytes": _Number(1024 * 1024, _INT32_MAX),
    "segment_index_bytes": _Number(4, _INT32_MAX),
    "segment_ms": _Number(1),
}
