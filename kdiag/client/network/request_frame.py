"""The frame of a request: its header and its body as bytes.

Source: Kafka's `RequestHeader.json`; KIP-482.
"""

from struct import Struct as Layout
from typing import Final

from kdiag.wire.catalog import Api
from kdiag.wire.codec.messages import encode
from kdiag.wire.schema import Struct

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
