"""The table `exchanges`: a row for each request and its response.

    ExchangeFacts    an exchange, dissected, with its batches counted
    SideFacts        its request, or its response
    Column           declared with the function that reads its value from the facts
    exchange_row     the cells in the order of the columns

A new column is one `Column` here, at the end of its group.
"""

from typing import Any, Final, NamedTuple

from msgspec import Struct

from kdiag.clock import NS_PER_MS, NS_PER_US
from kdiag.errors import DecodeError
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Connection, Exchange
from kdiag.exchange.side import Side, Why
from kdiag.exchange.waits import allowed_wait_ns
from kdiag.report.tables.body_texts import BodyTexts, OfShared
from kdiag.report.tables.column import (
    API_RANGES,
    BIGINT,
    BOOLEAN,
    BROKER,
    CLIENT,
    CLIENT_HOST,
    CONNECTION_ID,
    DOUBLE,
    INT,
    STRING,
    STRINGS,
    TIMESTAMP,
    TOPIC_PARTITIONS,
    WHY,
    Column,
    Table,
    cells_of,
)
from kdiag.report.tables.outcomes import COLUMNS as OF_OUTCOMES
from kdiag.wire import api_keys
from kdiag.wire.frame import Frame
from kdiag.wire.records.batch import RecordBatch

FETCH_KEYS: Final = (api_keys.FETCH, api_keys.SHARE_FETCH)

EXCHANGE_KEY: Final = ("connection_id", "time_ns", "correlation_id")
"""The columns that the rows of an exchange, of its batches and of its records share.

Two exchanges would share it only if a client began two requests with the same correlation id on one
connection in the same nanosecond.
"""


class RecordCounts(NamedTuple):
    """How much is in the batches of an exchange; None where that is not known."""

    partitions: int | None = None
    batches: int | None = None
    records: int | None = None
    bytes: int | None = None


_NO_COUNTS: Final = RecordCounts()


class ExchangeFacts(Struct, gc=False):
    """An exchange, as the columns read it.

    Attributes:
        dissection: the exchange; its fetch session was followed already.
        names: the names of topic ids that are known.
        exchange, connection, api_key, time_ns, request, response: of the exchange.
        counts: of its batches.
    """

    dissection: Dissection
    names: TopicNames
    exchange: Exchange
    connection: Connection
    api_key: int | None
    time_ns: int
    request: Side | None
    response: Side | None
    counts: RecordCounts

    @property
    def topics(self) -> list[str]:
        """Return the topics, sorted, by id where no name is known."""
        ids = self.dissection.topic_ids
        if not ids:
            return sorted(self.dissection.topics)
        name = self.names.name
        return sorted(self.dissection.topics.union([name(each) or each for each in ids]))

    def of_request(self, api_key: int, name: str, json_name: str) -> Any:
        """Return a field of the request of one API; None for all others."""
        return field_of(self.request, name, json_name) if self.api_key == api_key else None

    @property
    def allowed_wait_ms(self) -> int | None:
        """Return how long the request lets the broker wait; None if it does not."""
        return allowed_wait_ns(self.dissection) // NS_PER_MS or None

    @property
    def asks_all_topics(self) -> bool | None:
        """Return whether a Metadata request names no topic; None for other APIs.

        No list of topics asks for all of them, in version 0 an empty one; an empty one asks for
        none from version 1 on.
        """
        request = self.request
        if self.api_key != api_keys.METADATA or request is None or request.message is None:
            return None
        if request.body is not None and "topics" not in request.body:
            return None
        topics = request.message.topics
        return topics is None or (not topics and self.exchange.version == 0)

    @property
    def replica_id(self) -> int | None:
        """Return which broker fetches, or -1 for a consumer; None for other APIs."""
        if self.api_key not in FETCH_KEYS:
            return None
        state = field_of(self.request, "replica_state", "replicaState")  # a tag from version 15 on
        if state is not None and state.replica_id >= 0:
            return int(state.replica_id)
        number: int | None = field_of(self.request, "replica_id", "replicaId")
        return number


TIME: Final[Column[ExchangeFacts]] = Column(
    "time",
    TIMESTAMP,
    "When the first byte of the exchange was seen, UTC, to the microsecond.",
    lambda of: of.time_ns // NS_PER_US,
)
TIME_NS: Final[Column[ExchangeFacts]] = Column(
    "time_ns",
    BIGINT,
    "The same since 1970, with all digits that the capture has.",
    lambda of: of.time_ns,
    unit="ns",
)
CLIENT_ID: Final[Column[ExchangeFacts]] = Column(
    "client_id",
    STRING,
    "Of the request header; null if there is none or it was not seen.",
    lambda of: of.exchange.client_id,
)
API: Final[Column[ExchangeFacts]] = Column(
    "api",
    STRING,
    "Kafka's name of the API, such as `Fetch`; null if unknown.",
    lambda of: of.dissection.api,
)
VERSION: Final[Column[ExchangeFacts]] = Column(
    "version", INT, "Version of the API; null if unknown.", lambda of: of.exchange.version
)
CORRELATION_ID: Final[Column[ExchangeFacts]] = Column(
    "correlation_id",
    INT,
    "Of the header; null for a frame without one, such as a SASL token.",
    lambda of: of.exchange.correlation_id,
)

_HEAD: Final[tuple[Column[ExchangeFacts], ...]] = (
    Column(
        "number",
        BIGINT,
        "From 1 in the order of first bytes, within one run.",
        lambda of: of.exchange.number,
    ),
    TIME,
    TIME_NS,
    Column(
        "connection",
        BIGINT,
        "Number of the connection within one run.",
        lambda of: of.connection.number,
    ),
    CONNECTION_ID,
    CLIENT,
    CLIENT_HOST,
    BROKER,
    CLIENT_ID,
    Column("api_key", INT, "Key of the API; null if unknown.", lambda of: of.api_key),
    API,
    VERSION,
    CORRELATION_ID,
    Column(
        "status",
        STRING,
        "`ok`, or what is the matter: `malformed`, `partial`, `undecoded`, `unmatched`,"
        " `unanswered`, `no_response` (acks=0), `opaque`.",
        lambda of: of.dissection.status,
    ),
    Column(
        "latency_us",
        DOUBLE,
        "From the last byte of the request to the first of the response; null without either,"
        " and where clocks that differ let the response come first.",
        lambda of: _in_us(of.exchange.latency_ns),
        unit="us",
    ),
    Column(
        "error",
        STRING,
        "Name of the first error in the response; null if there is none.",
        lambda of: of.dissection.error,
    ),
    Column(
        "unanswered_reason",
        STRING,
        "Why it is `unanswered`: `in_flight`, `client_closed`, `broker_reset`, `broker_closed`,"
        " `skipped` (later requests were answered), `answer_not_captured`,"
        " `answer_not_understood`, `responses_not_captured`, `end_not_captured`, `given_up`;"
        " else null.",
        lambda of: of.exchange.unanswered_reason,
    ),
    Column(
        "is_violation",
        BOOLEAN,
        "Whether the broker breaks the protocol: a response to no request, though no byte of"
        " requests is missing, or one after that to a later request.",
        lambda of: of.exchange.is_violation,
    ),
    Column(
        "guessed",
        BOOLEAN,
        "Whether API and version were found by trial.",
        lambda of: of.exchange.guessed,
    ),
    Column(
        "transfer_us",
        DOUBLE,
        "From the first byte of the response to its last, on top of `latency_us`; null without it.",
        lambda of: _in_us(of.exchange.transfer_ns),
        unit="us",
    ),
    Column(
        "end_time",
        TIMESTAMP,
        "When the last byte of the exchange was seen, UTC, to the microsecond.",
        lambda of: of.exchange.end_ns // NS_PER_US,
    ),
)

_MENTIONS: Final[tuple[Column[ExchangeFacts], ...]] = (
    Column(
        "topics",
        STRINGS,
        "Topics it is about, sorted; the id where no name is known.",
        lambda of: of.topics,
    ),
    Column(
        "topic_ids",
        STRINGS,
        "Topic ids on the wire, sorted.",
        lambda of: sorted(of.dissection.topic_ids),
    ),
    Column(
        "session_topics",
        TOPIC_PARTITIONS,
        "What the session of an incremental fetch reads: topics, or ids from version 13 on.",
        lambda of: of.dissection.session_topics,
    ),
    Column(
        "groups", STRINGS, "Groups it is about, sorted.", lambda of: sorted(of.dissection.groups)
    ),
    Column(
        "transactional_ids",
        STRINGS,
        "Transactional ids it is about, sorted.",
        lambda of: sorted(of.dissection.transactional_ids),
    ),
    Column(
        "throttle_ms",
        INT,
        "How long a quota holds the client back; 0 also where the version cannot"
        " tell it, null where the API cannot.",
        lambda of: field_of(of.response, "throttle_time_ms", "throttleTimeMs"),
        unit="ms",
    ),
)

_OF_SOME_APIS: Final[tuple[Column[ExchangeFacts], ...]] = (
    Column(
        "acks",
        INT,
        "Of a Produce request: -1 (all), 0 or 1.",
        lambda of: of.of_request(api_keys.PRODUCE, "acks", "acks"),
    ),
    Column(
        "replica_id",
        INT,
        "Of a Fetch request: the broker that follows; -1 for a consumer.",
        lambda of: of.replica_id,
    ),
    Column(
        "allowed_wait_ms",
        INT,
        "How long the request lets the broker wait on purpose: `max_wait_ms` of fetches, the"
        " rebalance timeout of JoinGroup; null for other APIs.",
        lambda of: of.allowed_wait_ms,
        unit="ms",
    ),
    Column(
        "min_bytes",
        INT,
        "Of a Fetch request: how much to wait for.",
        lambda of: of.of_request(api_keys.FETCH, "min_bytes", "minBytes"),
        unit="bytes",
    ),
    Column(
        "session_epoch",
        INT,
        "Of a Fetch request: 0 asks for a session (KIP-227), -1 does without, above it goes on.",
        lambda of: of.of_request(api_keys.FETCH, "session_epoch", "sessionEpoch"),
    ),
    Column(
        "asks_all_topics",
        BOOLEAN,
        "Whether a Metadata request asks for all topics of the cluster.",
        lambda of: of.asks_all_topics,
    ),
    Column(
        "partitions",
        INT,
        "Partitions in a Produce request or in a fetch's response.",
        lambda of: of.counts.partitions,
    ),
    Column(
        "batches", INT, "Record batches in them; null for other APIs.", lambda of: of.counts.batches
    ),
    Column(
        "records",
        BIGINT,
        "Records in these; null also if a batch does not tell.",
        lambda of: of.counts.records,
    ),
    Column(
        "records_bytes",
        BIGINT,
        "Size of these batches, as compressed as they are.",
        lambda of: of.counts.bytes,
        unit="bytes",
    ),
    Column(
        "client_software_name",
        STRING,
        "What the client calls itself in ApiVersions.",
        lambda of: (
            of.of_request(api_keys.API_VERSIONS, "client_software_name", "clientSoftwareName")
            or None
        ),
    ),
    Column(
        "client_software_version",
        STRING,
        "The version that it gives there.",
        lambda of: (
            of.of_request(api_keys.API_VERSIONS, "client_software_version", "clientSoftwareVersion")
            or None
        ),
    ),
    Column(
        "sasl_mechanism",
        STRING,
        "What a SaslHandshake asks for.",
        lambda of: of.of_request(api_keys.SASL_HANDSHAKE, "mechanism", "mechanism"),
    ),
    Column(
        "broker_versions",
        API_RANGES,
        "What the response to ApiVersions says of each API.",
        lambda of: _broker_versions(of) if of.api_key == api_keys.API_VERSIONS else None,
    ),
)


class SideFacts(Struct, gc=False):
    """The request or the response of an exchange, as the columns read it.

    Attributes:
        side: as far as it could be read.
        frame: of it.
        body: as JSON in UTF-8; None if it is left out or could not be read.
    """

    side: Side
    frame: Frame
    body: bytes | None


def _side_columns(side: str) -> tuple[Column[SideFacts], ...]:
    """Return the columns of the request or of the response; all are null without it."""
    return (
        Column(
            f"{side}_status",
            STRING,
            f"As `status`, of the {side} alone.",
            lambda of: of.side.status,
        ),
        Column(
            f"{side}_why",
            WHY,
            "Where reading stopped, and why; null if it did not.",
            lambda of: None if of.side.why is None else _why(of.side.why),
        ),
        Column(
            f"{side}_first_byte_ns",
            BIGINT,
            "When its first byte was seen, since 1970.",
            lambda of: of.frame.first_byte_ns,
            unit="ns",
        ),
        Column(
            f"{side}_last_byte_ns",
            BIGINT,
            "When its last byte was seen, since 1970.",
            lambda of: of.frame.last_byte_ns,
            unit="ns",
        ),
        Column(
            f"{side}_bytes",
            BIGINT,
            "Size of the frame, without the length prefix.",
            lambda of: of.frame.size,
            unit="bytes",
        ),
        Column(
            f"{side}_segments",
            INT,
            "TCP segments that carried the frame.",
            lambda of: of.frame.segments,
        ),
        Column(
            f"{side}_first_packet",
            BIGINT,
            "Number of the packet it begins in, from 1.",
            lambda of: of.frame.first_packet,
        ),
        Column(
            f"{side}_last_packet",
            BIGINT,
            "Number of the packet that completed it.",
            lambda of: of.frame.last_packet,
        ),
        Column(
            f"{side}_starts_in_segment_with",
            INT,
            "How many other frames have bytes in the segment it begins in.",
            lambda of: of.frame.starts_in_segment_with,
        ),
        Column(
            f"{side}_gap_bytes",
            BIGINT,
            "Bytes of it that the capture lacks.",
            lambda of: of.frame.gap_bytes,
            unit="bytes",
        ),
        Column(
            f"{side}_body",
            STRING,
            "Kafka's own JSON of the body; null if left out or unread.",
            lambda of: of.body,
        ),
    )


_OF_REQUEST: Final = _side_columns("request")
_OF_RESPONSE: Final = _side_columns("response")
_OF_EXCHANGE: Final[tuple[Column[ExchangeFacts], ...]] = (
    *(*_HEAD, *_MENTIONS, *_OF_SOME_APIS),
    *OF_OUTCOMES,
)

EXCHANGES: Final = Table(
    "exchanges",
    "A request and its response.",
    EXCHANGE_KEY,
    (*_OF_EXCHANGE, *_OF_REQUEST, *_OF_RESPONSE),
)

_exchange_cells = cells_of(_OF_EXCHANGE)
_side_cells = cells_of(_OF_REQUEST)
_NO_SIDE: Final = (None,) * len(_OF_REQUEST)


def facts_of(dissection: Dissection, names: TopicNames) -> ExchangeFacts:
    """Return the facts of an exchange.

    Args:
        dissection: the exchange; its fetch session was followed already.
        names: the names of topic ids that are known.
    """
    exchange, request, response = dissection.exchange, dissection.request, dissection.response
    api_key = exchange.api_key
    counts = _NO_COUNTS
    if api_key == api_keys.PRODUCE:
        counts = _count_records(request)
    elif api_key in FETCH_KEYS:
        counts = _count_records(response)
    return ExchangeFacts(
        dissection,
        names,
        exchange,
        exchange.connection,
        api_key,
        exchange.time_ns,
        request,
        response,
        counts,
    )


def exchange_row(facts: ExchangeFacts, bodies: BodyTexts | None) -> tuple[Any, ...]:
    """Return a row of `exchanges`.

    Args:
        facts: the exchange.
        bodies: makes the bodies; None to leave them out.
    """
    request = _of_side(facts, facts.request, bodies, is_response=False)
    response = _of_side(facts, facts.response, bodies, is_response=True)
    return _exchange_cells(facts) + request + response


def _of_side(
    facts: ExchangeFacts, side: Side | None, bodies: BodyTexts | None, *, is_response: bool
) -> tuple[Any, ...]:
    if side is None:
        return _NO_SIDE
    body = None if bodies is None else bodies.text(facts.dissection, side, is_response=is_response)
    return _side_cells(SideFacts(side, side.frame, body))


def field_of(side: Side | None, name: str, json_name: str) -> Any:
    """Return a field of a side's message; None if it has none or is cut before it."""
    if side is None or (side.body is not None and json_name not in side.body):
        return None
    return getattr(side.message, name, None)


def _in_us(time_ns: int | None) -> float | None:
    return None if time_ns is None else time_ns / NS_PER_US


def _why(why: Why) -> tuple[int, str, str]:
    return why.offset, why.path, why.reason


_ranges: OfShared[list[tuple[int, int, int]]] = OfShared()


def _broker_versions(of: ExchangeFacts) -> list[tuple[int, int, int]] | None:
    response = of.response
    keys = field_of(response, "api_keys", "apiKeys")
    if response is None or keys is None:
        return None

    def make() -> list[tuple[int, int, int]]:
        return [(each.api_key, each.min_version, each.max_version) for each in keys]

    return _ranges.of(response, make) if response.is_shared else make()


def _count_records(side: Side | None) -> RecordCounts:
    """Return partitions, batches, records and bytes of the batches in a side."""
    if side is None or side.message is None:
        return _NO_COUNTS
    batches = [batch for field in side.batches for batch in field or ()]
    counts = [_record_count(batch) for batch in batches]
    return RecordCounts(
        len(side.batches),
        len(batches),
        None if None in counts else sum(count or 0 for count in counts),
        sum(batch.size_in_bytes for batch in batches),
    )


def _record_count(batch: RecordBatch) -> int | None:
    """Return how many records a batch has; None if it is too damaged to be counted."""
    try:
        return batch.record_count
    except DecodeError:
        return None
