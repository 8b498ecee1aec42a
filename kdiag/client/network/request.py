"""Requests and responses as the NetworkClient takes and gives them.

A `RequestBuilder` is what somebody wants to ask before it is known in which version; a
`ClientRequest` is that question for one node; a `ClientResponse` is how it ended.

Source: Kafka's `AbstractRequest.Builder`, `ClientRequest`, `ClientResponse`.
"""

from collections.abc import Callable
from struct import Struct as Layout
from typing import Final, NamedTuple

import msgspec

from kdiag.errors import KdiagError
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.codec.messages import encode
from kdiag.wire.schema import ALL_VERSIONS, Struct, Versions, info_of

Callback = Callable[["ClientResponse"], None]
"""Takes how a request ended; called by the thread that polls."""


class RequestBuilder(NamedTuple):
    """What to ask, in whichever of the allowed versions the node speaks.

    Attributes:
        api: which API.
        versions: the versions that can say what is meant.
        build: returns the message for a version; one message may serve all.
    """

    api: Api
    versions: Versions
    build: Callable[[int], Struct]


def builder_of(message: Struct | RequestBuilder, version: int | None = None) -> RequestBuilder:
    """Return the builder of a request that is the same in each version.

    Args:
        message: the request, or a builder, which is returned as it is.
        version: the only version to use; None for whichever fits.

    Raises:
        ValueError: if the message is no request of a known API.
    """
    if isinstance(message, RequestBuilder):
        if version is None:
            return message
        return message._replace(versions=Versions(version, version))
    key = info_of(type(message)).api_key
    if key is None or type(message) is not API_BY_KEY[key].request_class():
        raise ValueError(f"{type(message).__name__} is no request")
    versions = ALL_VERSIONS if version is None else Versions(version, version)
    return RequestBuilder(API_BY_KEY[key], versions, lambda _: message)


class ClientRequest(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """A question for one node.

    Attributes:
        node_id: of the connection that carries it.
        builder: what to ask.
        correlation_id: what the response will repeat.
        created_ns: when it was made, on the monotonic clock.
        timeout_ns: how long its answer may take, from when it is sent.
        on_complete: is given the response.
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
        """Return which API is asked."""
        return self.builder.api


class ClientResponse(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """How a request ended.

    Attributes:
        request: the question.
        version: in which it was asked; None if it never was.
        body: the answer; None if there is none, as for Produce with acks=0.
        received_ns: when the answer was complete, or the request given up, on the monotonic clock.
        rtt_ns: from the request's last byte to the response's first; None without an answer.
        written_ns: when the request's last byte was handed over, since 1970; None if it was not.
        last_byte_ns: when the response's last byte was read, since 1970; None without an answer.
        error: why there is no body: the connection ended, the time was over, no version is shared,
            or the bytes are no such response. None if all is well.
        is_disconnected: whether the connection ended before the answer.
        is_timed_out: whether it was ended because the answer took too long.
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
        """Give it to whoever asked."""
        if self.request.on_complete is not None:
            self.request.on_complete(self)


def expects_response(api: Api, message: Struct) -> bool:
    """Return whether a broker answers; it does not where Produce says acks=0."""
    return not (api.key == api_keys.PRODUCE and getattr(message, "acks", None) == 0)


_START: Final = Layout(">hhi")
_LENGTH: Final = Layout(">h")
_NULL: Final = -1
_NO_TAGS: Final = b"\0"
_FLEXIBLE: Final = 2


def request_parts(
    message: Struct, api: Api, version: int, correlation_id: int, client_id: str | None
) -> tuple[bytes, bytes]:
    """Return the header and the body of a request.

    Raises:
        EncodeError: if the message cannot be written in that version.
        ValueError: if the API has no such version.
    """
    header = _START.pack(api.key, version, correlation_id)
    header_version = api.request_header_version(version)
    if header_version > 0:
        name = b"" if client_id is None else client_id.encode()
        header += _LENGTH.pack(_NULL if client_id is None else len(name)) + name
    if header_version == _FLEXIBLE:
        header += _NO_TAGS
    return header, encode(message, version)
