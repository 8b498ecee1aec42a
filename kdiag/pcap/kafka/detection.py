"""Detects the protocol of a connection by the first bytes of the end that opened it.

A verdict never changes when more bytes come: it is given as soon as it is certain, and None until
then. Ports count for nothing; Kafka is found on any.

Source: Kafka's request header; RFC 8446 section 5.1 (TLS records); RFC 9112 section 3 and RFC 9113
section 3.4 (HTTP); the RESP specification (Redis); RFC 4121 section 4.1 (Kerberos tokens).
"""

import re
from struct import Struct
from typing import Final

from kdiag.exchange.model import Protocol
from kdiag.pcap.kafka.request_head import RequestLikeness, request_likeness
from kdiag.wire.frame import LENGTH_BYTES

ENOUGH_BYTES: Final = 512
"""With so many bytes there is always a verdict."""

_LENGTH: Final = Struct(">i")
_METHODS: Final = (b"GET", b"POST", b"PUT", b"HEAD", b"DELETE", b"OPTIONS", b"PATCH", b"TRACE")
_HTTP: Final = (
    *(method + b" " + target for method in _METHODS for target in (b"/", b"*", b"http")),
    b"PRI * HTTP/2",
    b"HTTP/1.",
)
_CONNECT: Final = re.compile(rb"CONNECT [\w.\-\[\]:%]+:\d+ ")
"""Of HTTP; NATS has one, too, which an object of JSON follows."""

_MAY_BE_CONNECT: Final = re.compile(rb"CONNECT [\w.\-\[\]:%]*\Z")
_REDIS: Final = re.compile(rb"\*\d{1,7}\r\n\$\d|PING\r\n|QUIT\r\n|\+(OK|PONG)\r\n|-ERR |-NOAUTH ")
_TLS: Final = re.compile(
    rb"\x16\x03[\x00-\x04][\x00-\x48].[\x01\x02]|[\x14\x15\x17]\x03[\x01-\x04]", re.DOTALL
)
_TLS_BYTES: Final = 6
_TOKEN_START: Final = b"\x60"
_LARGEST_TOKEN: Final = 64 << 10
_KERBEROS: Final = re.compile(rb"\x60.{1,5}\x06\x09\x2a\x86\x48\x86\xf7\x12\x01\x02\x02", re.DOTALL)
_KERBEROS_BYTES: Final = 17


def detect(data: bytes, max_frame_bytes: int, *, is_all: bool = False) -> Protocol | None:
    """Return the protocol of a stream that starts with `data`; None if more bytes are needed.

    Kafka is the protocol of what may be Kafka: these bytes alone do not prove it (`request_walk`).

    Args:
        data: the first bytes; `ENOUGH_BYTES` of them always suffice.
        max_frame_bytes: the largest frame that counts as Kafka without the name of a client.
        is_all: whether no more bytes will come.
    """
    data = data[:ENOUGH_BYTES]
    if _TLS.match(data):
        return Protocol.TLS
    if data.startswith(_HTTP) or _CONNECT.match(data):
        return Protocol.HTTP
    if _REDIS.match(data):
        return Protocol.REDIS
    is_all = is_all or len(data) >= ENOUGH_BYTES
    verdict = _detect_kafka(data, max_frame_bytes, is_all=is_all)
    if verdict is Protocol.UNKNOWN and not is_all and _may_become_text(data):
        return None
    return verdict


def is_bare_token(data: bytes) -> bool:
    """Return whether a Kafka stream starts with a GSSAPI token instead of a request."""
    return _KERBEROS.match(data, LENGTH_BYTES) is not None


def _may_become_text(data: bytes) -> bool:
    """Return whether a few more bytes could show another protocol."""
    return (
        len(data) < _TLS_BYTES
        or any(start.startswith(data) for start in (*_HTTP, b"CONNECT "))
        or _MAY_BE_CONNECT.match(data) is not None
        or (data[:1] in b"*PQ+-" and len(data) < _KERBEROS_BYTES)
    )


def _detect_kafka(data: bytes, max_frame_bytes: int, *, is_all: bool) -> Protocol | None:
    """Return whether the stream is Kafka's; None if more bytes are needed."""
    undecided = Protocol.UNKNOWN if is_all else None
    if len(data) < LENGTH_BYTES:
        return undecided
    (size,) = _LENGTH.unpack_from(data)
    head = data[LENGTH_BYTES : LENGTH_BYTES + max(size, 0)]
    likeness = request_likeness(head, size)
    is_large = size > max_frame_bytes
    if size <= 0 or (is_large and RequestLikeness.UNCLEAR < likeness < RequestLikeness.STRONG):
        return Protocol.UNKNOWN
    if likeness is RequestLikeness.UNCLEAR:
        return undecided
    if likeness is not RequestLikeness.NO or is_bare_token(data):
        return Protocol.KAFKA
    may_be_token = size <= _LARGEST_TOKEN and head[:1] == _TOKEN_START
    if may_be_token and len(head) < min(size, _KERBEROS_BYTES):
        return undecided
    return Protocol.UNKNOWN
