import pytest

from kdiag.errors import ConfigError
from kdiag.lab.log.config import LogConfig
from kdiag.wire.records.record import TimestampType
from tiers.cases import for_each


def test_texts_of_a_topic_become_settings() -> None:
    """Both ways of cleaning may be on; what a log has nothing to do with is passed over."""
    texts = {
        "cleanup.policy": "compact, delete",
        "segment.bytes": "1048576",
        "retention.ms": "-1",
        "message.timestamp.type": "LogAppendTime",
        "min.cleanable.dirty.ratio": "0.1",
        "compression.type": "zstd",
        "min.insync.replicas": "2",
    }
    config = LogConfig.from_texts(texts, "orders")
    assert config.is_compacted
    assert config.is_deleted
    assert config.is_stamped
    assert (config.segment_bytes, config.retention_ms) == (1 << 20, -1)
    assert config.message_timestamp_type is TimestampType.LOG_APPEND_TIME
    assert config.target_codec("gzip") == "zstd"


def test_what_is_not_set_is_kafkas_default() -> None:
    """A week, segments of a gigabyte, batches as they came."""
    config = LogConfig.from_texts({}, "orders")
    assert config == LogConfig()
    assert config.target_codec("lz4") == "lz4"
    assert LogConfig(compression_type="uncompressed").target_codec("lz4") == "none"


@for_each(
    ("key", "text"),
    [
        ("cleanup.policy", "shred"),
        ("segment.bytes", "100"),
        ("segment.bytes", "1_048_576"),
        ("segment.bytes", "many"),
        ("retention.ms", "-2"),
        ("min.cleanable.dirty.ratio", "1.5"),
        ("min.cleanable.dirty.ratio", "nan"),
        ("compression.type", "brotli"),
        ("message.timestamp.type", "NoTimestampType"),
        ("message.timestamp.type", "Never"),
    ],
)
def test_a_value_that_kafka_refuses_is_refused(key: str, text: str) -> None:
    """The error names the setting and whose it is."""
    with pytest.raises(ConfigError, match=f"{key} .orders."):
        LogConfig.from_texts({key: text}, "orders")
