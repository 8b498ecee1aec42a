"""Connections: who speaks to whom, what they speak, and what TCP did on the way."""

from enum import StrEnum

import msgspec

from kdiag.exchange.tcp_facts import TcpFacts
from kdiag.wire.frame import Frame


class Protocol(StrEnum):
    """What a connection turned out to carry."""

    UNKNOWN = "unknown"
    KAFKA = "kafka"
    TLS = "tls"
    HTTP = "http"
    REDIS = "redis"
    EMPTY = "empty"
    """Opened and closed without a byte: a health check or a port scan."""


class Connection(msgspec.Struct, kw_only=True):
    """One TCP connection; a reused 4-tuple is a new one.

    Attributes:
        number: from 1 in the order of first packets, within one run.
        connection_id: the same in every run: the 5-tuple and the time of the first packet.
        client: `ip:port` of the end that asks (IPv6 in brackets).
        broker: `ip:port` of the end that answers.
        first_ns, last_ns: times of the first and last packet, since 1970.
        protocol: what it carries.
        tls_version, sni: read from a TLS handshake, where there is one.
        requests, responses: frames seen in each direction.
        request_bytes, response_bytes: TCP payload bytes, without retransmissions.
        duplicates: segments that carried nothing new.
        gaps, gap_bytes: holes declared in either direction and their size.
        close_reason: `fin`, `rst`, `reused` (a new SYN on its 4-tuple), `end of capture` or `idle`,
            where a stream has given it up.
        client_software: name and version that the client gave in ApiVersions (KIP-511).
        tcp: what TCP did; None if nobody asked for it.
    """

    number: int
    connection_id: str
    client: str
    broker: str
    first_ns: int
    last_ns: int
    protocol: Protocol = Protocol.UNKNOWN
    tls_version: str | None = None
    sni: str | None = None
    requests: int = 0
    responses: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    duplicates: int = 0
    gaps: int = 0
    gap_bytes: int = 0
    close_reason: str | None = None
    client_software: tuple[str, str] | None = None
    tcp: TcpFacts | None = None


class Gap(msgspec.Struct, kw_only=True):
    """Bytes of one direction of a connection that the capture does not hold.

    Attributes:
        connection: the connection that lost them.
        direction: `request` (client to broker) or `response`.
        time_ns: when the gap was declared, since 1970.
        offset: where in that direction's byte stream it starts, from 0 at its first byte.
        size: how many bytes are missing.
        reason: why it was declared a gap rather than waited for.
    """

    connection: Connection
    direction: str
    time_ns: int
    offset: int
    size: int
    reason: str


class Status(StrEnum):
    """How much of a side, or of an exchange, could be read."""

    MALFORMED = "malformed"
    PARTIAL = "partial"
    UNDECODED = "undecoded"
    UNMATCHED = "unmatched"
    UNANSWERED = "unanswered"
    NO_RESPONSE = "no_response"
    OPAQUE = "opaque"
    OK = "ok"


class Exchange(msgspec.Struct, kw_only=True):
    """A request and its response, with the frames they came in; bodies are decoded on demand.

    Attributes:
        number: from 1 in the order of the exchanges' first bytes, within one run.
        connection: the connection that carried both.
        api_key: None when it is not known (a response without its request, a SASL token).
        version: the request's API version; None as above.
        correlation_id: of the header; None for a frame without one (a SASL token).
        client_id: of the request header.
        request: the request's frame, or None when it was not seen.
        response: the response's frame, or None when there is none.
        pairing: what the pairing alone says: `ok`, `no_response` (acks=0), `unanswered`,
            `unmatched` (a response without its request), `opaque` (SASL tokens).
        guessed: whether `api_key` and `version` were found by trial.
        session_topics: for an incremental fetch, the (topic or topic id, partition) pairs of its
            session.
    """

    number: int
    connection: Connection
    api_key: int | None
    version: int | None
    correlation_id: int | None
    client_id: str | None
    request: Frame | None
    response: Frame | None
    pairing: Status = Status.OK
    guessed: bool = False
    session_topics: list[tuple[str, int]] | None = None

    @property
    def time_ns(self) -> int:
        """Return when its first byte was seen, since 1970."""
        frame = self.request or self.response
        assert frame is not None
        return frame.first_byte_ns

    @property
    def latency_ns(self) -> int | None:
        """Return the time from the request's last byte to the response's first; None if unpaired.

        A response that overtakes its request's last byte (a broker that refuses early) is 0.
        """
        if self.request is None or self.response is None:
            return None
        return max(0, self.response.first_byte_ns - self.request.last_byte_ns)
