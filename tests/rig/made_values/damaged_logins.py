"""Logins whose frames are damaged, and the forms in which the secret in them could be printed.

A damaged frame reads as something else: its key, version, lengths or client id are wrong, or its
token is in a field that nobody knows. `damaged_plain` has the ways that are known to hide a
password from a reader of fields; `with_damage` damages the login of any capture at random.
"""

import random
import re
import struct
from base64 import b64encode
from collections.abc import Iterator
from typing import Final, NamedTuple, TypeAlias

from kdiag.wire.api.api_versions import ApiVersion, ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.sasl_authenticate import SaslAuthenticateRequest, SaslAuthenticateResponse
from kdiag.wire.api.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from recordings.exchange_maker import request_bytes, response_bytes

PASSWORD: Final = b"CANARY-hunter2-Zq8vT1"
PLAIN: Final = b"\0alice\0" + PASSWORD
SentFrames: TypeAlias = list[tuple[bool, bytes]]
"""Whether it is a response, and the frame without its length."""

_CLIENT_ID_AT: Final = 8
_TOKEN_LENGTH_AT: Final = 13
_HEAD_BYTES: Final = 18
_RECORD: Final = struct.Struct("<IIII")
_FILE_HEADER_BYTES: Final = 24


class DamagedFrame(NamedTuple):
    """A frame of a login.

    Attributes:
        name: how it is damaged.
        data: its bytes, without the length.
    """

    name: str
    data: bytes


def login(version: int = 1) -> bytes:
    """Return the frame of SaslAuthenticate with the password."""
    return request_bytes(SaslAuthenticateRequest(auth_bytes=PLAIN), version, correlation_id=3)


def damaged_plain() -> Iterator[DamagedFrame]:
    """Yield logins that do not read as what they are."""
    whole = login()
    for key in (0, 1, 3, 10, 12, 17, 18, 22, 60, 999):
        yield DamagedFrame(f"key {key}", _put(whole, 0, struct.pack(">h", key)))
    for version, read_as in ((1, 2), (2, 1), (1, 99), (2, 99)):
        data = _put(login(version), 2, struct.pack(">h", read_as))
        yield DamagedFrame(f"version {version} as {read_as}", data)
    for length in (0x7000, -9, 0, 2, 4, len(whole) - _CLIENT_ID_AT - 2):
        data = _put(whole, _CLIENT_ID_AT, struct.pack(">h", length))
        yield DamagedFrame(f"client id of {length}", data)
    for length in (0, 2, 4000, -1):
        data = _put(whole, _TOKEN_LENGTH_AT, struct.pack(">i", length))
        yield DamagedFrame(f"token of {length}", data)
    # As ApiVersions v0, whose body is empty, with the token as a part of the client id.
    swallowed = _put(whole, _CLIENT_ID_AT, struct.pack(">h", len(whole) - _CLIENT_ID_AT - 2))
    yield DamagedFrame("ApiVersions v0", struct.pack(">hh", 18, 0) + swallowed[4:])
    tagged = struct.pack(">BBB", 1, 7, len(PLAIN)) + PLAIN
    head = struct.pack(">hhih", 36, 2, 3, 3) + b"app"
    yield DamagedFrame("tag of the body", head + b"\0\1" + tagged)
    yield DamagedFrame("tag of the header", head + tagged + b"\2x\0")
    software = bytes([len(PLAIN) + 1]) + PLAIN + b"\x021\0"
    yield DamagedFrame("software", struct.pack(">hhih", 18, 3, 3, 3) + b"app\0" + software)
    yield DamagedFrame("mechanism", struct.pack(">hhih", 17, 1, 3, 3) + b"app" + _text(PLAIN))


def conversation(
    frame: bytes, *, handshake: int | None = 1, is_answered: bool = True, version: int = 1
) -> SentFrames:
    """Return the frames of a connection on which a client logs in, and then asks for metadata.

    Args:
        frame: of the login.
        handshake: the version of SaslHandshake; None if the capture lacks it.
        is_answered: whether the broker accepts the login.
        version: of that answer.
    """
    frames: SentFrames = [
        (False, request_bytes(ApiVersionsRequest(), 0, correlation_id=1)),
        (True, response_bytes(ApiVersionsResponse(api_keys=[ApiVersion(36)]), 0, correlation_id=1)),
    ]
    if handshake is not None:
        asked = SaslHandshakeRequest(mechanism="PLAIN")
        told = SaslHandshakeResponse(mechanisms=["PLAIN"])
        frames.append((False, request_bytes(asked, handshake, correlation_id=2)))
        frames.append((True, response_bytes(told, handshake, correlation_id=2)))
    frames.append((False, frame))
    if is_answered:
        frames.append((True, response_bytes(SaslAuthenticateResponse(), version, correlation_id=3)))
    frames.append((False, request_bytes(MetadataRequest(topics=[]), 1, correlation_id=4)))
    frames.append((True, response_bytes(MetadataResponse(controller_id=1), 1, correlation_id=4)))
    return frames


def forms_of(secret: bytes) -> re.Pattern[bytes]:
    """Return a pattern for a secret: raw, in hex, and in base64 at each of its three alignments."""
    forms = [secret, secret.hex().encode(), secret.hex(" ").encode()]
    for shift in range(3):
        text = b64encode(bytes(shift) + secret)
        forms.append(text[(0, 2, 3)[shift] : len(text) - 4])
    return re.compile(b"|".join(map(re.escape, forms)), re.IGNORECASE)


def secret_in(token: bytes) -> bytes | None:
    """Return what in a token opens a cluster: a password, a proof, or the token as a whole."""
    if b",p=" in token:
        return token.rpartition(b",p=")[2]
    parts = token.split(b"\0")
    if len(parts) == 3:
        return parts[2]
    return None if token.startswith((b"n,", b"y,", b"p=")) else token


def with_damage(capture: bytes, secret: bytes, number: int) -> bytes:
    """Return a pcap with bytes changed before a secret, in the packets that carry it.

    Args:
        capture: a pcap of little-endian.
        secret: part of a login.
        number: of the mutation; the same one is always the same.
    """
    chance = random.Random(number)
    data = bytearray(capture)
    for at in [each.start() for each in re.finditer(re.escape(secret), capture)]:
        start = max(_start_of_payload(capture, at), at - 60)
        for _ in range(chance.choice((1, 1, 2, 3, 6))):
            place = chance.randrange(start, at)
            if chance.random() < 0.5:
                place = min(start + chance.randrange(_HEAD_BYTES), at - 1)
            data[place] = chance.choice((0, 1, 2, 3, 17, 18, 36, 0x7F, 0xFF, chance.randrange(256)))
    return bytes(data)


def _start_of_payload(capture: bytes, at: int) -> int:
    """Return where the TCP payload of the packet begins that has a byte; of Ethernet or raw IP."""
    place = _FILE_HEADER_BYTES
    while True:
        size = _RECORD.unpack_from(capture, place)[2]
        if at < place + _RECORD.size + size:
            break
        place += _RECORD.size + size
    link = int.from_bytes(capture[20:24], "little")
    ip = place + _RECORD.size + {1: 14, 101: 0, 113: 16, 276: 20, 0: 4}[link]
    header_bytes = (capture[ip] & 15) * 4 if capture[ip] >> 4 == 4 else 40
    tcp = ip + header_bytes
    return tcp + (capture[tcp + 12] >> 4) * 4


def _put(data: bytes, at: int, new: bytes) -> bytes:
    return data[:at] + new + data[at + len(new) :]


def _text(data: bytes) -> bytes:
    return struct.pack(">h", len(data)) + data
