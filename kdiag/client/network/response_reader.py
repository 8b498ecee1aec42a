"""Responses from frames: what a broker answered to a request that is in flight.

Source: Kafka's `NetworkClient.parseResponse`; KIP-511 (an ApiVersions answer in version 0).
"""

from struct import Struct as Layout
from typing import Final

from kdiag.client.network.api_versions import UNSUPPORTED_VERSION
from kdiag.client.network.in_flight import InFlightRequest
from kdiag.errors import DecodeError
from kdiag.wire.catalog import API_VERSIONS_KEY
from kdiag.wire.codec.messages import decode
from kdiag.wire.header import RESERVED_FOR_SASL, read_response_header
from kdiag.wire.schema import Struct

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
    if api.key == API_VERSIONS_KEY and _is_unsupported(payload, header.body_offset):
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
