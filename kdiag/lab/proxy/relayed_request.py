"""Requests that pass: as much of them as a proxy has to understand.

    reader = RequestReader(is_decoding=True)
    reader.read(frame)  ->  RelayedRequest(api, header, message, expects_answer)

That is the header, so that the answer can be read; whether there will be one (Produce with acks=0
has none); and what it asks, where faults may need that. After SaslHandshake version 0 frames are
tokens without a header, until one is a whole request again.

Source: KIP-152 (SaslAuthenticate), Kafka's `SaslServerAuthenticator`.
"""

from typing import Final, NamedTuple

from kdiag.errors import DecodeError
from kdiag.lab.broker.traffic_recorder import masked_login
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY, Api
from kdiag.wire.codec.messages import decode_prefix, try_decode
from kdiag.wire.header import RequestHeader, read_request_header
from kdiag.wire.primitives import RefusedError, read_uvarint
from kdiag.wire.schema import Struct

SASL_APIS: Final = frozenset(
    (api_keys.API_VERSIONS, api_keys.SASL_HANDSHAKE, api_keys.SASL_AUTHENTICATE)
)
"""The APIs of a client that logs in."""

_INT16_BYTES: Final = 2
_FIRST_TRANSACTIONAL: Final = 3
_MASK: Final = b"x"


class RelayedRequest(NamedTuple):
    """A request.

    Attributes:
        api: the API; None if it or its version is not known.
        header: None where the frame has none that can be read.
        message: what it asks; None if nobody asked for that, or it cannot be read.
        expects_answer: whether there will be one.
    """

    api: Api | None = None
    header: RequestHeader | None = None
    message: Struct | None = None
    expects_answer: bool = True


OPAQUE: Final = RelayedRequest()
"""A frame of which nothing is understood."""


class RequestReader:
    """Reads the requests of one connection.

    Attributes:
        is_logging_in: whether its client has asked to log in, and not for anything else since.
    """

    def __init__(self, *, is_decoding: bool) -> None:
        """Begin with the first frame.

        Args:
            is_decoding: whether what requests ask is read, too.
        """
        self.is_logging_in = False
        self._is_decoding = is_decoding
        self._has_raw_tokens = False

    def read(self, frame: bytes) -> RelayedRequest:
        """Return what is understood of the next frame."""
        if self._has_raw_tokens and not is_whole_request(frame):
            return OPAQUE
        self._has_raw_tokens = False
        try:
            header = read_request_header(frame)
        except DecodeError:
            return OPAQUE
        api = API_BY_KEY.get(header.api_key)
        if api is None or not api.versions.covers(header.version):
            return RelayedRequest(None, header)
        if api.key == api_keys.SASL_HANDSHAKE:
            self.is_logging_in, self._has_raw_tokens = True, header.version == 0
        elif api.key not in SASL_APIS:
            self.is_logging_in = False
        message = self._message(api, header, frame)
        return RelayedRequest(api, header, message, _expects_answer(api, header, frame))

    def masked(self, frame: bytes) -> bytes:
        """Return a frame of a client that logs in without its token, for a recording."""
        try:
            header = read_request_header(frame)
        except DecodeError:
            return _MASK * len(frame)
        if self._has_raw_tokens and not is_whole_request(frame):
            return _MASK * len(frame)
        if header.api_key != api_keys.SASL_AUTHENTICATE:
            return frame
        return masked_login(frame)

    def _message(self, api: Api, header: RequestHeader, frame: bytes) -> Struct | None:
        if not self._is_decoding or api.key in SASL_APIS - {api_keys.API_VERSIONS}:
            return None
        try:
            start = header.body_offset
            return decode_prefix(api.request_class(), header.version, frame, start, views=True)[0]
        except DecodeError:
            return None


def is_whole_request(frame: bytes) -> bool:
    """Return whether a frame is a request to its last byte."""
    try:
        header = read_request_header(frame)
    except DecodeError:
        return False
    api = API_BY_KEY.get(header.api_key)
    if api is None or not api.versions.covers(header.version):
        return False
    return try_decode(api.request_class(), header.version, frame, header.body_offset) is not None


def _expects_answer(api: Api, header: RequestHeader, frame: bytes) -> bool:
    """Return whether a request has an answer; only its first fields are read."""
    if api.key != api_keys.PRODUCE:
        return True
    position = header.body_offset
    try:
        if api.flexible.covers(header.version):
            size, position = read_uvarint(frame, position)
            position += max(0, size - 1)
        elif header.version >= _FIRST_TRANSACTIONAL:
            size = int.from_bytes(frame[position : position + _INT16_BYTES], signed=True)
            position += _INT16_BYTES + max(0, size)
    except (IndexError, RefusedError):
        return True
    acks = frame[position : position + _INT16_BYTES]
    return len(acks) < _INT16_BYTES or any(acks)
