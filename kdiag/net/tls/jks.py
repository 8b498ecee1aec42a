"""JKS: the key store of Java before version 9, with trusted certificates and private keys.

    magic, version, count, entries, SHA-1 of (password, "Mighty Aphrodite", all before)

An entry is a tag (1: a key with its chain, 2: a trusted certificate), an alias, a time and then
blocks with a length. A key is hidden by a stream of SHA-1 sums: the first of password and salt,
each next one of password and the one before.

Source: the formats that `sun.security.provider.JavaKeyStore` and `KeyProtector` of OpenJDK read.
"""

import hmac
from collections.abc import Iterator
from hashlib import sha1
from typing import Final, NamedTuple

from kdiag.errors import DecodeError
from kdiag.net.tls.der import OCTET_STRING, OID, SEQUENCE, oid_text, read_der

MAGIC: Final = bytes.fromhex("feedfeed")
_SECRET: Final = b"Mighty Aphrodite"
_SHA1_BYTES: Final = 20
_VERSIONS: Final = frozenset((1, 2))
_KEY: Final = 1
_TRUSTED: Final = 2
_TIME_BYTES: Final = 8
_KEY_PROTECTOR: Final = "1.3.6.1.4.1.42.2.17.1.1"
NOT_OPENED: Final = "the password is wrong, or the file is damaged"


class HiddenKey(NamedTuple):
    """A private key as it is stored, and its certificates.

    Attributes:
        hidden: the key, to be had with `reveal`.
        chain: the DER of its certificates, its own first.
    """

    hidden: bytes
    chain: tuple[bytes, ...]


class JavaKeyStore(NamedTuple):
    """What is in a store.

    Attributes:
        trusted: the DER of the trusted certificates.
        keys: the private keys.
    """

    trusted: tuple[bytes, ...]
    keys: tuple[HiddenKey, ...]


class _Reader:
    """A place in the bytes of a store."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def take(self, size: int, what: str) -> bytes:
        left = len(self._data) - self.at
        if size > left:
            raise DecodeError(what, self.at, f"{size} bytes are stated, {left} are left")
        self.at += size
        return self._data[self.at - size : self.at]

    def number(self, size: int, what: str) -> int:
        return int.from_bytes(self.take(size, what))

    def text(self, what: str) -> str:
        return self.take(self.number(2, what), what).decode("utf-8", "replace")

    def block(self, what: str) -> bytes:
        return self.take(self.number(4, what), what)


def read_jks(data: bytes, password: str | None) -> JavaKeyStore:
    """Return what is in a store.

    Args:
        data: the whole file.
        password: what it was protected with; as in Java, None reads it without a check.

    Raises:
        DecodeError: if it is no JKS.
        ValueError: if the password is wrong.
    """
    if len(data) < _SHA1_BYTES:
        raise DecodeError("", 0, f"a JKS has more than {len(data)} bytes")
    content, digest = data[:-_SHA1_BYTES], data[-_SHA1_BYTES:]
    if password is not None:
        expected = _sum(password.encode("utf-16-be"), _SECRET, content)
        if not hmac.compare_digest(expected, digest):
            raise ValueError(NOT_OPENED)
    trusted, keys = [], []
    for entry in _entries(_Reader(content)):
        if isinstance(entry, HiddenKey):
            keys.append(entry)
        else:
            trusted.append(entry)
    return JavaKeyStore(tuple(trusted), tuple(keys))


def reveal(hidden: bytes, password: str) -> bytes:
    """Return a private key, as PKCS #8 in DER.

    Raises:
        DecodeError: if it is not stored in the way of JKS.
        ValueError: if the password is wrong.
    """
    info = read_der(hidden)
    kind = oid_text(info.child(SEQUENCE, "key").child(OID, "key"))
    if kind != _KEY_PROTECTOR:
        raise DecodeError("key", info.offset, f"keys protected with {kind} cannot be read")
    data = info.child(OCTET_STRING, "key").body
    if len(data) < 2 * _SHA1_BYTES:
        raise DecodeError("key", info.offset, "the key is not whole")
    salt, body, check = data[:_SHA1_BYTES], data[_SHA1_BYTES:-_SHA1_BYTES], data[-_SHA1_BYTES:]
    secret = password.encode("utf-16-be")
    stream, link = bytearray(), salt
    while len(stream) < len(body):
        link = _sum(secret, link)
        stream += link
    key = bytes(one ^ other for one, other in zip(body, stream, strict=False))
    if not hmac.compare_digest(_sum(secret, key), check):
        raise ValueError("the password of the key is wrong")
    return key


def _entries(reader: _Reader) -> Iterator[HiddenKey | bytes]:
    """Yield keys, and the DER of trusted certificates."""
    if reader.take(len(MAGIC), "magic") != MAGIC:
        raise DecodeError("magic", 0, "this is no JKS")
    version = reader.number(4, "version")
    if version not in _VERSIONS:
        raise DecodeError("version", len(MAGIC), f"version {version} is not known, 1 and 2 are")
    for number in range(reader.number(4, "count")):
        what = f"entries[{number}]"
        tag = reader.number(4, what)
        reader.text(what)  # its alias
        reader.take(_TIME_BYTES, what)
        if tag == _TRUSTED:
            yield _certificate(reader, version, what)
        elif tag == _KEY:
            hidden = reader.block(what)
            count = reader.number(4, what)
            chain = tuple(_certificate(reader, version, what) for _ in range(count))
            yield HiddenKey(hidden, chain)
        else:
            raise DecodeError(what, reader.at, f"an entry with tag {tag} is not known")


def _certificate(reader: _Reader, version: int, what: str) -> bytes:
    if version > 1:
        reader.text(what)  # its type: X.509 is the only one
    return reader.block(what)


def _sum(*parts: bytes) -> bytes:
    """Return the SHA-1 sum that the format is made of."""
    digest = sha1(usedforsecurity=False)
    for part in parts:
        digest.update(part)
    return digest.digest()
