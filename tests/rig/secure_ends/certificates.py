"""Certificates for tests: authorities, and what they issue.

authority = make_authority("root")
broker = authority.issue("broker", names=["localhost"], ips=["127.0.0.1"])
broker.pem, broker.key_pem, broker.save(folder)
"""

import datetime as dt
import functools
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple, TypeAlias

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import (
    BestAvailableEncryption,
    Encoding,
    KeySerializationEncryption,
    NoEncryption,
    PrivateFormat,
)

PrivateKey: TypeAlias = rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey

NOW: Final = dt.datetime.now(dt.UTC).replace(microsecond=0)
DAY: Final = dt.timedelta(days=1)


class Life(NamedTuple):
    """From when to when a certificate is valid."""

    begin: dt.datetime = NOW - DAY
    end: dt.datetime = NOW + DAY


VALID: Final = Life()
EXPIRED: Final = Life(NOW - 2 * DAY, NOW - DAY)
FUTURE: Final = Life(NOW + DAY, NOW + 2 * DAY)


class Issued(NamedTuple):
    """A certificate, its private key, and the certificates up to the root without the root's."""

    certificate: x509.Certificate
    key: PrivateKey
    chain: tuple[x509.Certificate, ...] = ()

    @property
    def der(self) -> bytes:
        """Return the certificate as DER."""
        return self.certificate.public_bytes(Encoding.DER)

    @property
    def pem(self) -> str:
        """Return the certificate and its chain as PEM."""
        every = (self.certificate, *self.chain)
        return "".join(one.public_bytes(Encoding.PEM).decode() for one in every)

    @property
    def key_pem(self) -> str:
        """Return the key as PEM."""
        return self.encrypted_key_pem(None)

    def encrypted_key_pem(self, password: str | None) -> str:
        """Return the key as PEM, encrypted with a password."""
        encryption: KeySerializationEncryption = NoEncryption()
        if password is not None:
            encryption = BestAvailableEncryption(password.encode())
        return self.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, encryption).decode()

    def save(self, folder: Path) -> Path:
        """Return a file with key, certificate and chain."""
        file = folder / f"{self.certificate.serial_number}.pem"
        file.write_text(self.key_pem + self.pem)
        return file

    def issue(  # noqa: PLR0913 - a certificate has that many fields
        self,
        common_name: str,
        *,
        names: Sequence[str] = (),
        ips: Sequence[str] = (),
        life: Life = VALID,
        key: PrivateKey | None = None,
        is_authority: bool = False,
        purpose: x509.ObjectIdentifier | None = None,
    ) -> "Issued":
        """Return a certificate signed with this one's key."""
        key = key or ec_key(common_name)
        is_root = self.certificate.issuer == self.certificate.subject
        builder = _builder(common_name, self.certificate.subject, key, life)
        builder = builder.add_extension(x509.BasicConstraints(is_authority, None), critical=True)
        alternatives: list[x509.GeneralName] = [x509.DNSName(name) for name in names]
        alternatives += [x509.IPAddress(ipaddress.ip_address(ip)) for ip in ips]
        if alternatives:
            alternative = x509.SubjectAlternativeName(alternatives)
            builder = builder.add_extension(alternative, critical=False)
        if purpose is not None:
            builder = builder.add_extension(x509.ExtendedKeyUsage([purpose]), critical=False)
        signed = builder.sign(self.key, SHA256())
        return Issued(signed, key, () if is_root else (self.certificate, *self.chain))


def make_authority(name: str) -> Issued:
    """Return an authority that has signed itself."""
    key = ec_key(name)
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    builder = _builder(name, subject, key, VALID)
    builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
    return Issued(builder.sign(key, SHA256()), key)


@functools.cache
def ec_key(owner: str) -> ec.EllipticCurvePrivateKey:
    """Return the key of an owner, the same one for all tests of a run."""
    assert owner
    return ec.generate_private_key(ec.SECP256R1())


@functools.cache
def rsa_key(bits: int) -> rsa.RSAPrivateKey:
    """Return an RSA key of a size, the same one for all tests of a run."""
    return rsa.generate_private_key(65537, bits)


def _builder(
    common_name: str, issuer: x509.Name, key: PrivateKey, life: Life
) -> x509.CertificateBuilder:
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, common_name)])
    return (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(life.begin)
        .not_valid_after(life.end)
    )
