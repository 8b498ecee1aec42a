"""What is said on the connections of a client: requests out, and the responses that belong to them.

A response belongs to the oldest request in flight on its connection, and repeats its correlation
id. Anything else breaks the protocol, so that nothing which comes after it can be trusted.

Source: Kafka's `NetworkClient` (its part that is about requests).
"""

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
from kdiag.clock import Clock
from kdiag.errors import DecodeError, KdiagError
from kdiag.net.receive import NetworkReceive
from kdiag.net.selector.selector import Selector
from kdiag.net.send import NetworkSend
from kdiag.wire import api_keys
from kdiag.wire.catalog import Api
from kdiag.wire.codec.messages import decode
from kdiag.wire.header import RESERVED_FOR_SASL, read_response_header
from kdiag.wire.schema import Struct


class Correspondence:
    """The requests of one client and their responses.

    Attributes:
        in_flight: the requests that are not answered.
    """

    def __init__(
        self,
        selector: Selector,
        clock: Clock,
        client_id: str | None,
        max_in_flight: int,
        observer: ExchangeObserver | None,
    ) -> None:
        self.in_flight = InFlightRequests(max_in_flight)
        self._selector = selector
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
        asked = InFlightRequest(
            request=request,
            version=version,
            expects_response=expects_response(request.api, message),
            send=send,
            sent_ns=self._clock.monotonic_ns(),
            number=self._observer.number() if self._observer else 0,
        )
        self.in_flight.add(asked)

    def completed(self, send: NetworkSend, now_ns: int) -> ClientResponse | None:
        """Take that a request is written; return the response if that is all."""
        if self.in_flight.newest(send.channel_id).expects_response:
            return None
        asked = self.in_flight.complete_last_sent(send.channel_id)
        self._tell_unanswered(asked)
        return ClientResponse(
            request=asked.request,
            version=asked.version,
            body=None,
            received_ns=now_ns,
            written_ns=send.last_write_ns,
        )

    def answered(self, receive: NetworkReceive, now_ns: int) -> ClientResponse:
        """Take a frame; return the response, whose error is a DecodeError if it is none.

        Raises:
            DecodeError: if nothing was asked.
        """
        node_id = receive.channel_id
        if not self.in_flight.count(node_id):
            why = f"a frame of {len(receive.payload)} bytes came, though nothing was asked"
            raise DecodeError("", 0, why)
        asked = self.in_flight.complete_next(node_id)
        if self._observer is not None:
            self._observer.answered(asked, receive)
        body, error = None, None
        try:
            body = read_response(asked, receive.payload)
        except DecodeError as wrong:
            error = wrong
        return ClientResponse(
            request=asked.request,
            version=asked.version,
            body=body,
            received_ns=now_ns,
            rtt_ns=_rtt_ns(asked.send, receive),
            written_ns=asked.send.last_write_ns,
            last_byte_ns=receive.last_byte_ns,
            error=error,
        )

    def cancel(
        self, node_id: str, error: KdiagError, now_ns: int, *, is_timed_out: bool = False
    ) -> list[ClientResponse]:
        """Give up the requests to a node, and return how they ended in the order they were sent."""
        responses = []
        for asked in self.in_flight.clear(node_id):
            self._tell_unanswered(asked)
            response = ClientResponse(
                request=asked.request,
                version=asked.version,
                body=None,
                received_ns=now_ns,
                error=error,
                is_disconnected=True,
                is_timed_out=is_timed_out,
            )
            responses.append(response)
        return responses

    def connected(self, node_id: str, ends: tuple[str, str]) -> None:
        """Take that there is a new connection to a node, between these ends (`ip:port`)."""
        if self._observer is not None:
            self._observer.connect(node_id, ends, self._clock.epoch_ns())

    def disconnected(self, node_id: str) -> None:
        """Take that the connection to a node has ended."""
        if self._observer is not None:
            self._observer.disconnect(node_id, self._clock.epoch_ns())

    def _tell_unanswered(self, asked: InFlightRequest) -> None:
        """Have a request without a response observed."""
        if self._observer is not None:
            self._observer.not_answered(asked)


def _rtt_ns(send: NetworkSend, receive: NetworkReceive) -> int | None:
    """Return the time from a request's last byte to its response's first."""
    if send.last_write_ns is None or receive.first_byte_ns is None:
        return None
    return max(0, receive.first_byte_ns - send.last_write_ns)


_ERROR_CODE: Final = Layout(">h")


def read_response(asked: InFlightRequest, payload: bytes) -> Struct:
    """Return the body of the response in a frame.

    Args:
        asked: the oldest request in flight on the frame's connection.
        payload: the frame without its length prefix.

    Raises:
        DecodeError: if it is not the response to that request.
    """
    api, version = asked.request.api, asked.version
    header = read_response_header(payload, api.key, version)
    if header.correlation_id != asked.request.correlation_id:
        raise DecodeError("header.correlationId", 0, _mismatch(asked, header.correlation_id))
    if api.key == api_keys.API_VERSIONS and _is_unsupported(payload, header.body_offset):
        version = 0
    return decode(api.response_class(), version, payload, header.body_offset)


def _is_unsupported(payload: bytes, offset: int) -> bool:
    """Return whether a broker says that it lacks the version of ApiVersions."""
    code = payload[offset : offset + _ERROR_CODE.size]
    return code == _ERROR_CODE.pack(UNSUPPORTED_VERSION)


def _mismatch(asked: InFlightRequest, found: int) -> str:
    """Return why a correlation id is wrong."""
    why = f"{asked.request.correlation_id} was expected for {asked.request.api.name}, not {found}"
    if found in RESERVED_FOR_SASL:
        why += ": this is the answer to a SASL request, which came late"
    return why


_MS: Final = 1_000_000
_BEFORE_KIP_219: Final = api_keys.DELETE_GROUPS
"""The last API key that existed when clients began to wait."""
_FIRST_VERSION: Final = {
    api_keys.PRODUCE: 6,
    api_keys.FETCH: 8,
    api_keys.LIST_OFFSETS: 3,
    api_keys.METADATA: 6,
    api_keys.OFFSET_COMMIT: 4,
    api_keys.OFFSET_FETCH: 4,
    api_keys.FIND_COORDINATOR: 2,
    api_keys.JOIN_GROUP: 3,
    api_keys.HEARTBEAT: 2,
    api_keys.LEAVE_GROUP: 2,
    api_keys.SYNC_GROUP: 2,
    api_keys.DESCRIBE_GROUPS: 2,
    api_keys.LIST_GROUPS: 2,
    api_keys.API_VERSIONS: 2,
    api_keys.CREATE_TOPICS: 3,
    api_keys.DELETE_TOPICS: 2,
    api_keys.DESCRIBE_CONFIGS: 2,
}
"""The first version in which a client waits, where it is not 1, of the APIs of that time."""


def throttle_ns(api: Api, version: int, body: Struct) -> int:
    """Return for how long, in ns, the client should leave the connection alone; 0 is not at all."""
    throttle_ms: int = getattr(body, "throttle_time_ms", 0)
    if throttle_ms <= 0:
        return 0
    first = 0 if api.key > _BEFORE_KIP_219 else _FIRST_VERSION.get(api.key, 1)
    return throttle_ms * _MS if version >= first else 0
