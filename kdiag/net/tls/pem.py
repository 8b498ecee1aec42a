"""PEM: certificates and keys as text between BEGIN and END lines.

Kafka ignores where lines end, so that PEM fits on one line of a properties file; OpenSSL does not.
What is read here is written again in OpenSSL's form.

Source: RFC 7468 (PEM), RFC 1421, section 4.6 (headers); KIP-651 (PEM in Kafka's settings).
"""

import re
from base64 import b64decode, b64encode
from binascii import Error as Base64Error
from collections.abc import Iterator
from typing import Final, NamedTuple

PKCS8: Final = "PRIVATE KEY"
_CERTIFICATE: Final = "CERTIFICATE"
_WIDTH: Final = 64
_BLOCK: Final = re.compile(
    r"-----BEGIN\s+(?P<label>[A-Z0-9 ]+)-----\s+"
    r"(?P<headers>(?:[\w-]+:[^\r\n]*[\r\n]+)*)"
    r"(?P<base64>[A-Za-z0-9+/=\s]*)-----END\s+(?P=label)-----"
)


class Block(NamedTuple):
    """One certificate or key as PEM.

    Attributes:
        label: its kind: `CERTIFICATE`, `ENCRYPTED PRIVATE KEY`.
        headers: lines that old encrypted keys have; empty otherwise.
        base64: the rest, without white space.
    """

    label: str
    headers: str
    base64: str

    @property
    def is_certificate(self) -> bool:
        """Return whether it is a certificate."""
        return self.label.endswith(_CERTIFICATE)

    @property
    def is_key(self) -> bool:
        """Return whether it is a private key, in whatever form."""
        return self.label.endswith(PKCS8)

    @property
    def is_encrypted(self) -> bool:
        """Return whether a password is needed to read it."""
        return "ENCRYPTED" in self.label or "ENCRYPTED" in self.headers

    @property
    def der(self) -> bytes:
        """Return its contents.

        Raises:
            ValueError: if they are not base64.
        """
        try:
            return b64decode(self.base64, validate=True)
        except Base64Error as error:
            raise ValueError(f"{self.label} is not base64: {error}") from None

    def __str__(self) -> str:
        ends = range(0, len(self.base64), _WIDTH)
        lines = [self.base64[end : end + _WIDTH] for end in ends]
        head = f"{self.headers}\n" if self.headers else ""
        body = "\n".join(lines)
        return f"-----BEGIN {self.label}-----\n{head}{body}\n-----END {self.label}-----\n"


def read_pem(text: str) -> Iterator[Block]:
    """Yield the blocks in a text; anything around them is ignored."""
    for match in _BLOCK.finditer(text):
        headers = "".join(f"{line}\n" for line in match["headers"].splitlines() if line)
        yield Block(match["label"].strip(), headers, "".join(match["base64"].split()))


def certificate_pem(der: bytes) -> str:
    """Return a certificate as PEM."""
    return str(Block(_CERTIFICATE, "", b64encode(der).decode()))


def key_pem(der: bytes) -> str:
    """Return a private key in PKCS #8 as PEM."""
    return str(Block(PKCS8, "", b64encode(der).decode()))
