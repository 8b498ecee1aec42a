"""Request/response matching: sends requests and finds the response of each.

    sent        Fetch (id 7)    Heartbeat (id 8)
    received    id 7 -> Fetch   id 8 -> Heartbeat   anything else -> DecodeError

A response belongs to the oldest request in flight on its connection and repeats its correlation id.
Anything else breaks the protocol, and then nothing on that connection can be trusted any more.

Each is logged for DEBUG by name, size and time; what it says is not, for it may be secret.

Source: Kafka's `NetworkClient` (the part about requests), `AbstractResponse.shouldClientThrottle`.
"""

import logging
from struct import Struct as Layout
from typing import Final

from kdiag.client.network.api_versions import UNSUPPORTED_VERSION
from kdiag.client.network.in_flight import InFlightRequest, InFlightRequests
from kdiag.client.network.observer import ExchangeObserver
from kdiag.client.network.request import (
    ClientRequest,
    ClientResponse,
    expects_response,
    request_parts,
)
from kdiag.clock import NS_PER_MS, Clock
from kdiag.errors import DecodeError, KdiagError
from kdiag.net.receive import NetworkReceive
from kdiag.net.selector.selector import Selector
from kdiag.net.send import NetworkSend
from kdiag.wire import api_keys
from kdiag.wire.catalog import Api
from kdiag.wire.codec.messages import decode
from kdiag.wire.header import RESERVED_FOR_SASL, read_response_header
from kdiag.wire.schema import Struct, fields_of

_LOG: Final = logging.getLogger(__name__)
_ERROR_CODE: Final = Layout(">h")
_THROTTLE: Final = "throttle_time_ms"
_LAST_KEY_BEFORE_KIP_219: Final = 42
_LAST_THROTTLED_FIRST: Final = {0: 5, 1: 7, 3: 5, 23: 1, 32: 1}
"""The last version before KIP-219 of Produce, Fetch, Metadata, OffsetForLeaderEpoch and
DescribeConfigs; that of all others is the one that added `throttle_time_ms`."""

_LONGEST_THROTTLE_MS: Final = 60_000
"""A damaged answer may ask for days; a broker that throttles for longer leaves requests unread."""


class RequestMatcher:
    """Sends the requests of one client and matches the responses; it fills `in_flight`."""

    def __init__(
        self,
        selector: Selector,
        in_flight: InFlightRequests,
        clock: Clock,
        client_id: str | None,
        observer: ExchangeObserver | None,
    ) -> None:
        self._selector = selector
        self._in_flight = in_flight
        self._clock = clock
        self._client_id = client_id
        self._observer = observer

    def send(self, request: ClientRequest, version: int) -> None:
        """Send a request on a channel that is ready.

        Raises:
            EncodeError: if it cannot be written in that version.
        """
        message = request.builder.build(version)
        parts = request_parts(
            message, request.api, version, request.correlation_id, self._client_id
        )
        send = NetworkSend(request.node_id, parts)
        self._selector.send(send)
        in_flight = InFlightRequest(
            request=request,
            version=version,
            expects_response=expects_response(request.api, message),
            send=send,
            sent_ns=self._clock.monotonic_ns(),
            number=self._observer.next_number() if self._observer else 0,
        )
        self._in_flight.add(in_flight)
        if _LOG.isEnabledFor(logging.DEBUG):
            _LOG.debug("%s: sent, %d bytes", _name(in_flight), len(send.payload))

    def complete_send(self, send: NetworkSend, now_ns: int) -> ClientResponse | None:
        """Handle a send that was written; return the response if the request expects none."""
        if self._in_flight.newest(send.channel_id).expects_response:
            return None
        sent = self._in_flight.complete_last_sent(send.channel_id)
        self._observe_unanswered(sent)
        return ClientResponse(
            request=sent.request,
            version=sent.version,
            body=None,
            received_ns=now_ns,
            written_ns=send.last_write_ns,
        )

    def match(self, receive: NetworkReceive, now_ns: int) -> ClientResponse:
        """Return the response in a frame; its error is a DecodeError if the frame is not one.

        Raises:
            DecodeError: if no request is in flight.
        """
        node_id = receive.channel_id
        if not self._in_flight.count(node_id):
            why = f"a frame of {len(receive.payload)} bytes came, though nothing was asked"
            raise DecodeError("", 0, why)
        sent = self._in_flight.complete_next(node_id)
        if self._observer is not None:
            self._observer.record_response(sent, receive)
        body, error = None, None
        try:
            body = read_response(sent, receive.payload)
        except DecodeError as wrong:
            error = wrong
        if _LOG.isEnabledFor(logging.DEBUG):
            _log_answer(sent, receive, error)
        return ClientResponse(
            request=sent.request,
            version=sent.version,
            body=body,
            received_ns=now_ns,
            rtt_ns=_rtt_ns(sent.send, receive),
            written_ns=sent.send.last_write_ns,
            last_byte_ns=receive.last_byte_ns,
            error=error,
        )

    def cancel(
        self, node_id: str, error: KdiagError, now_ns: int, *, is_timed_out: bool = False
    ) -> list[ClientResponse]:
        """Cancel the requests to a node whose connection ended; return how they ended, in order."""
        responses = []
        for sent in self._in_flight.clear(node_id):
            self._observe_unanswered(sent)
            _LOG.debug("%s: not answered: %s", _name(sent), error)
            response = ClientResponse(
                request=sent.request,
                version=sent.version,
                body=None,
                received_ns=now_ns,
                error=error,
                is_disconnected=True,
                is_timed_out=is_timed_out,
            )
            responses.append(response)
        return responses

    def observe_connect(self, node_id: str, ends: tuple[str, str]) -> None:
        """Report a new connection to a node, between these ends (`ip:port`), to the observer."""
        if self._observer is not None:
            self._observer.connect(node_id, ends, self._clock.epoch_ns())

    def observe_disconnect(self, node_id: str) -> None:
        """Report the end of the connection to a node to the observer."""
        if self._observer is not None:
            self._observer.disconnect(node_id, self._clock.epoch_ns())

    def _observe_unanswered(self, sent: InFlightRequest) -> None:
        if self._observer is not None:
            self._observer.record_unanswered(sent)


def read_response(sent: InFlightRequest, payload: bytes) -> Struct:
    """Return the body of the response in a frame.

    Args:
        sent: the oldest request in flight on the frame's connection.
        payload: the frame without its length prefix.

    Raises:
        DecodeError: if it is not the response to that request.
    """
    api, version = sent.request.api, sent.version
    header = read_response_header(payload, api.key, version)
    if header.correlation_id != sent.request.correlation_id:
        raise DecodeError("header.correlationId", 0, _mismatch(sent, header.correlation_id))
    if api.key == api_keys.API_VERSIONS and _is_unsupported(payload, header.body_offset):
        version = 0
    return decode(api.response_class(), version, payload, header.body_offset)


def throttle_ns(api: Api, version: int, body: Struct) -> int:
    """Return for how long a client must leave a connection alone after a response; 0 is not at all.

    Brokers before Kafka 2.0 throttled first and responded then; since KIP-219 they respond at once
    and leave the waiting to the client. KIP-219 raised the version of every response of its time:
    `throttle_time_ms` is obeyed from then on, and always in responses of younger APIs.
    """
    throttle_ms: int = getattr(body, _THROTTLE, 0)
    if throttle_ms <= 0:
        return 0
    throttle_ms = min(throttle_ms, _LONGEST_THROTTLE_MS)
    return throttle_ms * NS_PER_MS if version >= _first_version_to_throttle(api) else 0


def _first_version_to_throttle(api: Api) -> int:
    field = next(each for each in fields_of(api.response_class()) if each.name == _THROTTLE)
    added = min(each.low for each in field.versions)
    if api.key > _LAST_KEY_BEFORE_KIP_219:
        return added
    return _LAST_THROTTLED_FIRST.get(api.key, added) + 1


def _rtt_ns(send: NetworkSend, receive: NetworkReceive) -> int | None:
    """Return the time from a request's last byte to its response's first."""
    if send.last_write_ns is None or receive.first_byte_ns is None:
        return None
    return max(0, receive.first_byte_ns - send.last_write_ns)


def _name(sent: InFlightRequest) -> str:
    """Return which request it is, for the log."""
    asked = sent.request
    return f"node {asked.node_id}: {asked.api.name} v{sent.version} {asked.correlation_id}"


def _log_answer(sent: InFlightRequest, receive: NetworkReceive, error: DecodeError | None) -> None:
    size, rtt_ns = len(receive.payload), _rtt_ns(sent.send, receive) or 0
    wrong = "" if error is None else f", which cannot be read: {error}"
    _LOG.debug("%s: answered in %.3f ms, %d bytes%s", _name(sent), rtt_ns / NS_PER_MS, size, wrong)


def _is_unsupported(payload: bytes, offset: int) -> bool:
    """Return whether a broker reports that it lacks the version of ApiVersions."""
    code = payload[offset : offset + _ERROR_CODE.size]
    return code == _ERROR_CODE.pack(UNSUPPORTED_VERSION)


def _mismatch(sent: InFlightRequest, found: int) -> str:
    """Return why a correlation id is wrong."""
    why = f"{sent.request.correlation_id} was expected for {sent.request.api.name}, not {found}"
    if found in RESERVED_FOR_SASL:
        why += ": this is the answer to a SASL request, which came late"
    return why
