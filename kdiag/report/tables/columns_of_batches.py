"""The columns of `batches` and `records`."""

from typing import Final

from kdiag.report.tables.column import (
    API,
    BATCH_INDEX,
    BIGINT,
    BOOLEAN,
    BROKER,
    CLIENT,
    CLIENT_HOST,
    CLIENT_ID,
    CONNECTION_ID,
    CORRELATION_ID,
    EXCHANGE_KEY,
    INT,
    PARTITION,
    STRING,
    TIME,
    TIME_NS,
    TOPIC,
    TOPIC_ID,
    VERSION,
    Column,
    Table,
)

_EXCHANGE: Final = (
    CONNECTION_ID,
    TIME,
    TIME_NS,
    CORRELATION_ID,
    CLIENT,
    CLIENT_HOST,
    BROKER,
    CLIENT_ID,
    API,
    VERSION,
)
"""What batches and records repeat of their exchange, so that few questions need a join."""

BATCHES: Final = Table(
    "batches",
    "A record batch in a Produce request or in the response to a Fetch or ShareFetch; before"
    " Kafka 0.11 a message.",
    (*EXCHANGE_KEY, "batch_index"),
    (
        *_EXCHANGE,
        BATCH_INDEX,
        Column("acks", INT, "", "Of the Produce request: -1 (all), 0 or 1."),
        Column("transactional_id", STRING, "", "Of the Produce request."),
        Column("replica_id", INT, "", "Who fetches: a broker that follows, or -1 for a consumer."),
        TOPIC,
        TOPIC_ID,
        PARTITION,
        Column("base_offset", BIGINT, "", "Of its first record; null if it cannot be told."),
        Column("last_offset", BIGINT, "", "Of its last record."),
        Column("record_count", BIGINT, "", "Records in it; null if it cannot be told."),
        Column("size_bytes", BIGINT, "bytes", "Its size with its header, compressed as it is."),
        Column("magic", INT, "", "Version of the format: 2, or 0 and 1 before Kafka 0.11."),
        Column("compression", STRING, "", "`none`, `gzip`, `snappy`, `lz4` or `zstd`."),
        Column("timestamp_type", STRING, "", "`CreateTime` or `LogAppendTime`."),
        Column("base_timestamp_ms", BIGINT, "ms", "What its timestamps count from, since 1970."),
        Column("max_timestamp_ms", BIGINT, "ms", "Its latest timestamp, since 1970."),
        Column("producer_id", BIGINT, "", "Of an idempotent producer, else -1."),
        Column("producer_epoch", INT, "", "Of an idempotent producer, else -1."),
        Column("base_sequence", INT, "", "Of an idempotent producer, else -1."),
        Column("partition_leader_epoch", INT, "", "Set by the broker; -1 in requests."),
        Column("is_transactional", BOOLEAN, "", "Whether it is part of a transaction."),
        Column("is_control", BOOLEAN, "", "Whether it marks the end of a transaction or the like."),
        Column("crc_ok", BOOLEAN, "", "Whether its checksum fits."),
    ),
)

RECORDS: Final = Table(
    "records",
    "A record of a batch; written only when asked for, because it is what users wrote.",
    (*EXCHANGE_KEY, "batch_index", "record_index"),
    (
        *_EXCHANGE,
        BATCH_INDEX,
        Column("record_index", INT, "", "Which record of the batch, from 0."),
        TOPIC,
        TOPIC_ID,
        PARTITION,
        Column(
            "record_offset", BIGINT, "", "Its offset; in a Produce request relative to the batch's."
        ),
        Column("timestamp_ms", BIGINT, "ms", "Since 1970; -1 for none."),
        Column("type", STRING, "", "What a control record or one of Kafka's own topics says."),
        Column("key", STRING, "", "Text, or JSON where `type` is set; null for none."),
        Column("key_b64", STRING, "", "The key in base64, where it is not UTF-8."),
        Column("value", STRING, "", "As `key`."),
        Column("value_b64", STRING, "", "As `key_b64`."),
        Column("headers", STRING, "", "JSON: a list of [name, value]."),
        Column("fault", STRING, "", "Why the batch cannot be read; one row stands for it then."),
    ),
)
