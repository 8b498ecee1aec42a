"""SASL mechanisms: what a client says to prove who it is, apart from how the bytes travel.

A mechanism's conversation is a generator: it yields a token for the broker and is sent the token
that the broker answers with, until it is satisfied and returns. The broker always has the last
word, if only an empty token.

Source: RFC 4422 (SASL); KIP-43.
"""

from collections.abc import Generator
from typing import Final, NamedTuple, Protocol

from kdiag.errors import Fault, KdiagError

_MAX_TEXT: Final = 300
"""More characters of what a broker says are not repeated."""


class SaslError(KdiagError):
    """Authentication cannot go on; the authenticator tells with which broker.

    Attributes:
        why: what was expected and what happened; never holds a secret.
        fix: what to do about it, one sentence.
        fault: which of the known faults it is.
    """

    def __init__(self, why: str, fix: str, fault: Fault = Fault.OTHER) -> None:
        super().__init__(why, fix)
        self.why = why
        self.fix = fix
        self.fault = fault

    def __str__(self) -> str:
        return self.why


class Refusal(NamedTuple):
    """A broker's refusal in the terms of a mechanism; the attributes are as those of SaslError."""

    why: str
    fix: str
    fault: Fault = Fault.WRONG_CREDENTIALS


class SaslMechanism(Protocol):
    """One mechanism with the client's credentials, for any number of connections.

    Its `repr` and its errors hold no secret.
    """

    @property
    def name(self) -> str:
        """Return the mechanism's registered name, such as `SCRAM-SHA-512`."""
        ...

    def talk(self) -> Generator[bytes, bytes, None]:
        """Return a new conversation; it ends by returning when the client is satisfied.

        Raises:
            SaslError: while it runs, if there is nothing to prove with, or if the broker does not
                prove who it is.
        """
        ...

    def explain(self, said: str) -> Refusal:
        """Return what it means that the broker refused, with what it said."""
        ...


def shortened(text: str) -> str:
    """Return what a broker said, without its end if that is far away."""
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."


def secret_bytes(text: str) -> bytes:
    """Return what was typed or read as UTF-8, with bytes that were none before as they were.

    A surrogate that came from anywhere else becomes a question mark, as in Java.
    """
    try:
        return text.encode(errors="surrogateescape")
    except UnicodeEncodeError:
        return text.encode(errors="replace")


class Plain:
    """PLAIN with one user name and password."""

    name = "PLAIN"

    def __init__(self, username: str, password: str) -> None:
        self._username = username
        self._password = password

    def __repr__(self) -> str:
        return f"<Plain as {self._username!r}>"

    def talk(self) -> Generator[bytes, bytes, None]:
        """Return a conversation of one token: no other identity, user name, password."""
        yield secret_bytes(f"\0{self._username}\0{self._password}")

    def explain(self, said: str) -> Refusal:
        """Return that user name or password are wrong."""
        return Refusal(
            f"the broker refused user {self._username!r} (PLAIN): {shortened(said)}",
            "Check user name and password; PLAIN users stand in the JAAS configuration of the"
            " broker's listener",
        )
