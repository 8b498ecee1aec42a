"""PLAIN: the password itself, which only TLS keeps from those who listen.

Source: RFC 4616; KIP-43.
"""

from collections.abc import Generator

from kdiag.net.sasl.mechanism import Refusal, secret_bytes, shortened


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
