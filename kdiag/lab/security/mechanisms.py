r"""What a client has to prove, from the broker's side, apart from how the tokens travel.

A mechanism is given the client's tokens one by one, and answers each, until it is satisfied:

    plain = PlainServer(users)
    plain.evaluate(b"\0alice\0secret")      b"", and plain.user is "alice"

A client that proves nothing is a ProofError. Its message goes to the client, and says nothing that
he does not know: not whether there is such a user.

OAUTHBEARER takes tokens that nobody has signed, as Kafka does without a validator of one's own: who
the client says he is, he is.

Source: RFC 4616, RFC 5802, RFC 7628; Kafka's `PlainSaslServer`, `ScramSaslServer`,
`OAuthBearerSaslServer`, `OAuthBearerUnsecuredValidatorCallbackHandler`.
"""

import hashlib
import hmac
import os
import re
from base64 import b64decode, b64encode, urlsafe_b64decode
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec

from kdiag.clock import NS_PER_MS, Clock
from kdiag.errors import KdiagError
from kdiag.lab.security.users import OAUTHBEARER, PLAIN, SCRAM_MECHANISMS, UserStore, hash_of
from kdiag.net.sasl.tokens import expiry_ns

if TYPE_CHECKING:
    from collections.abc import Callable

_PLAIN_PARTS: Final = 3
_JWT_PARTS: Final = 3
_NONCE_BYTES: Final = 24
_CLIENT_FIRST: Final = re.compile(
    r"(?P<head>n,(?:a=(?P<asked>(?:[^,=]|=2C|=3D)*))?,)"
    r"(?P<bare>n=(?P<user>(?:[^,=]|=2C|=3D)+),r=(?P<nonce>[!-+\--~]+)(?:,.*)?)",
    re.DOTALL,
)
_CLIENT_FINAL: Final = re.compile(
    r"(?P<bare>c=(?P<head>[A-Za-z0-9+/=]*),r=(?P<nonce>[!-+\--~]+)),p=(?P<proof>[A-Za-z0-9+/=]+)"
)
_BEARER_FIRST: Final = re.compile(
    r"n,(?:a=(?P<asked>[^,]*))?,\x01(?:[A-Za-z]+=[^\x01]*\x01)*?"
    r"auth=Bearer +(?P<token>[-_.~+/A-Za-z0-9]+=*)\x01(?:[A-Za-z]+=[^\x01]*\x01)*\x01"
)
_LONE_SEPARATOR: Final = b"\x01"
_REFUSED: Final = b'{"status":"invalid_token"}'


class ProofError(KdiagError):
    """A client has not proved who he is; the message may be sent to him."""


class SaslServer(Protocol):
    """One conversation of a mechanism.

    Attributes:
        user: who the client is, once that is proved.
        expires_ns: when that ends, since 1970; None is never.
    """

    user: str | None
    expires_ns: int | None

    def evaluate(self, token: bytes) -> bytes:
        """Return the answer to a token of the client.

        Raises:
            ProofError: if he has not proved who he is.
        """
        ...


class PlainServer:
    """PLAIN: one token with the password."""

    def __init__(self, users: UserStore) -> None:
        self.user: str | None = None
        self.expires_ns: int | None = None
        self._users = users

    def evaluate(self, token: bytes) -> bytes:
        """Check the only token.

        Raises:
            ProofError: if it is not made as it should be, or the password is another.
        """
        parts = token.split(b"\0")
        if len(parts) != _PLAIN_PARTS:
            raise ProofError("Authentication failed: not a token of PLAIN")
        asked, name = (part.decode(errors="replace") for part in parts[:2])
        if not self._users.has_password(name, parts[2]):
            raise ProofError("Authentication failed: wrong user name or password")
        if asked not in {"", name}:
            raise ProofError("Authentication failed: a client cannot act for another user")
        self.user = name
        return b""


class ScramServer:
    """SCRAM: two tokens, and the broker proves itself in its second."""

    def __init__(self, users: UserStore, mechanism: str, nonce: str | None = None) -> None:
        """Begin.

        Args:
            users: with credentials.
            mechanism: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
            nonce: the broker's; by default a random one.
        """
        self.user: str | None = None
        self.expires_ns: int | None = None
        self._users = users
        self._mechanism = mechanism
        self._nonce = nonce or b64encode(os.urandom(_NONCE_BYTES)).decode()
        self._first: re.Match[str] | None = None
        self._server_first = ""

    def evaluate(self, token: bytes) -> bytes:
        """Answer the first token, or check the second.

        Raises:
            ProofError: if a token cannot be read, there is no such user, or the proof is wrong.
        """
        text = token.decode(errors="replace")
        return (self._answer_first if self._first is None else self._check_final)(text).encode()

    def _answer_first(self, text: str) -> str:
        self._first = first = _CLIENT_FIRST.fullmatch(text)
        if first is None:
            raise self._refusal()
        credential = self._users.scram_credential(_unescaped(first["user"]), self._mechanism)
        if credential is None or first["asked"] not in {None, "", first["user"]}:
            raise self._refusal()
        self._nonce = first["nonce"] + self._nonce
        salt = b64encode(credential.salt).decode()
        self._server_first = f"r={self._nonce},s={salt},i={credential.iterations}"
        return self._server_first

    def _check_final(self, text: str) -> str:
        first, final = self._first, _CLIENT_FINAL.fullmatch(text)
        assert first is not None
        name = _unescaped(first["user"])
        credential = self._users.scram_credential(name, self._mechanism)
        if final is None or credential is None:
            raise self._refusal()
        hash_name = hash_of(self._mechanism)
        signed = f"{first['bare']},{self._server_first},{final['bare']}".encode()
        signature = hmac.digest(credential.stored_key, signed, hash_name)
        proof, head = _decoded(final["proof"]), _decoded(final["head"])
        client_key = bytes(a ^ b for a, b in zip(proof, signature, strict=False))
        stored_key = hashlib.new(hash_name, client_key).digest()
        is_proved = hmac.compare_digest(stored_key, credential.stored_key)
        if not is_proved or head != first["head"].encode() or final["nonce"] != self._nonce:
            raise self._refusal()
        self.user = name
        return f"v={b64encode(hmac.digest(credential.server_key, signed, hash_name)).decode()}"

    def _refusal(self) -> ProofError:
        return ProofError(f"Authentication failed: wrong credentials for {self._mechanism}")


class OauthBearerServer:
    """OAUTHBEARER: a token that says who it is for and until when, and is not signed."""

    def __init__(self, clock: Clock) -> None:
        self.user: str | None = None
        self.expires_ns: int | None = None
        self._clock = clock
        self._why: str | None = None

    def evaluate(self, token: bytes) -> bytes:
        """Check a token; after a refusal, which is an answer, take the client's end of it.

        Raises:
            ProofError: if the token cannot be read, or the client has seen the refusal.
        """
        if self._why is not None:
            why = self._why if token == _LONE_SEPARATOR else "another token after a refusal"
            raise ProofError(f"Authentication failed: {why}")
        found = _BEARER_FIRST.fullmatch(token.decode(errors="replace"))
        if found is None:
            raise ProofError("Authentication failed: not a token of OAUTHBEARER")
        user, self._why = self._subject(found["token"])
        if self._why is None and found["asked"] not in {None, "", user}:
            self._why = "the token is for another user"
        if self._why is not None:
            return _REFUSED
        self.user = user
        self.expires_ns = expiry_ns(found["token"])
        return b""

    def _subject(self, token: str) -> tuple[str, str | None]:
        """Return whom a token is for, and what is wrong with it."""
        parts = token.split(".")
        if len(parts) != _JWT_PARTS:
            return "", "the token is not a JWT"
        head, claims = map(_json_object, parts[:2])
        expires = expiry_ns(token)
        user = claims.get("sub")
        if head.get("alg") != "none" or parts[2]:
            return "", "the token is signed: a lab takes those with alg none"
        if not isinstance(user, str) or not user:
            return "", "the token has no sub"
        if expires is None:
            return "", "the token has no exp"
        if expires <= self._clock.epoch_ns():
            return "", "the token has expired"
        return user, None


def make_server(mechanism: str, users: UserStore, clock: Clock) -> SaslServer:
    """Return a new conversation of a mechanism.

    Raises:
        KeyError: if there is no such mechanism.
    """
    makers: dict[str, Callable[[], SaslServer]] = {
        PLAIN: lambda: PlainServer(users),
        OAUTHBEARER: lambda: OauthBearerServer(clock),
        **{name: lambda name=name: ScramServer(users, name) for name in SCRAM_MECHANISMS},  # type: ignore[misc]
    }
    return makers[mechanism]()


def lifetime_ms(server: SaslServer, clock: Clock) -> int:
    """Return how long a proof holds from now on; 0 is without end."""
    if server.expires_ns is None:
        return 0
    return max(0, server.expires_ns - clock.epoch_ns()) // NS_PER_MS


def _unescaped(name: str) -> str:
    return name.replace("=2C", ",").replace("=3D", "=")


def _decoded(text: str) -> bytes:
    try:
        return b64decode(text, validate=True)
    except ValueError:
        return b""


def _json_object(part: str) -> dict[str, Any]:
    """Return an object of a JWT; an empty one for anything else."""
    try:
        found = msgspec.json.decode(urlsafe_b64decode(part + "=="))
    except (ValueError, msgspec.DecodeError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
