"""PKCS #12: the key store of Java since version 9, and of everybody else.

Source: RFC 7292.
"""

from typing import NamedTuple

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.serialization import (
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

from kdiag.net.tls.jks import NOT_OPENED


class Pkcs12(NamedTuple):
    """What is in a store.

    Attributes:
        key: the private key, as PKCS #8 in DER; None when there is none.
        chain: the DER of its certificates, its own first; only with a key.
        others: the DER of all certificates that are not the key's own.
    """

    key: bytes | None
    chain: tuple[bytes, ...]
    others: tuple[bytes, ...]


def read_pkcs12(data: bytes, password: str | None) -> Pkcs12:
    """Return what is in a store.

    Args:
        data: the whole file.
        password: for the store and the key in it.

    Raises:
        ValueError: if the password is wrong or it is no PKCS #12 that can be read.
    """
    secret = None if password is None else password.encode()
    try:
        store = pkcs12.load_pkcs12(data, secret)
    except UnsupportedAlgorithm as error:
        raise ValueError(f"it uses what cryptography does not support: {error}") from error
    except ValueError as error:
        why = NOT_OPENED if "assword" in str(error) else f"it is no PKCS12: {error}"
        raise ValueError(why) from error
    others = tuple(one.certificate.public_bytes(Encoding.DER) for one in store.additional_certs)
    own = () if store.cert is None else (store.cert.certificate.public_bytes(Encoding.DER),)
    if store.key is None:
        return Pkcs12(None, (), own + others)
    key = store.key.private_bytes(Encoding.DER, PrivateFormat.PKCS8, NoEncryption())
    return Pkcs12(key, own + others, others)
