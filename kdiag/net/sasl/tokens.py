"""Bearer tokens and their sources: a literal, a file, a command, or made here without a signature.

That of an identity provider is in `identity_provider`.

Source: RFC 6750 section 2.1 (what a token is made of); RFC 7519 (JWT); KIP-255 (unsecured tokens).
"""

import math
import re
import subprocess
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from kdiag.clock import NS_PER_MS, NS_PER_S, Clock
from kdiag.net.sasl.mechanism import SaslError

_TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
MAX_TOKEN_BYTES: Final = 512 * 1024
_LAST_SECOND: Final = 253_402_300_799
"""The end of the year 9999."""

REUSE_MARGIN_NS: Final = 60 * NS_PER_S
"""So long before it expires, a token is not used again."""

_PREFIX: Final = "unsecuredLogin"
_STRING, _NUMBER, _LIST = (f"{_PREFIX}{kind}Claim_" for kind in ("String", "Number", "List"))


class TokenSource(Protocol):
    """The source of a token; its `repr` and its errors hold no token."""

    def token(self) -> str:
        """Return a token to send now.

        Raises:
            SaslError: if there is none.
        """
        ...


class LiteralToken:
    """A token given as it is."""

    def __init__(self, token: str) -> None:
        self._token = token

    def __repr__(self) -> str:
        return "<LiteralToken>"

    def token(self) -> str:
        """Return the token."""
        return checked_token(self._token, "the token that was given")


class FileToken:
    """A token in a file that something else keeps fresh: it is read each time."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def __repr__(self) -> str:
        return f"<FileToken {self._path}>"

    def token(self) -> str:
        """Return the token in the file, without white space around it."""
        try:
            with self._path.open("rb") as file:
                data = file.read(MAX_TOKEN_BYTES + 1)
        except OSError as error:
            raise SaslError(
                f"token file {self._path}: {error.strerror or error}",
                "Have a token written to that file, or name the file that holds one",
            ) from None
        return checked_token(data.decode(errors="replace"), f"token file {self._path}")


class CommandToken:
    """A token that a command prints; a JWT is used again until a minute before it expires.

    Waiting for the command blocks. Its stderr is ours.
    """

    def __init__(self, command: Sequence[str], timeout_ns: int, clock: Clock) -> None:
        """Keep the command.

        Args:
            command: the program and its arguments; no shell sees them.
            timeout_ns: how long it may take before it is killed.
            clock: decides whether the token has expired.

        Raises:
            ValueError: if it names no program.
        """
        if not command:
            raise ValueError("a command that prints a token has at least a program")
        self._command = list(command)
        self._timeout_ns = timeout_ns
        self._clock = clock
        self._kept = ""

    def __repr__(self) -> str:
        return f"<CommandToken {self._command[0]}>"

    def token(self) -> str:
        """Return the token of the last run while it is fresh, otherwise run the command."""
        expires_ns = expiry_ns(self._kept)
        if expires_ns is None or self._clock.epoch_ns() > expires_ns - REUSE_MARGIN_NS:
            self._kept = checked_token(self._run(), f"what {self._command[0]} printed")
        return self._kept

    def _run(self) -> str:
        """Return what the command prints."""
        program = self._command[0]
        fix = "Run the token command by hand to see what it does"
        try:
            done = subprocess.run(  # noqa: S603 - it is the user's own command
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                timeout=self._timeout_ns / NS_PER_S,
                check=False,
            )
        except subprocess.TimeoutExpired:
            took = f"took more than {self._timeout_ns / NS_PER_S:g} s"
            raise SaslError(f"token command {program} {took}", fix) from None
        except (OSError, ValueError) as error:
            why = getattr(error, "strerror", None) or "its arguments cannot be passed"
            raise SaslError(f"token command {program}: {why}", fix) from None
        if done.returncode:
            how = f"ended with status {done.returncode}"
            raise SaslError(f"token command {program} {how}", fix)
        return done.stdout.decode(errors="replace")


class UnsecuredToken:
    """Unsigned tokens, which brokers with Kafka's unsecured validator accept, for tests.

    A new one is made each time, from the options of Kafka's `OAuthBearerLoginModule`:
    `unsecuredLoginStringClaim_sub="alice"` and its like.
    """

    def __init__(self, options: Mapping[str, str], clock: Clock) -> None:
        """Read the options; unrelated ones are ignored.

        Raises:
            ValueError: if an option is missing or not allowed; names it.
        """
        principal = options.get(f"{_PREFIX}PrincipalClaimName", "").strip() or "sub"
        self._claims = dict(_claims(options))
        if not self._claims.get(principal):
            raise ValueError(f"{_STRING}{principal} is missing")
        lifetime = options.get(f"{_PREFIX}LifetimeSeconds", "3600")
        try:
            self._lifetime_s = float(int(lifetime))
        except (ValueError, OverflowError):
            name = f"{_PREFIX}LifetimeSeconds"
            raise ValueError(
                f"{name}: a number of seconds was expected, not {lifetime!r}"
            ) from None
        self._clock = clock
        _encoded(self._claims)  # refuse now, not on the first connection, what JSON cannot hold

    def __repr__(self) -> str:
        return f"<UnsecuredToken {self._claims}>"

    def token(self) -> str:
        """Return a token that is valid from now on."""
        now_s = self._clock.epoch_ns() // NS_PER_MS / 1000
        claims = {"exp": now_s + self._lifetime_s, "iat": now_s, **self._claims}
        header, body = (_encoded(part) for part in ({"alg": "none"}, claims))
        return f"{header}.{body}."


def expiry_ns(token: str) -> int | None:
    """Return when a JWT expires, since 1970; None if it does not say."""
    parts = token.split(".", 2)
    if len(parts) < 2:  # noqa: PLR2004 - header and claims
        return None
    try:
        claims = msgspec.json.decode(urlsafe_b64decode(parts[1] + "=="))
    except (ValueError, msgspec.DecodeError, RecursionError):
        return None
    expires = claims.get("exp") if isinstance(claims, dict) else None
    if isinstance(expires, bool) or not isinstance(expires, int | float):
        return None
    return int(expires * NS_PER_S) if 0 <= expires <= _LAST_SECOND else None


def checked_token(text: str, origin: str) -> str:
    """Return a token without the white space around it.

    Raises:
        SaslError: if it is not a token.
    """
    token = text.strip()
    if not token:
        raise SaslError(f"{origin} is empty", "Get a token first")
    if len(token) > MAX_TOKEN_BYTES:
        raise SaslError(f"{origin} is longer than {MAX_TOKEN_BYTES} bytes", "Get a token first")
    if not _TOKEN.fullmatch(token):
        raise SaslError(
            f"{origin} has characters that no bearer token has",
            "Give the access token alone, without quotes, JSON or `Bearer` around it",
        )
    return token


def _encoded(value: object) -> str:
    return urlsafe_b64encode(msgspec.json.encode(value)).decode().rstrip("=")


def _claims(options: Mapping[str, str]) -> Iterable[tuple[str, object]]:
    """Yield the names and values of the claims in options."""
    for option, text in options.items():
        for prefix, read in ((_STRING, str), (_NUMBER, _number), (_LIST, _list)):
            name = option.removeprefix(prefix)
            if name in {option, ""}:
                continue
            if name in {"exp", "iat"}:
                raise ValueError(f"{option}: this claim is computed")
            try:
                yield name, read(text)
            except ValueError:
                raise ValueError(f"{option}: a number was expected, not {text!r}") from None


def _number(text: str) -> float:
    value = float(text)
    if not math.isfinite(value):  # JSON has no such numbers
        raise ValueError
    return value


def _list(text: str) -> list[str]:
    """Split a text by its first character."""
    return text[1:].split(text[0]) if len(text) > 1 else []
