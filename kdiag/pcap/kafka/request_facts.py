"""What pairing wants to know from inside a request: whether it is answered, and who asks.

Source: KIP-98 (transactional id before acks), KIP-482 (compact lengths), KIP-511 (client software).
"""

from struct import Struct, error
from typing import Final

from kdiag.errors import DecodeError
from kdiag.wire.catalog import API_BY_KEY, API_VERSIONS_KEY
from kdiag.wire.codec.messages import decode_prefix
from kdiag.wire.header import REQUEST_START, read_request_header, skip_tags
from kdiag.wire.varint import VarintError, read_unsigned

_INT16: Final = Struct(">h")
_PRODUCE_FIRST_TRANSACTIONAL: Final = 3
_PRODUCE_FIRST_FLEXIBLE: Final = 9
_FIRST_WITH_SOFTWARE: Final = 3
_CLIENT_ID_OFFSET: Final = REQUEST_START.size + _INT16.size


def read_acks(data: bytes, version: int | None) -> int | None:
    """Return `acks` of a Produce request: 0, 1 or -1; None if its bytes are not here.

    Args:
        data: the frame, from its header on.
        version: of the request.
    """
    assert version is not None
    try:
        (length,) = _INT16.unpack_from(data, REQUEST_START.size)
        position = _CLIENT_ID_OFFSET + max(length, 0)
        if version >= _PRODUCE_FIRST_FLEXIBLE:
            position = position + 1 if data[position] == 0 else skip_tags(data, position)
            compact, position = read_unsigned(data, position)
            position += max(compact - 1, 0)
        elif version >= _PRODUCE_FIRST_TRANSACTIONAL:
            (length,) = _INT16.unpack_from(data, position)
            position += _INT16.size + max(length, 0)
        acks: int = _INT16.unpack_from(data, position)[0]
    except (error, IndexError, VarintError, DecodeError):
        return None
    return acks


def read_client_software(data: bytes) -> tuple[str, str] | None:
    """Return name and version of the client, which an ApiVersions request has from version 3 on."""
    try:
        header = read_request_header(data)
        api = API_BY_KEY[API_VERSIONS_KEY]
        if header.version < _FIRST_WITH_SOFTWARE or not api.versions.covers(header.version):
            return None
        cls = api.request_class()
        request, _ = decode_prefix(cls, header.version, data, header.body_offset)
    except DecodeError:
        return None
    return request.client_software_name, request.client_software_version  # type: ignore[attr-defined]
