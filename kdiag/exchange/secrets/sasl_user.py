"""The user in the first token of SASL, and nothing else of it: the rest is what opens a cluster.

    PLAIN        [authzid] NUL authcid NUL password              -> authcid
    SCRAM        n,[a=authzid],n=user,r=nonce                    -> user
    OAUTHBEARER  n,[a=authzid],^Aauth=Bearer TOKEN^A...^A^A      -> `sub` of TOKEN, if a JWT

The user is whom the client claims to be; whether the broker believed it is in its answer. Where
the mechanism is not known, as in a capture that starts late, the form of the token decides: only
one that is of the form to its last byte is believed.

Source: RFC 4616 (PLAIN), RFC 5802 (SCRAM), RFC 7628 (OAUTHBEARER), RFC 7519 (JWT), RFC 4422 (names
of mechanisms).
"""

import re
from base64 import urlsafe_b64decode
from binascii import Error
from typing import Final

import msgspec

from kdiag.exchange.model import Connection

_MAX_TOKEN_BYTES: Final = 64 << 10
_MAX_USER_CHARACTERS: Final = 256
_MECHANISM: Final = re.compile(r"[A-Z0-9_-]{1,20}")
_SCRAM: Final = re.compile(
    r"(?:n|y|p=[A-Za-z0-9.-]+),(?:a=[^,\0]*)?,n=([^,\0]+),r=[!-+\--~]+(?:,.+)?"
)
_OAUTHBEARER: Final = re.compile(
    rb"n,(?:a=[^,\0]*)?,\x01(?:[^\x01]*\x01)*?auth=Bearer ([^\x01]+)\x01"
)
_PLAIN_PARTS: Final = 3
_JWT_PARTS: Final = 3


class _Claims(msgspec.Struct):
    """What is read of a JWT."""

    sub: str | None = None


def note_mechanism(connection: Connection, mechanism: str) -> None:
    """Note the mechanism that a client asks for, as long as its user is not known."""
    if connection.sasl_user is None and _MECHANISM.fullmatch(mechanism):
        connection.sasl_mechanism = mechanism


def note_token(connection: Connection, token: bytes) -> None:
    """Note the user in a token of the client, if it has one and none is known."""
    if connection.sasl_user is None:
        connection.sasl_user = read_sasl_user(token, connection.sasl_mechanism)


def read_sasl_user(token: bytes, mechanism: str | None) -> str | None:
    """Return the user in a token of a SASL client.

    Args:
        token: of the client, complete.
        mechanism: its name; None if the capture lacks it.

    Returns:
        At most 256 characters, and an ellipsis if there are more; None if the token is not a first
        one of a mechanism that is known here, or has no user.
    """
    if len(token) > _MAX_TOKEN_BYTES:
        return None
    if mechanism is None:
        user = _scram_user(token) or _oauthbearer_user(token) or _printable(_plain_user(token))
    elif mechanism == "PLAIN":
        user = _plain_user(token)
    elif mechanism.startswith("SCRAM-"):
        user = _scram_user(token)
    else:
        user = _oauthbearer_user(token) if mechanism == "OAUTHBEARER" else None
    if user is None or len(user) <= _MAX_USER_CHARACTERS:
        return user or None
    return f"{user[:_MAX_USER_CHARACTERS]}…"


def _plain_user(token: bytes) -> str | None:
    parts = token.split(b"\0")
    if len(parts) != _PLAIN_PARTS or not parts[1] or not parts[2]:
        return None
    texts = [_text(each) for each in parts]
    return None if None in texts else texts[1]


def _scram_user(token: bytes) -> str | None:
    text = _text(token)
    found = None if text is None else _SCRAM.fullmatch(text)
    return None if found is None else found[1].replace("=2C", ",").replace("=3D", "=")


def _oauthbearer_user(token: bytes) -> str | None:
    found = _OAUTHBEARER.match(token)
    return None if found is None else _subject(found[1])


def _subject(token: bytes) -> str | None:
    """Return the claim `sub` of a JWT; None for a token that tells nobody but the broker."""
    parts = token.split(b".")
    if len(parts) != _JWT_PARTS:
        return None
    try:
        claims = urlsafe_b64decode(parts[1] + b"=" * (-len(parts[1]) % 4))
        return msgspec.json.decode(claims, type=_Claims).sub
    except (Error, msgspec.MsgspecError, UnicodeError, RecursionError):
        return None


def _text(data: bytes) -> str | None:
    try:
        return data.decode()
    except UnicodeDecodeError:
        return None


def _printable(text: str | None) -> str | None:
    return text if text is not None and text.isprintable() else None
