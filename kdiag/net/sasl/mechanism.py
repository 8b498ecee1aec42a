r"""SASL mechanisms: how a client proves who it is, apart from how the bytes travel.

A mechanism is a generator of tokens: it yields one for the broker and is sent the token that the
broker answers with, until it is satisfied and returns. The broker always has the last word, if only
an empty token:

    tokens = Plain("alice", "secret").tokens()
    next(tokens)                    b"\0alice\0secret"
    tokens.send(b"")                StopIteration: the client is satisfied

Here are that protocol, its errors, and PLAIN; every other mechanism is a module of its own.

Source: RFC 4422 (SASL), RFC 4616 (PLAIN); KIP-43.
"""

from collections.abc import Generator
from typing import Final, NamedTuple, Protocol

from kdiag.errors import Fault, KdiagError

_MAX_TEXT: Final = 300
"""Longer messages of a broker are not repeated in full."""


class SaslError(KdiagError):
    """Authentication cannot continue; the authenticator adds with which broker.

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

    def tokens(self) -> Generator[bytes, bytes, None]:
        """Return a new conversation; it returns when the client is satisfied.

        Raises:
            SaslError: while it runs, if the client has no credentials, or the broker does not prove
                who it is.
        """
        ...

    def explain(self, message: str) -> Refusal:
        """Return the meaning of a refusal, with the broker's own message."""
        ...


def shortened(text: str) -> str:
    """Return a broker's message, cut if it is long."""
    return text if len(text) <= _MAX_TEXT else f"{text[:_MAX_TEXT]}..."


def password_bytes(text: str) -> bytes:
    """Return a text as UTF-8, with the original bytes where it was read from something else.

    A surrogate of any other origin becomes a question mark, as in Java.
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

    def tokens(self) -> Generator[bytes, bytes, None]:
        """Return a conversation of one token: no other identity, user name, password."""
        yield password_bytes(f"\0{self._username}\0{self._password}")

    def explain(self, message: str) -> Refusal:
        """Return that the user name or the password is wrong."""
        return Refusal(
            f"the broker refused user {self._username!r} (PLAIN): {shortened(message)}",
            "Check user name and password; PLAIN users stand in the JAAS configuration of the"
            " broker's listener",
        )
