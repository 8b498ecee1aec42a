"""Certificate files for brokers and clients: an authority, brokers right and wrong, and a client.

Every file stands in one folder, in PEM (kdiag, OpenSSL) and PKCS12 (Java). `PASSWORD` opens all
PKCS12 files and the encrypted key.

    certificates = make_certificates(folder)
    certificates.authority   # ca.pem: whom to trust
    certificates.client      # client.pem: certificate and key of CN=client
"""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    NoEncryption,
    PrivateFormat,
    pkcs12,
)

PASSWORD: Final = "opens-the-store"
OTHER_HOST: Final = "elsewhere.example.test"
"""The only name in the certificate of the broker that is somebody else."""

_DAY: Final = dt.timedelta(days=1)
_LOOPBACK: Final = (
    x509.DNSName("localhost"),
    x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    x509.IPAddress(ipaddress.ip_address("::1")),
)
_MAY_SIGN: Final = x509.KeyUsage(
    key_cert_sign=True,
    crl_sign=True,
    digital_signature=False,
    content_commitment=False,
    key_encipherment=False,
    data_encipherment=False,
    key_agreement=False,
    encipher_only=False,
    decipher_only=False,
)


class Certificates(NamedTuple):
    """The files that `make_certificates` made.

    Attributes:
        authority: the authority's certificate as PEM.
        truststore: the same as PKCS12, with the mark by which Java trusts it.
        client: certificate and key of `CN=client` as PEM.
        client_encrypted: the same with an encrypted key.
        client_store: the same as PKCS12.
        broker: certificate and key for localhost, 127.0.0.1 and ::1 as PEM; likewise
            `broker_store`.
        expired_store: as `broker_store`, but expired yesterday.
        other_host_store: as `broker_store`, but for `OTHER_HOST`.
    """

    authority: Path
    truststore: Path
    client: Path
    client_encrypted: Path
    client_store: Path
    broker: Path
    broker_store: Path
    expired_store: Path
    other_host_store: Path


class _Entry(NamedTuple):
    """A private key and its certificate."""

    key: ec.EllipticCurvePrivateKey
    certificate: x509.Certificate


def make_certificates(folder: Path) -> Certificates:
    """Make all of them, each signed by the same authority, in an existing folder."""
    authority = _issue("kdiag test authority", None)
    client = _issue("client", authority)
    broker = _issue("broker", authority, _LOOPBACK)
    expired = _issue("broker", authority, _LOOPBACK, ends_in=-_DAY)
    other_host = _issue("broker", authority, [x509.DNSName(OTHER_HOST)])
    trusted = pkcs12.PKCS12Certificate(authority.certificate, b"authority")
    return Certificates(
        authority=_write(folder / "ca.pem", _certificate_pem(authority)),
        truststore=_write(
            folder / "truststore.p12",
            pkcs12.serialize_java_truststore([trusted], BestAvailableEncryption(PASSWORD.encode())),
        ),
        client=_write(folder / "client.pem", _pem(client)),
        client_encrypted=_write(folder / "client_encrypted.pem", _pem(client, PASSWORD)),
        client_store=_write(folder / "client.p12", _store(client, authority)),
        broker=_write(folder / "broker.pem", _pem(broker)),
        broker_store=_write(folder / "broker.p12", _store(broker, authority)),
        expired_store=_write(folder / "expired.p12", _store(expired, authority)),
        other_host_store=_write(folder / "other_host.p12", _store(other_host, authority)),
    )


def _issue(
    name: str,
    authority: _Entry | None,
    alternatives: Sequence[x509.GeneralName] = (),
    *,
    ends_in: dt.timedelta = 30 * _DAY,
) -> _Entry:
    """Return a new key and its certificate; without an authority, the authority itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.now(dt.UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(authority.certificate.subject if authority else subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - 30 * _DAY)
        .not_valid_after(now + ends_in)
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
        .add_extension(x509.SubjectKeyIdentifier.from_public_key(key.public_key()), critical=False)
        .add_extension(_signer(authority.key if authority else key), critical=False)
    )
    if authority is None:
        builder = builder.add_extension(_MAY_SIGN, critical=True)
    if alternatives:
        builder = builder.add_extension(x509.SubjectAlternativeName(alternatives), critical=False)
    return _Entry(key, builder.sign(authority.key if authority else key, SHA256()))


def _signer(key: ec.EllipticCurvePrivateKey) -> x509.AuthorityKeyIdentifier:
    return x509.AuthorityKeyIdentifier.from_issuer_public_key(key.public_key())


def _write(file: Path, data: bytes) -> Path:
    file.write_bytes(data)
    return file


def _certificate_pem(entry: _Entry) -> bytes:
    return entry.certificate.public_bytes(Encoding.PEM)


def _pem(entry: _Entry, password: str = "") -> bytes:
    """Return key and certificate; the key is encrypted if there is a password."""
    encryption = BestAvailableEncryption(password.encode()) if password else NoEncryption()
    key = entry.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption)
    return key + _certificate_pem(entry)


def _store(entry: _Entry, authority: _Entry) -> bytes:
    return pkcs12.serialize_key_and_certificates(
        b"entry",
        entry.key,
        entry.certificate,
        [authority.certificate],
        BestAvailableEncryption(PASSWORD.encode()),
    )
