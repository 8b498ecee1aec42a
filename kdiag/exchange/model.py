"""Connections: who speaks to whom, what they speak, and what TCP did on the way."""

from enum import StrEnum

import msgspec

from kdiag.exchange.tcp_facts import TcpFacts


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
