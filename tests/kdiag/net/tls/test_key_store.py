import subprocess
import sys

import pytest

from folders import KEY_STORES
from kdiag.net.tls.certificate import read_certificate
from kdiag.net.tls.key_store import detect, read_identity, read_pem_identity, read_trusted
from secure_ends.certificates import make_authority
from tiers.cases import for_each

STORES = KEY_STORES
PASSWORD = "store-secret"
ROOT = make_authority("Root")
BROKER = ROOT.issue("broker")


@for_each("kind", ["", "JKS", "PKCS12"])
@for_each("name", ["truststore.jks", "truststore.p12"])
def test_javas_trust_stores_are_read_whatever_they_are_called(name: str, kind: str) -> None:
    """JKS and PKCS12 may stand for each other, as in Java."""
    (der,) = read_trusted((STORES / name).read_bytes(), kind, PASSWORD)

    assert read_certificate(der).subject == "CN=Store Authority"


@pytest.mark.parametrize("name", ["keystore.jks", "keystore.p12"])
def test_the_own_certificate_of_a_key_is_trusted(name: str) -> None:
    """As in Java, a key store can serve as trust store."""
    trusted = read_trusted((STORES / name).read_bytes(), "", PASSWORD)

    assert "CN=broker.example.test" in {read_certificate(der).subject for der in trusted}


def test_all_certificates_of_a_pem_file_are_trusted() -> None:
    """The key among them does no harm."""
    data = (ROOT.pem + BROKER.key_pem + BROKER.pem).encode()

    assert read_trusted(data, "PEM", None) == [ROOT.der, BROKER.der]


@pytest.mark.parametrize(
    ("name", "key_password"), [("keystore.jks", "key-secret"), ("keystore.p12", None)]
)
def test_javas_key_stores_say_who_one_is(name: str, key_password: str | None) -> None:
    """Key and chain come out as PEM, the key in clear and out of sight."""
    data = (STORES / name).read_bytes()

    identity = read_identity(data, "", PASSWORD, key_password)

    assert identity.pem.count("BEGIN CERTIFICATE") == 2
    assert identity.pem.startswith("-----BEGIN PRIVATE KEY-----")
    assert repr(identity) == "<Identity, in clear>"


def test_a_pem_file_says_who_one_is() -> None:
    """The key may stand before or behind the certificate."""
    text = BROKER.pem + BROKER.encrypted_key_pem("secret")

    identity = read_identity(text.encode(), "", None, None)

    assert identity.is_encrypted
    assert identity == read_pem_identity(text)


@pytest.mark.thorough
@for_each(
    ("data", "kind", "why"),
    [
        (bytes.fromhex("cececece00000002"), "", "JCEKS cannot be read; convert it: keytool"),
        (b"hello", "", "it is neither PEM nor PKCS12 nor JKS"),
        (b"", "", "it is neither PEM nor PKCS12 nor JKS"),
        (ROOT.pem.encode(), "JKS", "it is PEM, not JKS"),
        (bytes.fromhex("feedfeed"), "PEM", "it is JKS, not PEM"),
    ],
)
def test_what_cannot_be_read_is_told(data: bytes, kind: str, why: str) -> None:
    """The bytes tell what a store is."""
    with pytest.raises(ValueError, match=why):
        detect(data, kind)


def test_a_store_that_lacks_what_is_looked_for_is_told() -> None:
    """A trust store needs a certificate, a key store also a key."""
    with pytest.raises(ValueError, match="no certificate is in it"):
        read_trusted(BROKER.key_pem.encode(), "", None)
    with pytest.raises(ValueError, match="no certificate is in it"):
        read_pem_identity(BROKER.key_pem)
    with pytest.raises(ValueError, match="no private key is in it"):
        read_pem_identity(BROKER.pem)
    for name in ("truststore.jks", "truststore.p12"):
        with pytest.raises(ValueError, match="no private key is in it"):
            read_identity((STORES / name).read_bytes(), "", PASSWORD, None)


def test_a_key_in_jks_needs_a_password() -> None:
    """Without the check the store can be read, but not the key."""
    with pytest.raises(ValueError, match="cannot be read without a password"):
        read_identity((STORES / "keystore.jks").read_bytes(), "", None, None)


@pytest.mark.thorough
def test_pem_and_jks_are_read_without_loading_cryptography() -> None:
    """Loading it takes as long as a third of all else that a TLS connection loads."""
    program = (
        "import sys\n"
        "from pathlib import Path\n"
        "from kdiag.net.tls.key_store import read_trusted\n"
        f"stores = Path({str(STORES)!r})\n"
        "from kdiag.net.tls.pem import certificate_pem\n"
        f"jks = read_trusted((stores / 'truststore.jks').read_bytes(), '', {PASSWORD!r})\n"
        "assert read_trusted(certificate_pem(jks[0]).encode(), '', None) == jks[:1]\n"
        "print('cryptography' in sys.modules)\n"
    )

    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )

    assert done.stdout == "False\n"
