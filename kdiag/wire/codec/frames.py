"""Whole frames: a request or response with its length and header, from bytes and back.

    >>> from kdiag.wire.api.find_coordinator import FindCoordinatorRequest
    >>> question = FindCoordinatorRequest(coordinator_keys=["orders"])
    >>> frame = encode_request(question, 4, correlation_id=7, client_id="me")
    >>> frame[:8].hex(" ", 2)
    '0000 0017 000a 0004'
    >>> decode_request(frame).message == question
    True

For those who have bytes in hand. Captures and connections cut frames out of streams by themselves.
"""

import struct
from typing import Final, NamedTuple

from kdiag.errors import DecodeError, EncodeError
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.codec.messages import decode, encode
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.frame import LENGTH_BYTES
from kdiag.wire.header import (
    read_request_header,
    read_response_header,
    request_header_bytes,
)
from kdiag.wire.schema import Struct, info_of

_LENGTH: Final = struct.Struct(">i")
_UNSUPPORTED_VERSION: Final = CODE_BY_NAME["UNSUPPORTED_VERSION"].to_bytes(2)


class DecodedRequest(NamedTuple):
    """A request that was read from a frame.

    Attributes:
        api: the API.
        version: the version of the API.
        correlation_id: the number that the response repeats.
        client_id: the client's name.
        message: the body.
    """

    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    message: Struct


class DecodedResponse(NamedTuple):
    """A response that was read from a frame.

    Attributes:
        api: the API.
        version: the version of the body: the request's, but 0 where a broker refuses the version of
            an ApiVersions request (KIP-511).
        correlation_id: the number of the request.
        message: the body.
    """

    api: Api
    version: int
    correlation_id: int
    message: Struct


def encode_request(
    message: Struct, version: int, *, correlation_id: int = 0, client_id: str | None = None
) -> bytes:
    """Return a request as it goes over the wire, from its length on.

    Args:
        message: a request, such as `kdiag.wire.api.metadata.MetadataRequest`.
        version: of the API.
        correlation_id: the response repeats it.
        client_id: the client's name.

    Raises:
        EncodeError: if the message cannot be written in that version.
        ValueError: if it is not a request, or the API has no such version.
    """
    key = info_of(type(message)).api_key
    if key is None or type(message) is not API_BY_KEY[key].request_class():
        raise ValueError(f"{type(message).__name__} is not a request")
    body = encode(message, version)  # the version is checked before it is in the header
    try:
        header = request_header_bytes(API_BY_KEY[key], version, correlation_id, client_id)
    except (struct.error, UnicodeEncodeError) as error:
        raise EncodeError("header", str(error)) from None
    data = header + body
    return _LENGTH.pack(len(data)) + data


def decode_request(frame: bytes) -> DecodedRequest:
    """Return the request in a frame, which begins with its length.

    Raises:
        DecodeError: if the bytes are not exactly one request, or it is of an API or a version that
            kdiag does not know.
    """
    data = _without_length(frame)
    header = read_request_header(data)
    api = _known_api(header.api_key, header.version)
    message = decode(api.request_class(), header.version, data, header.body_offset)
    return DecodedRequest(api, header.version, header.correlation_id, header.client_id, message)


def decode_response(frame: bytes, request: DecodedRequest) -> DecodedResponse:
    """Return the response in a frame, which says itself neither its API nor its version.

    Args:
        frame: the bytes, which begin with their length.
        request: the request that it answers.

    Raises:
        DecodeError: if the bytes are not exactly one response to such a request.
    """
    data = _without_length(frame)
    api, version = request.api, request.version
    header = read_response_header(data, api.key, version)
    if header.correlation_id != request.correlation_id:
        why = f"{request.correlation_id} is expected, {header.correlation_id} is here"
        raise DecodeError("header.correlationId", 0, why)
    body = data[header.body_offset :]
    if api.key == api_keys.API_VERSIONS and body[:2] == _UNSUPPORTED_VERSION:
        version = 0
    message = decode(api.response_class(), version, data, header.body_offset)
    return DecodedResponse(api, version, header.correlation_id, message)


def _without_length(frame: bytes) -> bytes:
    """Return the bytes after the length, which must be their number."""
    if len(frame) < LENGTH_BYTES:
        raise DecodeError("size", 0, f"a length takes 4 bytes, {len(frame)} are here")
    (size,) = _LENGTH.unpack_from(frame)
    if size != len(frame) - LENGTH_BYTES:
        why = f"{size} bytes are announced, {len(frame) - LENGTH_BYTES} are here"
        raise DecodeError("size", 0, why)
    return frame[LENGTH_BYTES:]


def _known_api(key: int, version: int) -> Api:
    api = API_BY_KEY.get(key)
    if api is None:
        raise DecodeError("header.requestApiKey", 0, f"{key} is not a known API")
    if not api.versions.covers(version):
        why = f"{api.name} has the versions {api.versions}, not {version}"
        raise DecodeError("header.requestApiVersion", 2, why)
    return api
