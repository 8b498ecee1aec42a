"""The columns of `exchanges`: the facts of the JSON document of an exchange, flat."""

from typing import Final

from kdiag.report.tables.column import (
    API,
    API_RANGES,
    BIGINT,
    BOOLEAN,
    BROKER,
    CLIENT,
    CLIENT_HOST,
    CLIENT_ID,
    CONNECTION_ID,
    CORRELATION_ID,
    DOUBLE,
    EXCHANGE_KEY,
    INT,
    STRING,
    STRINGS,
    TIME,
    TIME_NS,
    TOPIC_PARTITIONS,
    VERSION,
    WHY,
    Column,
    Table,
)

_HEAD: Final = (
    Column("number", BIGINT, "", "From 1 in the order of first bytes, within one run."),
    TIME,
    TIME_NS,
    Column("connection", BIGINT, "", "Number of the connection within one run."),
    CONNECTION_ID,
    CLIENT,
    CLIENT_HOST,
    BROKER,
    CLIENT_ID,
    Column("api_key", INT, "", "Key of the API; null if unknown."),
    API,
    VERSION,
    CORRELATION_ID,
    Column(
        "status",
        STRING,
        "",
        "`ok`, or what is the matter: `malformed`, `partial`, `undecoded`, `unmatched`,"
        " `unanswered`, `no_response` (acks=0), `opaque`.",
    ),
    Column(
        "latency_us",
        DOUBLE,
        "us",
        "From the last byte of the request to the first of the response; null without either.",
    ),
    Column("error", STRING, "", "Name of the first error in the response; null if there is none."),
    Column("guessed", BOOLEAN, "", "Whether API and version were found by trial."),
)

_SUBJECT: Final = (
    Column("topics", STRINGS, "", "Topics it is about, sorted; the id where no name is known."),
    Column("topic_ids", STRINGS, "", "Topic ids on the wire, sorted."),
    Column(
        "session_topics",
        TOPIC_PARTITIONS,
        "",
        "What the session of an incremental fetch reads: topics, or ids from version 13 on.",
    ),
    Column("groups", STRINGS, "", "Groups it is about, sorted."),
    Column("transactional_ids", STRINGS, "", "Transactional ids it is about, sorted."),
    Column(
        "throttle_ms",
        INT,
        "ms",
        "How long a quota holds the client back; 0 also where the version cannot"
        " tell it, null where the API cannot.",
    ),
    Column("acks", INT, "", "Of a Produce request: -1 (all), 0 or 1."),
    Column(
        "replica_id", INT, "", "Of a Fetch request: the broker that follows; -1 for a consumer."
    ),
    Column("partitions", INT, "", "Partitions in a Produce request or in a fetch's response."),
    Column("batches", INT, "", "Record batches in them; null for other APIs."),
    Column("records", BIGINT, "", "Records in these; null also if a batch does not tell."),
    Column("records_bytes", BIGINT, "bytes", "Size of these batches, as compressed as they are."),
    Column("client_software_name", STRING, "", "What the client calls itself in ApiVersions."),
    Column("client_software_version", STRING, "", "The version that it gives there."),
    Column("sasl_mechanism", STRING, "", "What a SaslHandshake asks for."),
    Column("broker_versions", API_RANGES, "", "What the response to ApiVersions says of each API."),
)


def _side(side: str) -> tuple[Column, ...]:
    """Return the columns of the request or of the response; all are null without it."""
    return (
        Column(f"{side}_status", STRING, "", f"As `status`, of the {side} alone."),
        Column(f"{side}_why", WHY, "", "Where reading stopped, and why; null if it did not."),
        Column(f"{side}_first_byte_ns", BIGINT, "ns", "When its first byte was seen, since 1970."),
        Column(f"{side}_last_byte_ns", BIGINT, "ns", "When its last byte was seen, since 1970."),
        Column(f"{side}_bytes", BIGINT, "bytes", "Size of the frame, without the length prefix."),
        Column(f"{side}_segments", INT, "", "TCP segments that carried the frame."),
        Column(f"{side}_first_packet", BIGINT, "", "Number of the packet it begins in, from 1."),
        Column(f"{side}_last_packet", BIGINT, "", "Number of the packet that completed it."),
        Column(
            f"{side}_starts_in_segment_with",
            INT,
            "",
            "How many other frames have bytes in the segment it begins in.",
        ),
        Column(f"{side}_gap_bytes", BIGINT, "bytes", "Bytes of it that the capture lacks."),
        Column(
            f"{side}_body", STRING, "", "Kafka's own JSON of the body; null if left out or unread."
        ),
    )


EXCHANGES: Final = Table(
    "exchanges",
    "A request and its response.",
    EXCHANGE_KEY,
    (*_HEAD, *_SUBJECT, *_side("request"), *_side("response")),
)
