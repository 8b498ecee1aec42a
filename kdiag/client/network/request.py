"""Requests and responses of a NetworkClient.

A `RequestBuilder` is a request before its version is known; a `ClientRequest` is that request to
one node; a `ClientResponse` is how it ended.

Source: Kafka's `AbstractRequest.Builder`, `ClientRequest`, `ClientResponse`.
"""

from collections.abc import Callable
from typing import NamedTuple

import msgspec

from kdiag.errors import KdiagError
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.codec.messages import encode
from kdiag.wire.header import request_header_bytes
from kdiag.wire.schema import ALL_VERSIONS, Struct, Versions, info_of

Callback = Callable[["ClientResponse"], None]
"""Called with the response by the thread that polls."""


class RequestBuilder(NamedTuple):
    """A request, in whichever of the allowed versions the node speaks.

    Attributes:
        api: its API.
        versions: the versions that can express it.
        build: returns the message for a version; one message may serve all.
    """

    api: Api
    versions: Versions
    build: Callable[[int], Struct]


def builder_of(message: Struct | RequestBuilder, version: int | None = None) -> RequestBuilder:
    """Return the builder of a request that is the same in each version.

    Args:
        message: the request, or a builder, which is returned as it is.
        version: the only version to use; None for the newest that fits.

    Raises:
        ValueError: if the message is not a request of a known API.
    """
    if isinstance(message, RequestBuilder):
        if version is None:
            return message
        return message._replace(versions=Versions(version, version))
    key = info_of(type(message)).api_key
    if key is None or type(message) is not API_BY_KEY[key].request_class():
        raise ValueError(f"{type(message).__name__} is not a request")
    versions = ALL_VERSIONS if version is None else Versions(version, version)
    return RequestBuilder(API_BY_KEY[key], versions, lambda _: message)


class ClientRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A request to one node.

    Attributes:
        node_id: of the connection that carries it.
        builder: the request.
        correlation_id: repeated by the response.
        created_ns: when it was made, on the monotonic clock.
        timeout_ns: how long its response may take, from when it is sent.
        on_complete: is called with the response.
        is_internal: whether the client itself asks; such responses are not handed out.
    """

    node_id: str
    builder: RequestBuilder
    correlation_id: int
    created_ns: int
    timeout_ns: int
    on_complete: Callback | None = None
    is_internal: bool = False

    @property
    def api(self) -> Api:
        """Return the API of the request."""
        return self.builder.api


class ClientResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a request ended.

    Attributes:
        request: the request.
        version: the version it was sent in; None if it was not sent.
        body: the response; None without one, as for Produce with acks=0.
        received_ns: when the response was complete, or the request given up, on the monotonic
            clock.
        rtt_ns: from the request's last byte to the response's first; None without a response.
        written_ns: when the request's last byte was handed over, since 1970; None if it was not.
        last_byte_ns: when the response's last byte was read, since 1970; None without a response.
        error: why there is no body: the connection ended, the time was over, no version is shared,
            or the bytes are not such a response. None if all is well.
        is_disconnected: whether the connection ended before the response.
        is_timed_out: whether it was ended because the response took too long.
    """

    request: ClientRequest
    version: int | None
    body: Struct | None
    received_ns: int
    rtt_ns: int | None = None
    written_ns: int | None = None
    last_byte_ns: int | None = None
    error: KdiagError | None = None
    is_disconnected: bool = False
    is_timed_out: bool = False

    def call_back(self) -> None:
        """Call `on_complete`, if there is one."""
        if self.request.on_complete is not None:
            self.request.on_complete(self)


def expects_response(api: Api, message: Struct) -> bool:
    """Return whether a broker answers a request; it does not answer Produce with acks=0."""
    return not (api.key == api_keys.PRODUCE and getattr(message, "acks", None) == 0)


def request_parts(
    message: Struct, api: Api, version: int, correlation_id: int, client_id: str | None
) -> tuple[bytes, bytes]:
    """Return the header and the body of a request.

    Raises:
        EncodeError: if the message cannot be written in that version.
        ValueError: if the API has no such version.
    """
    header = request_header_bytes(api, version, correlation_id, client_id)
    return header, encode(message, version)
