r"""OAUTHBEARER: a token that somebody else issued and that the broker can verify.

The client's first token is `n,,`, then `auth=Bearer TOKEN` and any extensions, each behind a byte
0x01. A broker that refuses answers with the reason as JSON; the client then sends a lone 0x01, so
that the broker can end the conversation with an error.

Source: RFC 7628; KIP-255, KIP-342 (extensions).
"""

import datetime as dt
import re
from collections.abc import Generator, Mapping
from typing import Final

import msgspec

from kdiag.clock import NS_PER_S, Clock
from kdiag.net.sasl.mechanism import Refusal, SaslError, shortened
from kdiag.net.sasl.tokens import TokenSource, expiry_ns

_SEPARATOR: Final = "\x01"
_NAME: Final = re.compile(r"[A-Za-z]+")
_VALUE: Final = re.compile(r"[\x21-\x7e \t\r\n]+")
_REFUSED_FIX: Final = (
    "Compare the token's issuer, audience and scope with sasl.oauthbearer.* of the broker"
)


class OauthBearer:
    """OAUTHBEARER with tokens of one source."""

    name = "OAUTHBEARER"

    def __init__(
        self,
        source: TokenSource,
        clock: Clock,
        extensions: Mapping[str, str] | None = None,
        refused_fix: str = _REFUSED_FIX,
    ) -> None:
        """Keep the source.

        Args:
            source: where tokens come from; it is asked for each authentication.
            clock: decides whether a refused token had expired.
            extensions: SASL extensions, which a broker's validator may need.
            refused_fix: what to do about a token that is refused and had not expired.

        Raises:
            ValueError: if an extension is not allowed; names it.
        """
        for name, value in (extensions or {}).items():
            if not _NAME.fullmatch(name) or name == "auth":
                raise ValueError(f"SASL extension {name!r}: letters were expected, and not auth")
            if not _VALUE.fullmatch(value):
                raise ValueError(f"SASL extension {name}: its value is not printable ASCII")
        self._source = source
        self._clock = clock
        self._extensions = dict(extensions or {})
        self._refused_fix = refused_fix
        self._expires_ns: int | None = None

    def __repr__(self) -> str:
        return f"<OauthBearer with {self._source!r}>"

    def tokens(self) -> Generator[bytes, bytes, None]:
        """Return a conversation of one token, or of two if the broker refuses the first.

        Raises:
            SaslError: if the source has no token, or the broker refuses and does not end it.
        """
        token = self._source.token()
        self._expires_ns = expiry_ns(token)
        pairs = {"auth": f"Bearer {token}", **self._extensions}
        joined = "".join(f"{name}={value}{_SEPARATOR}" for name, value in pairs.items())
        refused = yield f"n,,{_SEPARATOR}{joined}{_SEPARATOR}".encode("ascii")
        if refused:
            yield _SEPARATOR.encode("ascii")
            raise SaslError(*self.explain(refused.decode(errors="replace")))

    def explain(self, message: str) -> Refusal:
        """Return that the token has expired, if it says so itself, else the broker's reason."""
        why = f"the broker refused the token (OAUTHBEARER): {shortened(_status(message))}"
        if self._expires_ns is not None:
            late_s = (self._clock.epoch_ns() - self._expires_ns) // NS_PER_S
            when = dt.datetime.fromtimestamp(self._expires_ns // NS_PER_S, dt.UTC)
            if late_s >= 0:
                expired = f"it expired at {when:%Y-%m-%dT%H:%M:%SZ}, {late_s} s before now"
                return Refusal(f"{why}; {expired}", "Get a new token")
            why = f"{why}; it says that it holds until {when:%Y-%m-%dT%H:%M:%SZ}"
        return Refusal(why, self._refused_fix)


def _status(message: str) -> str:
    """Return the fields of the broker's JSON as text, or the message if it is not JSON."""
    try:
        fields = msgspec.json.decode(message)
    except (msgspec.DecodeError, RecursionError):
        return message
    if not isinstance(fields, dict) or "status" not in fields:
        return message
    return ", ".join(
        f"{value}" if name == "status" else f"{name} {value}" for name, value in fields.items()
    )
