"""Certificates made on the fly: an authority for one lab, and what it issues.

    files = make_certificates(folder, ["localhost", "127.0.0.1"])
    files.authority        ca.pem: whom clients trust
    files.broker           broker.pem: the listeners' key and certificate
    files.client           client.pem: a client's, CN=client, for mutual TLS

The authority's own key is kept nowhere: nothing else can be issued, and who trusts it trusts one
lab for a month. Keys are EC (P-256): a few milliseconds. All files are PEM, which Kafka's
Java clients read since 2.7 (KIP-651), and can be read by their owner alone.

Source: RFC 5280.
"""

import datetime as dt
import ipaddress
from collections.abc import Sequence
from pathlib import Path
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

from kdiag.clock import NS_PER_S, Clock
from kdiag.lab.security.private_file import write_private

CLIENT_NAME: Final = "client"

_LIFE: Final = dt.timedelta(days=90)  # longer than the 30 days before which kdiag warns
_SINCE: Final = dt.timedelta(days=1)
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


class CertificateFiles(NamedTuple):
    """The files that `make_certificates` wrote.

    Attributes:
        authority: whom clients, and listeners that want certificates, trust.
        broker: the listeners' key and certificate.
        client: a client's.
    """

    authority: Path
    broker: Path
    client: Path


class _Issued(NamedTuple):
    """A certificate and its key."""

    certificate: x509.Certificate
    key: ec.EllipticCurvePrivateKey


def make_certificates(folder: Path, hosts: Sequence[str], clock: Clock) -> CertificateFiles:
    """Make an authority, a certificate for brokers and one for a client, and write them.

    Args:
        folder: that is there.
        hosts: names and addresses that clients connect to.
        clock: from when on they are valid.

    Raises:
        ConfigError: if they cannot be written.
    """
    authority = _issue("kdiag lab authority", None, (), clock)
    broker = _issue("kdiag lab broker", authority, tuple(map(_name_of, hosts)), clock)
    client = _issue(CLIENT_NAME, authority, (), clock)
    files = CertificateFiles(folder / "ca.pem", folder / "broker.pem", folder / "client.pem")
    write_private(files.authority, authority.certificate.public_bytes(Encoding.PEM))
    write_private(files.broker, _pem(broker))
    write_private(files.client, _pem(client))
    return files


def _issue(
    name: str, authority: _Issued | None, names: Sequence[x509.GeneralName], clock: Clock
) -> _Issued:
    """Return a new key and its certificate; without an authority, the authority itself."""
    key = ec.generate_private_key(ec.SECP256R1())
    signer = key if authority is None else authority.key
    subject = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, name)])
    now = dt.datetime.fromtimestamp(clock.epoch_ns() // NS_PER_S, dt.UTC)
    own_id = x509.SubjectKeyIdentifier.from_public_key(key.public_key())
    signer_id = x509.AuthorityKeyIdentifier.from_issuer_public_key(signer.public_key())
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(subject if authority is None else authority.certificate.subject)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _SINCE)
        .not_valid_after(now + _LIFE)
        .add_extension(x509.BasicConstraints(ca=authority is None, path_length=None), critical=True)
        .add_extension(own_id, critical=False)
        .add_extension(signer_id, critical=False)
    )
    if authority is None:
        builder = builder.add_extension(_MAY_SIGN, critical=True)
    if names:
        builder = builder.add_extension(x509.SubjectAlternativeName(names), critical=False)
    return _Issued(builder.sign(signer, SHA256()), key)


def _name_of(host: str) -> x509.GeneralName:
    try:
        return x509.IPAddress(ipaddress.ip_address(host))
    except ValueError:
        return x509.DNSName(host)


def _pem(issued: _Issued) -> bytes:
    """Return key and certificate."""
    key = issued.key.private_bytes(Encoding.PEM, PrivateFormat.PKCS8, NoEncryption())
    return key + issued.certificate.public_bytes(Encoding.PEM)
