"""Opening protected records: keys from secrets, plaintext from records.

Nothing but a record's place in the order of its direction, its sequence number, and the key is
needed to open it; no record needs the one before it. So a record behind a gap can be opened once
its sequence number is found, and a wrong number fails authentication rather than give wrong bytes.

Source: RFC 8446, sections 5.2 to 5.4, 7.1 to 7.3 (TLS 1.3); RFC 5246, sections 5 and 6.2.3 (1.2);
RFC 5288 (GCM), 6655 (CCM), 7905 (ChaCha20), 7366 (encrypt-then-MAC).
"""

import hmac
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher
from cryptography.hazmat.primitives.ciphers.aead import AESCCM, AESGCM, ChaCha20Poly1305
from cryptography.hazmat.primitives.ciphers.algorithms import AES
from cryptography.hazmat.primitives.ciphers.modes import CBC

from kdiag.pcap.tls.direction import Epoch
from kdiag.pcap.tls.record import TlsRecord
from kdiag.pcap.tls.suite import CipherSuite

_TAG_BYTES: Final = 16
_SHORT_TAG_BYTES: Final = 8
_NONCE_BYTES: Final = 12
_SALT_BYTES: Final = 4
_EXPLICIT_NONCE_BYTES: Final = 8
_BLOCK_BYTES: Final = 16
_MAC_BYTES: Final = {"sha1": 20, "sha256": 32, "sha384": 48}


_CIPHERS: Final[dict[str, Callable[[bytes], Any]]] = {
    "GCM": AESGCM,
    "CCM": AESCCM,
    "CCM_8": lambda key: AESCCM(key, tag_length=_SHORT_TAG_BYTES),
    "CHACHA20_POLY1305": ChaCha20Poly1305,
    "CBC": AES,
}


class Tls13Epochs(Iterator[Epoch]):
    """The epochs of one direction of TLS 1.3: the handshake's, then one per key update."""

    def __init__(
        self, suite: CipherSuite, handshake_secret: bytes | None, traffic_secret: bytes | None
    ) -> None:
        """Begin with the handshake.

        Args:
            suite: the cipher suite.
            handshake_secret: of the direction; None if it is not known.
            traffic_secret: that of its first key; None if it is not known.
        """
        self._suite = suite
        self._handshake_secret = handshake_secret
        self._traffic_secret = traffic_secret
        self._has_begun = False

    def __next__(self) -> Epoch:
        if not self._has_begun:
            self._has_begun = True
            secret = self._handshake_secret
            return Epoch(Tls13Cipher(self._suite, secret) if secret else None, is_application=False)
        secret = self._traffic_secret
        if not secret:
            raise StopIteration
        self._traffic_secret = _expand_label(self._suite, secret, "traffic upd", len(secret))
        return Epoch(Tls13Cipher(self._suite, secret), is_application=True)


def tls12_epochs(
    suite: CipherSuite, master_secret: bytes, randoms: bytes, *, macs_ciphertext: bool
) -> tuple[Epoch, Epoch]:
    """Return the one epoch of each direction of TLS 1.2, the server's first.

    Args:
        suite: the cipher suite.
        master_secret: of the connection.
        randoms: the client's random bytes and the server's.
        macs_ciphertext: whether encrypt-then-MAC was agreed on, which concerns CBC alone.
    """
    mac_bytes = _MAC_BYTES[suite.mac_name] if suite.mode == "CBC" else 0
    salt_bytes = {"CBC": 0, "CHACHA20_POLY1305": _NONCE_BYTES}.get(suite.mode, _SALT_BYTES)
    seed = b"key expansion" + randoms[32:] + randoms[:32]
    sizes = (mac_bytes, suite.key_bytes, salt_bytes)
    block = _expand_tls12(suite.hash_name, master_secret, seed, 2 * sum(sizes))
    halves: list[list[bytes]] = [[], []]
    for size in sizes:
        for half in halves:
            half.append(block[:size])
            block = block[size:]
    client, server = (
        CbcCipher(suite, mac_key, key, macs_ciphertext=macs_ciphertext)
        if suite.mode == "CBC"
        else Tls12Cipher(suite, key, salt)
        for mac_key, key, salt in halves
    )
    return Epoch(server, is_application=True), Epoch(client, is_application=True)


@lru_cache(maxsize=1024)
def _cipher(mode: str, key: bytes) -> Any:
    return _CIPHERS[mode](key)


class _Keyed:
    """A mode and a key: plain values, of which the cipher is made where it is used."""

    def __init__(self, mode: str, key: bytes) -> None:
        self._mode = mode
        self._key = key

    @property
    def _cipher(self) -> Any:
        return _cipher(self._mode, self._key)


class Tls13Cipher(_Keyed):
    """TLS 1.3: the content type is encrypted too, and zeros may follow it."""

    def __init__(self, suite: CipherSuite, secret: bytes) -> None:
        super().__init__(suite.mode, _expand_label(suite, secret, "key", suite.key_bytes))
        self.overhead_bytes = 1 + (_SHORT_TAG_BYTES if suite.mode == "CCM_8" else _TAG_BYTES)
        self._nonce = int.from_bytes(_expand_label(suite, secret, "iv", _NONCE_BYTES))

    def open(self, sequence: int, record: TlsRecord) -> tuple[int, bytes] | None:
        """See `RecordCipher`."""
        nonce = (self._nonce ^ sequence).to_bytes(_NONCE_BYTES)
        try:
            inner = self._cipher.decrypt(nonce, record.payload, record.header)
        except InvalidTag:
            return None
        content = inner.rstrip(b"\0")
        return (content[-1], content[:-1]) if content else None


class Tls12Cipher(_Keyed):
    """Authenticated encryption in TLS 1.2: with AES, each record brings a part of its nonce."""

    def __init__(self, suite: CipherSuite, key: bytes, salt: bytes) -> None:
        super().__init__(suite.mode, key)
        self._salt = salt
        self._explicit_bytes = _NONCE_BYTES - len(salt)
        self._tag_bytes = _SHORT_TAG_BYTES if suite.mode == "CCM_8" else _TAG_BYTES
        self.overhead_bytes = self._explicit_bytes + self._tag_bytes

    def open(self, sequence: int, record: TlsRecord) -> tuple[int, bytes] | None:
        """See `RecordCipher`."""
        size = len(record.payload) - self.overhead_bytes
        if size < 0:
            return None
        if self._explicit_bytes:
            nonce = self._salt + record.payload[: self._explicit_bytes]
        else:
            nonce = (int.from_bytes(self._salt) ^ sequence).to_bytes(_NONCE_BYTES)
        sealed = record.payload[self._explicit_bytes :]
        try:
            content = self._cipher.decrypt(nonce, sealed, _pseudo_header(sequence, record, size))
        except InvalidTag:
            return None
        return record.kind, content


class CbcCipher(_Keyed):
    """CBC in TLS 1.2: a MAC over the content, or over the ciphertext if so agreed."""

    overhead_bytes = None

    def __init__(
        self, suite: CipherSuite, mac_key: bytes, key: bytes, *, macs_ciphertext: bool
    ) -> None:
        super().__init__(suite.mode, key)
        self._mac_key = mac_key
        self._mac_name = suite.mac_name
        self._mac_bytes = _MAC_BYTES[suite.mac_name]
        self._macs_ciphertext = macs_ciphertext

    def open(self, sequence: int, record: TlsRecord) -> tuple[int, bytes] | None:
        """See `RecordCipher`."""
        sealed = record.payload
        if self._macs_ciphertext:
            sealed = self._checked(sequence, record, sealed)
        content = self._decrypted(sealed)
        if not self._macs_ciphertext:
            content = self._checked(sequence, record, content)
        return (record.kind, content) if content else None

    def _checked(self, sequence: int, record: TlsRecord, data: bytes) -> bytes:
        """Return the bytes before their MAC; none if it is wrong."""
        size = len(data) - self._mac_bytes
        if size <= 0:
            return b""
        content, mac = data[:size], data[size:]
        signed = _pseudo_header(sequence, record, size) + content
        right = hmac.digest(self._mac_key, signed, self._mac_name)
        return content if hmac.compare_digest(mac, right) else b""

    def _decrypted(self, sealed: bytes) -> bytes:
        """Return the bytes without their padding; none if that is impossible."""
        if len(sealed) < 2 * _BLOCK_BYTES or len(sealed) % _BLOCK_BYTES:
            return b""
        decryptor = Cipher(self._cipher, CBC(sealed[:_BLOCK_BYTES])).decryptor()
        padded = decryptor.update(sealed[_BLOCK_BYTES:]) + decryptor.finalize()
        padding = padded[-1] + 1
        if padded[-padding:] != bytes([padded[-1]]) * padding:
            return b""
        return padded[:-padding]


def _pseudo_header(sequence: int, record: TlsRecord, size: int) -> bytes:
    """Return the bytes that TLS 1.2 authenticates besides the content."""
    return sequence.to_bytes(8) + record.header[:3] + size.to_bytes(2)


def _expand_tls12(hash_name: str, secret: bytes, seed: bytes, size: int) -> bytes:
    """Return key bytes by the pseudorandom function of TLS 1.2."""
    expanded, link = b"", seed
    while len(expanded) < size:
        link = hmac.digest(secret, link, hash_name)
        expanded += hmac.digest(secret, link + seed, hash_name)
    return expanded[:size]


def _expand_label(suite: CipherSuite, secret: bytes, label: str, size: int) -> bytes:
    """Return key bytes by HKDF-Expand-Label of TLS 1.3, without a context."""
    name = b"tls13 " + label.encode()
    info = size.to_bytes(2) + bytes([len(name)]) + name + b"\0"
    expanded, link = b"", b""
    while len(expanded) < size:
        counter = len(expanded) // _MAC_BYTES[suite.hash_name] + 1
        link = hmac.digest(secret, link + info + bytes([counter]), suite.hash_name)
        expanded += link
    return expanded[:size]
