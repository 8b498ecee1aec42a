"""Key stores: trusted certificates and an identity, from PEM, PKCS #12 or JKS.

As in Java since version 9, a store that is called JKS may be PKCS #12 inside and the reverse: the
bytes decide.

Source: Kafka's `DefaultSslEngineFactory`; OpenJDK's `TrustStoreUtil` (which entries are trusted).
"""

from typing import Final, NamedTuple

from kdiag.net.tls.jks import MAGIC, read_jks, reveal
from kdiag.net.tls.pem import certificate_pem, key_pem, read_pem

PEM: Final = "PEM"
TYPES: Final = frozenset(("JKS", "PKCS12", PEM))
_JCEKS: Final = bytes.fromhex("cececece")
_DER_SEQUENCE: Final = b"\x30"


class Identity(NamedTuple):
    """A private key and its certificates.

    Attributes:
        pem: all of it.
        is_encrypted: whether the key needs a password.
    """

    pem: str
    is_encrypted: bool

    def __repr__(self) -> str:
        return f"<Identity, {'encrypted' if self.is_encrypted else 'in clear'}>"


def read_trusted(data: bytes, kind: str, password: str | None) -> list[bytes]:
    """Return the DER of the trusted certificates of a store.

    As in Java these are the trusted entries and the own certificate of each key. Of PKCS #12 all
    certificates count, though Java uses only those that `keytool` has marked as trusted.

    Args:
        data: the whole store.
        kind: `JKS`, `PKCS12` or `PEM`, as the user says; empty lets the bytes decide.
        password: of the store.

    Raises:
        DecodeError: if it breaks off.
        ValueError: if it is something else, the password is wrong, or nothing is in it.
    """
    found = detect(data, kind)
    if found == PEM:
        trusted = [block.der for block in read_pem(_text(data)) if block.is_certificate]
    elif found == "JKS":
        jks = read_jks(data, password)
        trusted = [*jks.trusted, *(key.chain[0] for key in jks.keys if key.chain)]
    else:
        from kdiag.net.tls.pkcs12 import read_pkcs12  # noqa: PLC0415 - 33 ms of cryptography, PKCS12 only

        pkcs12 = read_pkcs12(data, password)
        trusted = [*pkcs12.others, *pkcs12.chain[:1]]
    if not trusted:
        raise ValueError("no certificate is in it")
    return trusted


def read_identity(
    data: bytes, kind: str, password: str | None, key_password: str | None
) -> Identity:
    """Return the first private key of a store, and its certificates.

    Args:
        data: the whole store.
        kind: `JKS`, `PKCS12` or `PEM`, as the user says; empty lets the bytes decide.
        password: of the store.
        key_password: of the key, if not the same.

    Raises:
        DecodeError: if it breaks off.
        ValueError: if it is something else, a password is wrong, or no key is in it.
    """
    found = detect(data, kind)
    if found == PEM:
        return read_pem_identity(_text(data))
    if found == "JKS":
        key, chain = _jks_key(data, password, key_password)
    else:
        key, chain = _pkcs12_key(data, password)
    return Identity(key_pem(key) + "".join(map(certificate_pem, chain)), is_encrypted=False)


def read_pem_identity(text: str) -> Identity:
    """Return the first private key and all certificates in some PEM.

    Raises:
        ValueError: if either is missing.
    """
    blocks = list(read_pem(text))
    keys = [block for block in blocks if block.is_key]
    certificates = [block for block in blocks if block.is_certificate]
    if not keys:
        raise ValueError("no private key is in it")
    if not certificates:
        raise ValueError("no certificate is in it")
    return Identity("".join(map(str, [keys[0], *certificates])), keys[0].is_encrypted)


def detect(data: bytes, kind: str) -> str:
    """Return the kind of a store, checked against the kind that the user says.

    Raises:
        ValueError: if it is another kind, or cannot be read.
    """
    if data.startswith(_JCEKS):
        raise ValueError(
            "JCEKS cannot be read; convert it: keytool -importkeystore -srcstoretype JCEKS "
            "-srckeystore FILE -deststoretype PKCS12 -destkeystore FILE.p12"
        )
    if data.startswith(MAGIC):
        found = "JKS"
    elif b"-----BEGIN" in data:
        found = PEM
    elif data.startswith(_DER_SEQUENCE):
        found = "PKCS12"
    else:
        raise ValueError("it is neither PEM nor PKCS12 nor JKS")
    if kind and (kind == PEM) != (found == PEM):
        raise ValueError(f"it is {found}, not {kind}")
    return found


def _text(data: bytes) -> str:
    return data.decode("utf-8", "replace")


def _jks_key(
    data: bytes, password: str | None, key_password: str | None
) -> tuple[bytes, tuple[bytes, ...]]:
    keys = read_jks(data, password).keys
    if not keys:
        raise ValueError("no private key is in it")
    secret = password if key_password is None else key_password
    if secret is None:
        raise ValueError("a key in JKS cannot be read without a password")
    return reveal(keys[0].hidden, secret), keys[0].chain


def _pkcs12_key(data: bytes, password: str | None) -> tuple[bytes, tuple[bytes, ...]]:
    from kdiag.net.tls.pkcs12 import read_pkcs12  # noqa: PLC0415 - 33 ms of cryptography, PKCS12 only

    pkcs12 = read_pkcs12(data, password)
    if pkcs12.key is None:
        raise ValueError("no private key is in it")
    return pkcs12.key, pkcs12.chain
