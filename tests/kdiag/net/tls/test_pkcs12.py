import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_der_private_key

from folders import KEY_STORES
from kdiag.net.tls.certificate import read_certificate
from kdiag.net.tls.pkcs12 import read_pkcs12

STORES = KEY_STORES
TRUSTSTORE = (STORES / "truststore.p12").read_bytes()
KEYSTORE = (STORES / "keystore.p12").read_bytes()
PASSWORD = "store-secret"


def test_certificates_of_javas_own_store_are_read() -> None:
    """A store without a key has only certificates of others."""
    store = read_pkcs12(TRUSTSTORE, PASSWORD)

    assert (store.key, store.chain) == (None, ())
    assert [read_certificate(der).subject for der in store.others] == ["CN=Store Authority"]


def test_a_private_key_of_javas_own_store_is_read() -> None:
    """It comes with its certificates, its own first."""
    store = read_pkcs12(KEYSTORE, PASSWORD)

    assert store.key is not None
    key = load_der_private_key(store.key, None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    subjects = [read_certificate(der).subject for der in store.chain]
    assert subjects == ["CN=broker.example.test", "CN=Store Authority"]
    assert store.others == store.chain[1:]


@pytest.mark.parametrize("password", ["wrong", None])
def test_a_wrong_password_is_told(password: str | None) -> None:
    """A missing one is a wrong one."""
    with pytest.raises(ValueError, match="the password is wrong, or the file is damaged"):
        read_pkcs12(KEYSTORE, password)


def test_what_is_no_pkcs12_is_told() -> None:
    """DER alone does not make a store."""
    with pytest.raises(ValueError, match="it is no PKCS12"):
        read_pkcs12(bytes.fromhex("3003020100"), PASSWORD)
