"""Exchanges: a request and its response as one value, whichever way they reached kdiag."""

from enum import StrEnum

import msgspec

from kdiag.exchange.model import Connection
from kdiag.wire.frame import Frame


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
