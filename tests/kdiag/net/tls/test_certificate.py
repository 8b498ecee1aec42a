import datetime as dt
import random

import pytest
from cryptography import x509
from cryptography.hazmat.primitives.asymmetric import ec, ed448, ed25519, rsa
from cryptography.hazmat.primitives.hashes import SHA256, SHA384
from cryptography.hazmat.primitives.serialization import Encoding
from cryptography.x509.oid import NameOID

from kdiag.errors import DecodeError
from kdiag.net.tls.certificate import Certificate, Key, read_certificate
from secure_ends.certificates import NOW, Life, ec_key, make_authority, rsa_key
from tiers.cases import for_each

AUTHORITY = make_authority("Root")
_NS_PER_S = 1_000_000_000


def test_everything_agrees_with_what_was_put_in() -> None:
    """Names, addresses, times, key, signature, number and fingerprint are those of the issuer."""
    issued = AUTHORITY.issue("broker", names=["a.test", "*.b.test"], ips=["10.0.0.1", "fd00::1"])

    certificate = read_certificate(issued.der)

    other = issued.certificate
    assert certificate._asdict() == {
        "subject": "CN=broker",
        "issuer": "CN=Root",
        "common_names": ("broker",),
        "dns_names": ("a.test", "*.b.test"),
        "ip_addresses": ("10.0.0.1", "fd00::1"),
        "not_before_ns": int(other.not_valid_before_utc.timestamp()) * _NS_PER_S,
        "not_after_ns": int(other.not_valid_after_utc.timestamp()) * _NS_PER_S,
        "key": Key("EC P-256", 256),
        "signature": "SHA-256 with ECDSA",
        "serial": f"{other.serial_number:x}",
        "sha256": other.fingerprint(SHA256()).hex(),
    }


def test_the_common_name_counts_where_no_dns_name_is() -> None:
    """A client looks at the CN only in a certificate without DNS names, and at addresses always."""
    old = read_certificate(AUTHORITY.issue("old.test", ips=["10.0.0.1"]).der)
    new = read_certificate(AUTHORITY.issue("old.test", names=["new.test"]).der)

    assert old.host_names == ("old.test", "10.0.0.1")
    assert new.host_names == ("new.test",)


def test_days_left_are_whole_and_negative_afterwards() -> None:
    """A certificate with 36 hours to go has one day left, and yesterday's has lost one."""
    end = NOW + dt.timedelta(hours=36)
    certificate = read_certificate(AUTHORITY.issue("broker", life=Life(end=end)).der)
    now_ns = int(NOW.timestamp()) * _NS_PER_S

    assert certificate.days_left(now_ns) == 1
    assert certificate.days_left(certificate.not_after_ns + 1) == -1


@for_each(
    ("key", "expected"),
    [
        (rsa_key(2048), Key("RSA", 2048)),
        (ec.generate_private_key(ec.SECP384R1()), Key("EC P-384", 384)),
        (ec.generate_private_key(ec.SECP521R1()), Key("EC P-521", 521)),
        (ec.generate_private_key(ec.BrainpoolP256R1()), Key("EC brainpoolP256r1", 256)),
        (ed25519.Ed25519PrivateKey.generate(), Key("Ed25519", 256)),
    ],
)
def test_the_key_is_told_by_kind_and_size(
    key: rsa.RSAPrivateKey | ec.EllipticCurvePrivateKey | ed25519.Ed25519PrivateKey, expected: Key
) -> None:
    """A curve that NIST has not named is told by the name that others give it."""
    assert read_certificate(AUTHORITY.issue("broker", key=key).der).key == expected


@pytest.mark.parametrize(
    "end",
    [dt.datetime(2049, 12, 31, tzinfo=dt.UTC), dt.datetime(2150, 1, 2, 3, 4, 5, tzinfo=dt.UTC)],
)
def test_times_before_and_after_2050_are_read(end: dt.datetime) -> None:
    """Years from 2050 on are written with four digits."""
    certificate = read_certificate(AUTHORITY.issue("broker", life=Life(end=end)).der)

    assert certificate.not_after_ns == int(end.timestamp()) * _NS_PER_S


def test_names_are_written_as_java_writes_principals() -> None:
    """The last part comes first, what has a meaning is escaped, rare attributes are in hex."""
    name = x509.Name(
        [
            x509.NameAttribute(NameOID.COUNTRY_NAME, "DE"),
            x509.NameAttribute(NameOID.ORGANIZATION_NAME, 'A, "B" + C'),
            x509.NameAttribute(NameOID.EMAIL_ADDRESS, "a@b"),
            x509.NameAttribute(NameOID.COMMON_NAME, "#x "),
        ]
    )

    subject = _read(name).subject

    assert subject == 'CN=\\#x\\ ,1.2.840.113549.1.9.1=#1603614062,O=A\\, \\"B\\" \\+ C,C=DE'


def test_a_name_cannot_hold_what_a_terminal_obeys() -> None:
    """Control characters come out escaped."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "a\x1b[2Jb")])

    assert _read(name).subject == "CN=a\\\\u001b[2Jb"


@pytest.mark.thorough
def test_any_cut_and_any_changed_byte_is_refused_or_read() -> None:
    """Nothing but a DecodeError can come of a broken certificate."""
    der = AUTHORITY.issue("broker", names=["a.test"], ips=["10.0.0.1"]).der
    chance = random.Random(0)
    for size in range(len(der)):
        with pytest.raises(DecodeError):
            read_certificate(der[:size])
    for _ in range(2000):
        broken = bytearray(der)
        broken[chance.randrange(len(der))] = chance.randrange(256)
        try:
            read_certificate(bytes(broken))
        except DecodeError:
            continue


def test_odd_certificates_are_read_without_a_warning() -> None:
    """A country of eight letters and a number below zero are for OpenSSL to refuse."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Atlantis")])
    der = _signed(name)
    odd = der.replace(b"\x55\x04\x03\x0c", b"\x55\x04\x06\x0c").replace(
        b"\x02\x01\x01", b"\x02\x01\xff", 1
    )

    assert read_certificate(odd).subject == "C=Atlantis"


def test_a_name_that_is_not_what_it_claims_is_refused() -> None:
    """UTF-8 that is none makes the certificate unreadable, which callers are told."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "Munchen")])

    with pytest.raises(DecodeError, match="certificate at byte 0"):
        read_certificate(_signed(name).replace(b"Munchen", b"M\xfcnchen"))


def test_signatures_are_told() -> None:
    """Each algorithm in use has its name."""
    key = ed448.Ed448PrivateKey.generate()

    assert _read(AUTHORITY.certificate.subject, key).signature == "Ed448"


def _read(name: x509.Name, key: ed448.Ed448PrivateKey | None = None) -> Certificate:
    """Return a certificate for a name, read back."""
    return read_certificate(_signed(name, key))


def _signed(name: x509.Name, key: ed448.Ed448PrivateKey | None = None) -> bytes:
    """Return the DER of a certificate for a name."""
    signer = key or ec_key("names")
    builder = (
        x509.CertificateBuilder()
        .subject_name(name)
        .issuer_name(name)
        .public_key(signer.public_key())
        .serial_number(1)
        .not_valid_before(NOW)
        .not_valid_after(NOW + dt.timedelta(days=1))
    )
    signed = builder.sign(signer, None if key else SHA384())
    return signed.public_bytes(Encoding.DER)
