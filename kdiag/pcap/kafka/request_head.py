"""The head of a request: how likely bytes are one, and its few fields that matching needs.

`request_likeness` looks at the first bytes alone; `read_acks`, `read_client_software` and
`note_client` read single fields of frames that are known to be requests, without decoding the rest.
"""

from enum import IntEnum
from functools import cache, lru_cache
from struct import Struct, error
from typing import Final

from kdiag.errors import DecodeError
from kdiag.exchange.model import Connection
from kdiag.exchange.secrets.login import SOFTWARE_NAME
from kdiag.exchange.secrets.sasl_user import note_mechanism, note_token
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersionsRequest
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest
from kdiag.wire.api.sasl_handshake import SaslHandshakeRequest
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import decode_prefix, try_decode
from kdiag.wire.frame import Frame
from kdiag.wire.header import REQUEST_START, read_request_header, skip_tags
from kdiag.wire.primitives import RefusedError, read_uvarint

_INT16: Final = Struct(">h")
_CLIENT_ID_OFFSET: Final = REQUEST_START.size + _INT16.size
_PRODUCE: Final = API_BY_KEY[api_keys.PRODUCE].versions
_PRODUCE_VERSIONS: Final = range(_PRODUCE.low, _PRODUCE.high + 1)
_HEAD_BYTES: Final = 512  # with which a frame is announced
_NEWER_VERSIONS: Final = 8
_LARGEST_UNKNOWN_KEY: Final = 1023
_LARGEST_UNKNOWN_VERSION: Final = 31
_LEAST_UNKNOWN_CLIENT_ID: Final = 3
_LEAST_CONTROLLED_SHUTDOWN: Final = 12
_PRODUCE_FIRST_TRANSACTIONAL: Final = 3
_PRODUCE_FIRST_FLEXIBLE: Final = 9
_FIRST_WITH_SOFTWARE: Final = 3
TELLING_CLIENT: Final = frozenset(
    {api_keys.API_VERSIONS, api_keys.SASL_HANDSHAKE, api_keys.SASL_AUTHENTICATE}
)
"""The APIs of which `note_client` reads the requests."""
_ID_AT, _ID_END = 4, 8
_NO_ID: Final = bytes(4)
_SOME_ID: Final = b"\0\0\0\1"
_MAX_KNOWN: Final = 1024
_MAX_KNOWN_BYTES: Final = 256


class RequestLikeness(IntEnum):
    """How much some bytes look like a request."""

    NO = 0
    UNCLEAR = 1
    """There are too few of them."""
    WEAK = 2
    """Nothing contradicts it, but there is no client id to support it."""
    ODD = 3
    """There is one, but not all of it is printable: only the rest of the frame can prove it."""
    STRANGE = 4
    """There is one, of an API or a version far from all that are known: others must follow."""
    STRONG = 5


def request_likeness(head: bytes, size: int) -> RequestLikeness:
    """Return how much a frame looks like a request.

    What a broker refuses is none. What brokers read and clients do not send looks less like one, no
    more: APIs and versions that other brokers have, client ids of any bytes, bytes behind the last.

    Args:
        head: the frame's first bytes, without its length.
        size: the length.
    """
    if len(head) < _CLIENT_ID_OFFSET:
        return RequestLikeness.UNCLEAR if len(head) < size else RequestLikeness.NO
    api_key, version, _ = REQUEST_START.unpack_from(head)
    if api_key < 0 or (version < 0 and api_key != api_keys.API_VERSIONS):
        return RequestLikeness.NO
    if api_key == api_keys.CONTROLLED_SHUTDOWN and version == 0:
        return RequestLikeness.WEAK if size >= _LEAST_CONTROLLED_SHUTDOWN else RequestLikeness.NO
    (length,) = _INT16.unpack_from(head, REQUEST_START.size)
    body_bytes = size - _CLIENT_ID_OFFSET - length
    text = head[_CLIENT_ID_OFFSET : _CLIENT_ID_OFFSET + max(length, 0)]
    likeness = _client_id_likeness(text, length)
    if likeness is RequestLikeness.ODD and not body_bytes and not _may_be_empty(api_key, version):
        likeness = RequestLikeness.NO
    elif likeness is RequestLikeness.STRONG:
        likeness = _likeness_of_named(api_key, version, length)
    return likeness if body_bytes >= 0 or length < 0 else RequestLikeness.NO


def _likeness_of_named(api_key: int, version: int, length: int) -> RequestLikeness:
    """Return the likeness by API, version and the length of the client id, which is printable."""
    api = API_BY_KEY.get(api_key)
    if api is not None:
        is_likely = 0 <= version <= api.versions.high + _NEWER_VERSIONS
    elif length < _LEAST_UNKNOWN_CLIENT_ID:
        return RequestLikeness.WEAK
    else:
        is_likely = api_key <= _LARGEST_UNKNOWN_KEY and version <= _LARGEST_UNKNOWN_VERSION
    return RequestLikeness.STRONG if is_likely else RequestLikeness.STRANGE


def is_request(head: bytes, size: int) -> bool:
    """Return whether a frame between SASL tokens is a request again.

    One with an odd client id, or of an unlikely API, may be a token as well, which stays masked.
    """
    likeness = request_likeness(head, size)
    if likeness is not RequestLikeness.WEAK:
        return likeness is RequestLikeness.STRONG
    api_key, version, _ = REQUEST_START.unpack_from(head)
    api = API_BY_KEY.get(api_key)
    return api is not None and version <= api.versions.high + _NEWER_VERSIONS


@cache
def _may_be_empty(api_key: int, version: int) -> bool:
    """Return whether a request of an API and version may have no body."""
    api = API_BY_KEY.get(api_key)
    if api is None or not api.versions.covers(version):
        return api_key == api_keys.API_VERSIONS
    return try_decode(api.request_class(), version, b"") is not None


def _client_id_likeness(text: bytes, length: int) -> RequestLikeness:
    """Return the likeness by the client id, of which `text` is here."""
    if length <= 0:
        return RequestLikeness.WEAK
    if not text:
        return RequestLikeness.UNCLEAR
    # Brokers accept any bytes, so control characters must not hide a client.
    name = text.decode(errors="surrogateescape" if len(text) == length else "ignore")
    return RequestLikeness.STRONG if name.isprintable() else RequestLikeness.ODD


def read_acks(data: bytes, version: int | None) -> int | None:
    """Return `acks` of a Produce request: 0, 1 or -1; None if its bytes are not here.

    Args:
        data: the frame, from its header on.
        version: of the request.
    """
    assert version is not None
    try:
        (length,) = _INT16.unpack_from(data, REQUEST_START.size)
        position = _CLIENT_ID_OFFSET + length if length > 0 else _CLIENT_ID_OFFSET
        if version >= _PRODUCE_FIRST_FLEXIBLE:
            position = position + 1 if data[position] == 0 else skip_tags(data, position)
            if data[position] == 0:  # no transactional id
                position += 1
            else:
                compact, position = read_uvarint(data, position)
                position += compact - 1
        elif version >= _PRODUCE_FIRST_TRANSACTIONAL:
            (length,) = _INT16.unpack_from(data, position)
            position += _INT16.size + max(length, 0)
        acks: int = _INT16.unpack_from(data, position)[0]
    except (error, IndexError, RefusedError, DecodeError):
        return None
    return acks


def asks_nothing(frame: Frame) -> bool:
    """Return whether a frame is a Produce request that wants no answer, as far as its head tells.

    One that is still coming has no more than a head, and must not be judged otherwise when it came.
    """
    api_key, version, _ = REQUEST_START.unpack_from(frame.data)
    return api_key == api_keys.PRODUCE and has_no_acks(frame.data, version)


def has_no_acks(data: bytes, version: int) -> bool:
    """Return whether a Produce request of this version wants no answer, as `asks_nothing` does."""
    return version in _PRODUCE_VERSIONS and read_acks(data[:_HEAD_BYTES], version) == 0


def without_id(frame: bytes) -> bytes:
    """Return a request with a correlation id that all such requests share, or none if that is 0."""
    has_id = frame[_ID_AT:_ID_END] != _NO_ID
    return frame[:_ID_AT] + (_SOME_ID if has_id else _NO_ID) + frame[_ID_END:]


def note_client(connection: Connection, api_key: int | None, request: Frame) -> None:
    """Note what a request tells of its client: its software, its SASL mechanism and its user."""
    if api_key not in TELLING_CLIENT or not request.last_packet:
        return
    if api_key == api_keys.API_VERSIONS:
        if connection.client_software is None:
            connection.client_software = read_client_software(request.data)
    elif connection.sasl_user is None:
        _note_sasl(connection, request.data)


def note_bare_token(connection: Connection, frame: Frame) -> None:
    """Note the user in a frame of the client between SaslHandshake v0 and the next request."""
    if frame.last_packet and not is_request(frame.data, frame.size):
        note_token(connection, frame.data)


def _note_sasl(connection: Connection, data: bytes) -> None:
    """Note the mechanism of a SaslHandshake, or the user in the token of a SaslAuthenticate."""
    try:
        header = read_request_header(data)
        api = API_BY_KEY[header.api_key]
        if not api.versions.covers(header.version):
            return
        body, end = decode_prefix(api.request_class(), header.version, data, header.body_offset)
    except DecodeError:
        return
    if end != len(data):
        return  # it is damaged: what looks like a name may be the password
    if isinstance(body, SaslHandshakeRequest):
        note_mechanism(connection, body.mechanism)
    elif isinstance(body, SaslAuthenticateRequest):
        note_token(connection, bytes(body.auth_bytes))


def read_client_software(data: bytes) -> tuple[str, str] | None:
    """Return name and version of the client, which an ApiVersions request has from version 3 on."""
    if len(data) <= _MAX_KNOWN_BYTES:
        return _client_software_of_small(without_id(data))
    return _read_client_software(data)


@lru_cache(_MAX_KNOWN)
def _client_software_of_small(data: bytes) -> tuple[str, str] | None:
    """Return the same of a small request: a client sends it on each of its connections."""
    return _read_client_software(data)


def _read_client_software(data: bytes) -> tuple[str, str] | None:
    try:
        header = read_request_header(data)
        api = API_BY_KEY[api_keys.API_VERSIONS]
        if header.version < _FIRST_WITH_SOFTWARE or not api.versions.covers(header.version):
            return None
        cls = api.request_class()
        request, end = decode_prefix(cls, header.version, data, header.body_offset)
    except DecodeError:
        return None
    assert isinstance(request, ApiVersionsRequest)
    software = request.client_software_name, request.client_software_version
    is_sane = end == len(data) and all(SOFTWARE_NAME.fullmatch(each) for each in software)
    return software if is_sane else None
