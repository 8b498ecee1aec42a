"""JKS: Java's key store before version 9, with trusted certificates and private keys.

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
        hidden: the key, which `reveal` decrypts.
        chain: the DER of its certificates, its own first.
    """

    hidden: bytes
    chain: tuple[bytes, ...]


class JavaKeyStore(NamedTuple):
    """The contents of a store.

    Attributes:
        trusted: the DER of the trusted certificates.
        keys: the private keys.
    """

    trusted: tuple[bytes, ...]
    keys: tuple[HiddenKey, ...]


class _StoreReader:
    """Reads the bytes of a store one after the other."""

    def __init__(self, data: bytes) -> None:
        self._data = data
        self.at = 0

    def read(self, size: int, path: str) -> bytes:
        left = len(self._data) - self.at
        if size > left:
            raise DecodeError(path, self.at, f"{size} bytes are stated, {left} are left")
        self.at += size
        return self._data[self.at - size : self.at]

    def number(self, size: int, path: str) -> int:
        return int.from_bytes(self.read(size, path))

    def text(self, path: str) -> str:
        return self.read(self.number(2, path), path).decode("utf-8", "replace")

    def block(self, path: str) -> bytes:
        return self.read(self.number(4, path), path)


def read_jks(data: bytes, password: str | None) -> JavaKeyStore:
    """Return the contents of a store.

    Args:
        data: the whole file.
        password: of the store; as in Java, None reads it without a check.

    Raises:
        DecodeError: if it is not a JKS.
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
    for entry in _entries(_StoreReader(content)):
        if isinstance(entry, HiddenKey):
            keys.append(entry)
        else:
            trusted.append(entry)
    return JavaKeyStore(tuple(trusted), tuple(keys))


def reveal(hidden: bytes, password: str) -> bytes:
    """Return a private key, as PKCS #8 in DER.

    Raises:
        DecodeError: if it is not stored as in a JKS.
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


def _entries(reader: _StoreReader) -> Iterator[HiddenKey | bytes]:
    """Yield keys, and the DER of trusted certificates."""
    if reader.read(len(MAGIC), "magic") != MAGIC:
        raise DecodeError("magic", 0, "this is not a JKS")
    version = reader.number(4, "version")
    if version not in _VERSIONS:
        raise DecodeError("version", len(MAGIC), f"version {version} is not known, 1 and 2 are")
    for number in range(reader.number(4, "count")):
        path = f"entries[{number}]"
        tag = reader.number(4, path)
        reader.text(path)  # its alias
        reader.read(_TIME_BYTES, path)
        if tag == _TRUSTED:
            yield _certificate(reader, version, path)
        elif tag == _KEY:
            hidden = reader.block(path)
            count = reader.number(4, path)
            chain = tuple(_certificate(reader, version, path) for _ in range(count))
            yield HiddenKey(hidden, chain)
        else:
            raise DecodeError(path, reader.at, f"an entry with tag {tag} is not known")


def _certificate(reader: _StoreReader, version: int, path: str) -> bytes:
    if version > 1:
        reader.text(path)  # its type: X.509 is the only one
    return reader.block(path)


def _sum(*parts: bytes) -> bytes:
    """Return the SHA-1 sum of the parts, one after the other."""
    digest = sha1(usedforsecurity=False)
    for part in parts:
        digest.update(part)
    return digest.digest()
