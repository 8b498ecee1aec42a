import pytest
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import load_der_private_key
from hypothesis import given
from hypothesis import strategies as st

from folders import KEY_STORES
from kdiag.errors import DecodeError
from kdiag.net.tls.certificate import read_certificate
from kdiag.net.tls.jks import MAGIC, read_jks, reveal
from tiers.cases import for_each

STORES = KEY_STORES
TRUSTSTORE = (STORES / "truststore.jks").read_bytes()
KEYSTORE = (STORES / "keystore.jks").read_bytes()
PASSWORD = "store-secret"


def test_trusted_certificates_of_javas_own_store_are_read() -> None:
    """What keytool imported as trusted comes out."""
    store = read_jks(TRUSTSTORE, PASSWORD)

    assert [read_certificate(der).subject for der in store.trusted] == ["CN=Store Authority"]
    assert store.keys == ()


def test_a_private_key_of_javas_own_store_is_read() -> None:
    """It belongs to the first certificate of its chain."""
    (hidden,) = read_jks(KEYSTORE, PASSWORD).keys

    key = load_der_private_key(reveal(hidden.hidden, "key-secret"), None)

    subjects = [read_certificate(der).subject for der in hidden.chain]
    assert subjects == ["CN=broker.example.test", "CN=Store Authority"]
    assert isinstance(key, ec.EllipticCurvePrivateKey)


def test_a_wrong_password_is_told() -> None:
    """The check sum over the store, and the one over the key, need their passwords."""
    with pytest.raises(ValueError, match="the password is wrong, or the file is damaged"):
        read_jks(TRUSTSTORE, "wrong")
    (hidden,) = read_jks(KEYSTORE, PASSWORD).keys
    with pytest.raises(ValueError, match="the password of the key is wrong"):
        reveal(hidden.hidden, "wrong")


def test_without_a_password_a_store_is_read_unchecked() -> None:
    """Java does that, too: certificates are no secret."""
    assert read_jks(TRUSTSTORE, None) == read_jks(TRUSTSTORE, PASSWORD)


@for_each(
    ("data", "why"),
    [
        (b"", "more than 0 bytes"),
        (b"\0" * 40, "this is not a JKS"),
        (MAGIC + b"\0\0\0\x07" + bytes(32), "version 7 is not known"),
        (MAGIC + b"\0\0\0\2\0\0\0\1\0\0\0\x09\0\0" + bytes(28), "an entry with tag 9"),
        (MAGIC + b"\0\0\0\2\xff\xff\xff\xff" + bytes(20), "4 bytes are stated, 0 are left"),
    ],
)
def test_what_is_no_jks_is_refused(data: bytes, why: str) -> None:
    """The error names the place and what is wrong there."""
    with pytest.raises(DecodeError, match=why):
        read_jks(data, None)


def test_a_key_hidden_in_another_way_is_refused() -> None:
    """The name of the way is told."""
    other = bytes.fromhex("300b 3007 0603550403 0500 0400")

    with pytest.raises(DecodeError, match=r"keys protected with 2\.5\.4\.3 cannot be read"):
        reveal(other, PASSWORD)


@given(st.integers(0, len(KEYSTORE)), st.binary(max_size=40))
def test_any_cut_with_anything_behind_it_is_read_or_refused(size: int, tail: bytes) -> None:
    """Nothing but a DecodeError can come of a broken store."""
    try:
        for key in read_jks(KEYSTORE[:size] + tail, None).keys:
            reveal(key.hidden, "key-secret")
    except (DecodeError, ValueError):
        return
