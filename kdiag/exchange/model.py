"""The traffic of Kafka as values: connections, the exchanges on them, and gaps in the recording.

    Connection 1   10.0.0.5:41122 → 10.0.0.9:9092
      Exchange 1     request → response            API, version, correlation id, two frames
      Exchange 2     request → (none)              unanswered
      Gap            1,448 bytes of responses      a segment that the capture lacks
      Gap            27 bytes of requests          here, but no frame could be made of them

The capture decoder makes them of packets, the client of what it sends and receives. Bodies stay
bytes: `dissection` reads them on demand.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Final, NamedTuple

import msgspec

from kdiag.exchange.tcp_facts import TcpFacts
from kdiag.wire.frame import Frame


class Protocol(StrEnum):
    """The protocol that a connection carries."""

    UNKNOWN = "unknown"
    KAFKA = "kafka"
    TLS = "tls"
    HTTP = "http"
    REDIS = "redis"
    EMPTY = "empty"
    """No byte at all: a health check or a port scan."""


class Sighting(msgspec.Struct, kw_only=True):
    """A connection once more, with other addresses: before or after NAT, or in another network.

    Attributes:
        client, broker: `ip:port` of its ends.
        request_hop_ns: how much later the first bytes were seen here, if the client sent them.
        response_hop_ns: how much sooner the broker's SYN/ACK was seen here; both are negative where
            the packets came by here first, or clocks differ.
    """

    client: str
    broker: str
    request_hop_ns: int | None = None
    response_hop_ns: int | None = None


class TlsAlert(NamedTuple):
    """An alert in the clear, or that was decrypted.

    Attributes:
        sender: `client` or `broker`.
        level: `warning` or `fatal`.
        name: such as `unknown_ca` (RFC 8446).
    """

    sender: str
    level: str
    name: str


class TlsFault(StrEnum):
    """What is wrong with the TLS of a connection, other than that it cannot be read."""

    HANDSHAKE = "handshake"
    BROKEN = "broken"
    PLAINTEXT_PORT = "plaintext port"
    TLS_PORT = "TLS port"


class Connection(msgspec.Struct, kw_only=True):
    """One TCP connection; a reused 4-tuple is a new one.

    Attributes:
        number: from 1 in the order of first packets, within one run.
        connection_id: the same in every run: the 5-tuple and the time of the first packet.
        client: `ip:port` of the end that sends requests (IPv6 in brackets).
        broker: `ip:port` of the end that sends responses.
        first_ns, last_ns: times of the first and last packet, since 1970.
        first_packet: the number of the first, from 1 over all inputs; 0 if it came in none.
        protocol: what it carries.
        preamble: a proxy's preamble in front of that, such as `PROXY v2 from 10.0.0.1:51000`.
        tls_version, tls_cipher_suite, tls_alpn, sni: read from a TLS handshake, where there is one.
        tls_alerts: those that can be read, but for those that only end a connection.
        tls_fault: what kind of fault `tls_problem` is; None if it is none of the two ends.
        tls_problem: why its TLS was not made or cannot be read, with the evidence; None if nothing
            is wrong, or no key log was given.
        requests, responses: frames seen in each direction.
        request_bytes, response_bytes: TCP payload bytes, without retransmissions.
        duplicates: segments that carried nothing new.
        gaps, gap_bytes: number and size of the gaps in both directions, where bytes are missing.
        not_understood, not_understood_bytes: the same where bytes are here that are no frame.
        close_reason: `fin`, `rst`, `reused` (a new SYN on its 4-tuple), `jump` (its numbers go on
            elsewhere), `end of capture`, `idle` (silent for more than an hour) or `memory` (all
            connections together held too much); `refused` (a RST answered its SYN) or `no answer`
            if it was never made.
        closed_by, closed_ns: who sent the first FIN or RST, `client` or `broker`, and when, since
            1970; None if neither was seen.
        continues: id of the connection between its ends that was silent for so long that it was
            ended (`idle`), and of which these are later packets; None if it begins here.
        syns: SYNs of the client.
        client_software: name and version from the client's ApiVersions request (KIP-511).
        sasl_mechanism: what the client asked for, such as `SCRAM-SHA-512`; None without SASL.
        sasl_user: whom the client claimed to be there, at most 256 characters as they came (escape
            them); None if no token tells.
        sightings: where else the capture shows its packets; they count here only.
        tcp: the facts of TCP; None if they were not asked for.
    """

    number: int
    connection_id: str
    client: str
    broker: str
    first_ns: int
    last_ns: int
    first_packet: int = 0
    protocol: Protocol = Protocol.UNKNOWN
    preamble: str | None = None
    tls_version: str | None = None
    sni: str | None = None
    tls_cipher_suite: str | None = None
    tls_alpn: str | None = None
    tls_alerts: tuple[TlsAlert, ...] = ()
    tls_problem: str | None = None
    tls_fault: TlsFault | None = None
    requests: int = 0
    responses: int = 0
    request_bytes: int = 0
    response_bytes: int = 0
    duplicates: int = 0
    gaps: int = 0
    gap_bytes: int = 0
    not_understood: int = 0
    not_understood_bytes: int = 0
    close_reason: str | None = None
    closed_by: str | None = None
    closed_ns: int | None = None
    continues: str | None = None
    syns: int = 0
    client_software: tuple[str, str] | None = None
    sasl_mechanism: str | None = None
    sasl_user: str | None = None
    sightings: list[Sighting] = []
    tcp: TcpFacts | None = None

    @property
    def trouble(self) -> str | None:
        """Return why it carried nothing that can be read, in words; None if nothing is wrong."""
        return _TROUBLES.get(self.close_reason or "", self.tls_problem)


_TROUBLES: Final = {
    "refused": "refused: a RST answered the SYN, so nothing listens there",
    "no answer": "no answer to the SYN: the machine is off, or a firewall drops it",
}


class Status(StrEnum):
    """How much of a side, or of an exchange, was readable; the worst first."""

    __hash__ = str.__hash__  # that of Enum is a function of Python, and these are keys

    MALFORMED = "malformed"
    PARTIAL = "partial"
    UNDECODED = "undecoded"
    UNMATCHED = "unmatched"
    UNANSWERED = "unanswered"
    NO_RESPONSE = "no_response"
    OPAQUE = "opaque"
    OK = "ok"


class UnansweredReason(StrEnum):
    """Why a request has no response, by the evidence of the capture."""

    IN_FLIGHT = "in_flight"
    """The capture ends while it is open."""
    CLIENT_CLOSED = "client_closed"
    """The client closed the connection first."""
    BROKER_RESET = "broker_reset"
    """The broker reset the connection."""
    BROKER_CLOSED = "broker_closed"
    """The broker closed the connection without an answer."""
    SKIPPED = "skipped"
    """The broker answered later requests, but not this one."""
    ANSWER_NOT_CAPTURED = "answer_not_captured"
    """The capture lacks bytes of responses; the client acknowledged them."""
    ANSWER_NOT_UNDERSTOOD = "answer_not_understood"
    """The capture has bytes of the broker of which no frame could be made."""
    RESPONSES_NOT_CAPTURED = "responses_not_captured"
    """The capture has no packet of the broker, though the client acknowledged what it sent."""
    END_NOT_CAPTURED = "end_not_captured"
    """Another connection between the same ends followed; nobody saw how this one ended."""
    GIVEN_UP = "given_up"
    """Too many requests waited to remember it."""


FAULTY_REASONS: Final = frozenset(
    {UnansweredReason.BROKER_RESET, UnansweredReason.BROKER_CLOSED, UnansweredReason.SKIPPED}
)
"""Those that are a fault; what the capture lacks, or a client does not wait for, is none."""


class LoginPhase(StrEnum):
    """How far the login of a client is, when a request begins; see `secrets.login`."""

    UNKNOWN = "unknown"
    ASKED = "asked"
    OVER = "over"


class Exchange(msgspec.Struct, kw_only=True):
    """A request and its response, as frames; bodies are decoded on demand.

    Attributes:
        number: from 1 in the order of the exchanges' first bytes, within one run.
        connection: the connection that carried both.
        api_key: None if it is not known (a response without its request, a SASL token), or if a
            login may be in the frames.
        version: the request's API version; None as above.
        correlation_id: from the header; None for a frame without one (a bare SASL token).
        client_id: from the request header.
        request: the request's frame; None if it was not seen.
        response: the response's frame; None if there is none.
        pairing: the result of request/response matching alone: `ok`, `no_response` (acks=0),
            `unanswered`, `unmatched` (a response without its request), `opaque` (SASL tokens,
            and what may be one).
        unanswered_reason: why it was not answered; None if it was, or wants no answer.
        is_violation: whether the broker breaks the protocol: it is a response to no request, though
            no byte of requests is missing, or one that came after that to a later request.
        guessed: whether trial decoding found `api_key` and `version`; of a response that several
            versions of the API have, `version` is None.
        guessed_versions: the first and the last of these versions.
        guessed_error: the error code of such a response, or of one that several APIs have, where
            all agree; 0 without any.
        session_topics: for an incremental fetch, the (topic or topic id, partition) pairs of its
            session.
        login: how far the client's login was when it began; `over` as soon as it is known that the
            fields of both frames may be shown, also if they are damaged.
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
    unanswered_reason: UnansweredReason | None = None
    is_violation: bool = False
    guessed: bool = False
    guessed_versions: tuple[int, int] | None = None
    guessed_error: int = 0
    session_topics: list[tuple[str, int]] | None = None
    login: LoginPhase = LoginPhase.OVER

    @property
    def time_ns(self) -> int:
        """Return the time of its first byte, since 1970."""
        frame = self.request or self.response
        assert frame is not None
        return frame.first_byte_ns

    @property
    def latency_ns(self) -> int | None:
        """Return the time from the request's last byte to the response's first; None without both.

        None, too, where the response comes first: the clocks that recorded the two directions
        differ, by more than the broker needed.
        """
        if self.request is None or self.response is None:
            return None
        latency_ns = self.response.first_byte_ns - self.request.last_byte_ns
        return latency_ns if latency_ns >= 0 else None

    @property
    def transfer_ns(self) -> int | None:
        """Return the time from the response's first byte to its last; None without a response."""
        response = self.response
        if response is None:
            return None
        transfer_ns = response.last_byte_ns - response.first_byte_ns
        return transfer_ns if transfer_ns > 0 else 0  # noqa: FURB136 - max() takes thrice as long

    @property
    def timing_ns(self) -> tuple[int | None, int | None, int]:
        """Return `latency_ns`, `transfer_ns` and `end_ns`, in one step for those who need all."""
        request, response = self.request, self.response
        if request is None or response is None:
            return None, self.transfer_ns, self.end_ns
        first_ns, last_ns = response.first_byte_ns, response.last_byte_ns
        asked_ns = request.last_byte_ns
        if last_ns < first_ns or last_ns < asked_ns:
            return self.latency_ns, self.transfer_ns, self.end_ns
        return (first_ns - asked_ns if first_ns >= asked_ns else None), last_ns - first_ns, last_ns

    @property
    def end_ns(self) -> int:
        """Return the time of its last byte, since 1970; of the request if nothing came back."""
        frame = self.response or self.request
        assert frame is not None
        if self.request is None:
            return frame.last_byte_ns
        return max(frame.last_byte_ns, self.request.last_byte_ns)


def measured_latencies_ns(exchanges: Iterable[Exchange]) -> list[int]:
    """Return `latency_ns` of those that have one, in 0.56 of the time that it takes one by one."""
    latencies = [
        each.response.first_byte_ns - each.request.last_byte_ns
        for each in exchanges
        if each.request is not None and each.response is not None
    ]
    return [each for each in latencies if each >= 0]


class Gap(msgspec.Struct, kw_only=True):
    """Bytes of one direction of a connection that are in no frame.

    The capture lacks them, and only then are they missing; or they are here, and not understood.

    Attributes:
        connection: the connection.
        direction: `request` (client to broker) or `response`.
        time_ns: when the decoder declared the gap, since 1970.
        offset: its start in that direction's byte stream; the first byte is 0.
        size: how many there are.
        reason: why the decoder stopped waiting for them, or makes no frame of them.
        packet: the packet with the first of them; 0 if the capture lacks them.
        starts_with: the first of them, as far as they are no secret; see `secrets.redaction`.
        is_fault: whether no broker and no client understands them, either.
    """

    connection: Connection
    direction: str
    time_ns: int
    offset: int
    size: int
    reason: str
    packet: int = 0
    starts_with: bytes = b""
    is_fault: bool = False

    @property
    def is_missing(self) -> bool:
        """Return whether no packet of the capture has them."""
        return not self.packet
