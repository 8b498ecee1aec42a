"""SCRAM-SHA-256 and SCRAM-SHA-512: both ends prove that they know the password without sending it.

Kafka uses names and passwords as they are, without the normalization (SASLprep) that RFC 5802
demands, so the library is given them as if it had normalized them.

Source: RFC 5802, RFC 7677; KIP-84; KIP-48 (delegation tokens).
"""

from collections.abc import Callable, Generator
from typing import Any, Final

from kdiag.net.sasl.mechanism import Refusal, SaslError, password_bytes, shortened

_MAX_ITERATIONS: Final = 1_000_000
"""About a second of work; Kafka itself allows 16,384."""

_SERVER_ERROR: Final = b"e="
_BY_DELEGATION: Final = ",tokenauth=true"
_NOT_THE_BROKER: Final = (
    "Check that the address is the broker's: another server may be posing as it"
)


class Scram:
    """SCRAM with one user name and password, or with a delegation token."""

    def __init__(
        self, name: str, username: str, password: str, *, is_delegation_token: bool = False
    ) -> None:
        """Keep the credentials.

        Args:
            name: `SCRAM-SHA-256` or `SCRAM-SHA-512`.
            username: the user's name, or the token's id.
            password: the password, or the token's HMAC in base64.
            is_delegation_token: whether the two are those of a delegation token.

        Raises:
            ValueError: if there is no such mechanism.
        """
        if name not in {"SCRAM-SHA-256", "SCRAM-SHA-512"}:
            raise ValueError(f"Kafka has no mechanism {name}")
        self.name = name
        self._username = username.encode(errors="replace").decode()
        self._password = password
        self._is_delegation_token = is_delegation_token

    def __repr__(self) -> str:
        return f"<Scram {self.name} as {self._username!r}>"

    def tokens(self, nonce: str | None = None) -> Generator[bytes, bytes, None]:
        """Return a conversation of two tokens; the broker proves itself in its second.

        Args:
            nonce: the client's; by default a random one.

        Raises:
            SaslError: if the broker's tokens cannot be read, or prove nothing.
        """
        client = self._client(nonce)
        server_first = yield self._client_first(client)
        self._read_token(client.set_server_first, server_first)
        if int(client.iterations) > _MAX_ITERATIONS:
            raise SaslError(
                f"the broker asks for {client.iterations} iterations of {self.name}, more than"
                f" {_MAX_ITERATIONS}",
                _NOT_THE_BROKER,
            )
        server_final = yield client.get_client_final().encode()
        self._read_token(client.set_server_final, server_final)

    def explain(self, message: str) -> Refusal:
        """Return that the user name or the password is wrong, or belongs to another mechanism."""
        if self._is_delegation_token:
            return Refusal(
                f"the broker refused delegation token {self._username!r} ({self.name}):"
                f" {shortened(message)}",
                "Check with kafka-delegation-tokens.sh --describe that the token has not expired",
            )
        return Refusal(
            f"the broker refused user {self._username!r} ({self.name}): {shortened(message)}",
            f"Check user name and password, and with kafka-configs.sh --describe --entity-type"
            f" users that the user has {self.name} credentials",
        )

    def _client(self, nonce: str | None) -> Any:
        from scramp import ScramClient  # noqa: PLC0415 - 33 ms, SCRAM only

        client = ScramClient([self.name], "kafka", "", c_nonce=nonce)
        client.username = _AsItIs(self._username)
        client.password = _AsItIs(self._password)
        return client

    def _client_first(self, client: Any) -> bytes:
        first: str = client.get_client_first()
        if self._is_delegation_token:
            client.client_first_bare += _BY_DELEGATION
            first += _BY_DELEGATION
        return first.encode()

    def _read_token(self, read: Callable[[str], None], token: bytes) -> None:
        """Have the library read a token of the broker."""
        from scramp import ScramException  # noqa: PLC0415 - as above

        if token.startswith(_SERVER_ERROR):
            raise SaslError(
                *self.explain(token.removeprefix(_SERVER_ERROR).decode(errors="replace"))
            )
        try:
            read(token.decode())
        except (ScramException, UnicodeDecodeError) as error:
            raise SaslError(
                f"the broker does not prove that it knows the password of user"
                f" {self._username!r} ({self.name}): {shortened(str(error))}",
                _NOT_THE_BROKER,
            ) from None


class _AsItIs:
    """A name or password that is not normalized."""

    def __init__(self, text: str) -> None:
        self._text = text

    def __bytes__(self) -> bytes:
        return password_bytes(self._text)

    def escape(self) -> str:
        """Return the text as it stands in a SCRAM message."""
        return self._text.replace("=", "=3D").replace(",", "=2C")
