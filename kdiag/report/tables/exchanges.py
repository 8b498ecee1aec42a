"""The row of an exchange in `exchanges`: its columns in their order."""

from typing import Any, Final, NamedTuple, TypeAlias

from kdiag.errors import DecodeError
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.body import Bodies, BodyForm
from kdiag.exchange.documents.document import DocumentEncoder, api_name
from kdiag.exchange.model import Connection
from kdiag.exchange.side import Side
from kdiag.exchange.topic_names import TopicNames
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
from kdiag.wire import api_keys
from kdiag.wire.records.batch import RecordBatch

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


def _side_columns(side: str) -> tuple[Column, ...]:
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
    (*_HEAD, *_SUBJECT, *_side_columns("request"), *_side_columns("response")),
)


NS_PER_US: Final = 1000
_RecordCounts: TypeAlias = tuple[int | None, int | None, int | None, int | None]

_NO_SIDE: Final = (None,) * 10


class BodyTexts:
    """Makes the bodies of exchanges as JSON text."""

    def __init__(self, names: TopicNames, *, show_secrets: bool = False) -> None:
        self._bodies = Bodies(names, BodyForm(show_secrets=show_secrets))
        self._encode = DocumentEncoder().encode

    def text(self, dissection: Dissection, side: Side | None, *, is_response: bool) -> bytes | None:
        """Return the body of a side in UTF-8; None if there is none that could be read."""
        if side is None:
            return None
        body, _ = self._bodies.make(dissection, side, is_response=is_response)
        return None if body is None else self._encode(body)


class Subject(NamedTuple):
    """What a few APIs tell besides what all do; None where an exchange does not tell it."""

    throttle_ms: int | None = None
    acks: int | None = None
    replica_id: int | None = None
    partitions: int | None = None
    batches: int | None = None
    records: int | None = None
    records_bytes: int | None = None
    client_software_name: str | None = None
    client_software_version: str | None = None
    sasl_mechanism: str | None = None
    broker_versions: list[tuple[int, int, int]] | None = None


def exchange_row(
    dissection: Dissection, names: TopicNames, bodies: BodyTexts | None
) -> tuple[Any, ...]:
    """Return a row of `exchanges`.

    Args:
        dissection: the exchange; what its fetch session reads is told already.
        names: the names of topic ids that are known.
        bodies: makes the bodies; None to leave them out.
    """
    exchange, connection = dissection.exchange, dissection.exchange.connection
    time_ns, latency_ns = exchange.time_ns, exchange.latency_ns
    request, response = dissection.request, dissection.response
    ids = dissection.topic_ids
    request_body = response_body = None
    if bodies is not None:
        request_body = bodies.text(dissection, request, is_response=False)
        response_body = bodies.text(dissection, response, is_response=True)
    return (
        exchange.number,
        time_ns // NS_PER_US,
        time_ns,
        connection.number,
        connection.connection_id,
        connection.client,
        client_host(connection),
        connection.broker,
        exchange.client_id,
        exchange.api_key,
        api_name(exchange),
        exchange.version,
        exchange.correlation_id,
        dissection.status.value,
        None if latency_ns is None else latency_ns / NS_PER_US,
        dissection.error,
        exchange.guessed,
        sorted(dissection.topics.union(names.name(each) or each for each in ids)),
        sorted(ids),
        dissection.session_topics,
        sorted(dissection.groups),
        sorted(dissection.transactional_ids),
        *_subject(exchange.api_key, request, response),
        *_side(request),
        request_body,
        *_side(response),
        response_body,
    )


def client_host(connection: Connection) -> str:
    """Return the address of the client without its port, IPv6 without brackets."""
    return connection.client.rpartition(":")[0].strip("[]")


def _side(side: Side | None) -> tuple[Any, ...]:
    """Return the facts of a side up to its body."""
    if side is None:
        return _NO_SIDE
    frame, why = side.frame, side.why
    return (
        side.status.value,
        None if why is None else (why.offset, why.path, why.reason),
        frame.first_byte_ns,
        frame.last_byte_ns,
        frame.size,
        frame.segments,
        frame.first_packet,
        frame.last_packet,
        frame.starts_in_segment_with,
        frame.gap_bytes,
    )


def _subject(api_key: int | None, request: Side | None, response: Side | None) -> Subject:
    """Return what is told by messages of single APIs."""
    throttle_ms = told(response, "throttle_time_ms", "throttleTimeMs")
    if api_key == api_keys.PRODUCE:
        acks = told(request, "acks", "acks")
        return Subject(throttle_ms, acks, None, *_count_records(request))
    if api_key in (api_keys.FETCH, api_keys.SHARE_FETCH):
        return Subject(throttle_ms, None, replica_id(request), *_count_records(response))
    if api_key == api_keys.API_VERSIONS:
        return Subject(
            throttle_ms,
            client_software_name=told(request, "client_software_name", "clientSoftwareName")
            or None,
            client_software_version=told(
                request, "client_software_version", "clientSoftwareVersion"
            )
            or None,
            broker_versions=_broker_versions(response),
        )
    if api_key == api_keys.SASL_HANDSHAKE:
        return Subject(throttle_ms, sasl_mechanism=told(request, "mechanism", "mechanism"))
    return Subject(throttle_ms)


def told(side: Side | None, name: str, json_name: str) -> Any:
    """Return a field of a side's message; None if it has none or is cut before it."""
    if side is None or (side.body is not None and json_name not in side.body):
        return None
    return getattr(side.message, name, None)


def replica_id(fetch: Side | None) -> int | None:
    """Return which broker fetches, or -1 for a consumer; in requests from version 15 on a tag."""
    state = told(fetch, "replica_state", "replicaState")
    if state is not None and state.replica_id >= 0:
        return int(state.replica_id)
    number: int | None = told(fetch, "replica_id", "replicaId")
    return number


def _broker_versions(response: Side | None) -> list[tuple[int, int, int]] | None:
    keys = told(response, "api_keys", "apiKeys")
    if keys is None:
        return None
    return [(each.api_key, each.min_version, each.max_version) for each in keys]


def _count_records(side: Side | None) -> _RecordCounts:
    """Return partitions, batches, records and bytes of the batches in a side."""
    if side is None or side.message is None:
        return None, None, None, None
    batches = [batch for field in side.batches for batch in field or ()]
    counts = [record_count(batch) for batch in batches]
    records = sum(count for count in counts if count is not None)
    return (
        len(side.batches),
        len(batches),
        None if None in counts else records,
        sum(batch.size_in_bytes for batch in batches),
    )


def record_count(batch: RecordBatch) -> int | None:
    """Return how many records a batch has; None where its messages would tell and are wrong."""
    try:
        return batch.record_count
    except DecodeError:
        return None
