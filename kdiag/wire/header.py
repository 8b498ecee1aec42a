"""Headers: the start of every frame, which tells what its body is.

    request header 0   api key int16, version int16, correlation id int32
    request header 1   ... client id: two-byte length, -1 for null
    request header 2   ... tag section; the client id keeps its two-byte length
    response header 0  correlation id int32
    response header 1  ... tag section

The header version follows from the API key and version (`kdiag.wire.catalog`). A response has
neither, so reading one needs its request. The client id of an unknown API is read as in headers 1
and 2, which agree on it.

Source: Kafka's `RequestHeader.json` and `ResponseHeader.json`; KIP-482 (tagged fields).
"""

from struct import Struct, error
from typing import Final, NamedTuple

from kdiag.errors import DecodeError
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.primitives import RefusedError, read_uvarint

REQUEST_START: Final = Struct(">hhi")
"""API key, version and correlation id: the start of every request."""

RESERVED_FOR_SASL: Final = range((1 << 31) - 8, 1 << 31)
"""The correlation ids of SASL requests: they tell responses to them from others.

Source: Kafka's `SaslClientAuthenticator`.
"""

_CORRELATION_ID: Final = Struct(">i")
_INT16: Final = Struct(">h")
_NEWEST_REQUEST_HEADER: Final = 2
_NULL: Final = -1
_NO_TAGS: Final = b"\0"


class RequestHeader(NamedTuple):
    """The header of a request.

    Attributes:
        api_key: the API key, maybe one that kdiag does not know.
        version: the version of the API, maybe newer than known.
        correlation_id: the number that the response repeats.
        client_id: the client's name; bytes that are not UTF-8 are replaced.
        header_version: 0, 1 or 2; a guess for an unknown API.
        body_offset: where the body starts in the frame.
    """

    api_key: int
    version: int
    correlation_id: int
    client_id: str | None
    header_version: int
    body_offset: int


class ResponseHeader(NamedTuple):
    """The header of a response.

    Attributes:
        correlation_id: that of the request.
        header_version: 0 or 1.
        body_offset: where the body starts in the frame.
    """

    correlation_id: int
    header_version: int
    body_offset: int


def read_request_header(frame_data: bytes) -> RequestHeader:
    """Return the header of the request in a frame (its bytes without the length prefix).

    Raises:
        DecodeError: if the bytes end inside the header.
    """
    try:
        api_key, version, correlation_id = REQUEST_START.unpack_from(frame_data)
    except error:
        why = f"a request header takes {REQUEST_START.size} bytes, {len(frame_data)} are here"
        raise DecodeError("header", len(frame_data), why) from None
    api = API_BY_KEY.get(api_key)
    header_version = api.request_header_version(version) if api else _NEWEST_REQUEST_HEADER
    position = REQUEST_START.size
    client_id = None
    if header_version > 0:
        client_id, position = _read_client_id(frame_data, position)
    if header_version == _NEWEST_REQUEST_HEADER and api:
        position = skip_tags(frame_data, position)
    return RequestHeader(api_key, version, correlation_id, client_id, header_version, position)


def request_header_bytes(
    api: Api, version: int, correlation_id: int, client_id: str | None
) -> bytes:
    """Return the header of a request, without tagged fields."""
    header = REQUEST_START.pack(api.key, version, correlation_id)
    header_version = api.request_header_version(version)
    if header_version > 0:
        name = b"" if client_id is None else client_id.encode()
        header += _INT16.pack(_NULL if client_id is None else len(name)) + name
    return header + _NO_TAGS if header_version == _NEWEST_REQUEST_HEADER else header


def response_header_bytes(api: Api, version: int, correlation_id: int) -> bytes:
    """Return the header of a response to a request of a version, without tagged fields."""
    header = _CORRELATION_ID.pack(correlation_id)
    return header + _NO_TAGS if api.response_header_version(version) else header


def read_response_header(frame_data: bytes, api_key: int, version: int) -> ResponseHeader:
    """Return the header of the response in a frame to a request of this API and version.

    Raises:
        DecodeError: if the bytes end inside the header.
    """
    try:
        (correlation_id,) = _CORRELATION_ID.unpack_from(frame_data)
    except error:
        why = f"a correlation id takes 4 bytes, {len(frame_data)} are here"
        raise DecodeError("header.correlationId", len(frame_data), why) from None
    api = API_BY_KEY.get(api_key)
    header_version = api.response_header_version(version) if api else 0
    position = _CORRELATION_ID.size
    if header_version:
        position = skip_tags(frame_data, position)
    return ResponseHeader(correlation_id, header_version, position)


def raw_client_id(head: bytes) -> bytes | None:
    """Return the bytes of the client id in the first bytes of a request.

    None if it is null or cut. Not for header version 0, which has no client id.
    """
    start = REQUEST_START.size + _INT16.size
    length = int.from_bytes(head[REQUEST_START.size : start], signed=True)
    if length < 0 or len(head) < start + length:
        return None
    return head[start : start + length]


def _read_client_id(data: bytes, position: int) -> tuple[str | None, int]:
    """Return the client id at `position` and where it ends."""
    start = position + _INT16.size
    try:
        (length,) = _INT16.unpack_from(data, position)
    except error:
        raise DecodeError("header.clientId", position, "its length is cut off") from None
    if length < 0:
        return None, start
    if length > len(data) - start:
        why = f"{length} bytes are announced, {len(data) - start} are left"
        raise DecodeError("header.clientId", position, why)
    return data[start : start + length].decode(errors="replace"), start + length


def skip_tags(data: bytes, position: int) -> int:
    """Return the position after the tag section at `position`.

    Raises:
        DecodeError: if the bytes end inside it.
    """
    start = position
    try:
        count, position = read_uvarint(data, position)
        for _ in range(count):
            _, position = read_uvarint(data, position)
            size, position = read_uvarint(data, position)
            position += size
            if position > len(data):
                break
    except (IndexError, RefusedError):
        position = len(data) + 1
    if position > len(data):
        raise DecodeError("header tags", start, "the tag section runs past the end")
    return position
