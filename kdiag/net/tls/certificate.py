"""Certificates: what a diagnosis wants to know of one, read by `cryptography.x509`.

Nothing is verified here; that is OpenSSL's. Names are written as Java writes them for principals
(RFC 2253), so that a subject can be compared with `super.users` and ACLs.
"""

import re
import warnings
from typing import Final, NamedTuple

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.x509.oid import NameOID, PublicKeyAlgorithmOID, SignatureAlgorithmOID

from kdiag.clock import NS_PER_S
from kdiag.errors import DecodeError
from kdiag.net.tls.der import read_der

_NS_PER_DAY: Final = 86_400 * NS_PER_S
_ATTRIBUTES: Final = {
    NameOID.COMMON_NAME: "CN",
    NameOID.COUNTRY_NAME: "C",
    NameOID.LOCALITY_NAME: "L",
    NameOID.STATE_OR_PROVINCE_NAME: "ST",
    NameOID.STREET_ADDRESS: "STREET",
    NameOID.ORGANIZATION_NAME: "O",
    NameOID.ORGANIZATIONAL_UNIT_NAME: "OU",
    NameOID.USER_ID: "UID",
    NameOID.DOMAIN_COMPONENT: "DC",
}
_KEYS: Final = {
    PublicKeyAlgorithmOID.RSAES_PKCS1_v1_5: "RSA",
    PublicKeyAlgorithmOID.RSASSA_PSS: "RSA-PSS",
    PublicKeyAlgorithmOID.DSA: "DSA",
    PublicKeyAlgorithmOID.EC_PUBLIC_KEY: "EC",
    PublicKeyAlgorithmOID.ED25519: "Ed25519",
    PublicKeyAlgorithmOID.ED448: "Ed448",
}
_FIXED_BITS: Final = {"Ed25519": 256, "Ed448": 456}
_CURVES: Final = {"secp256r1": "P-256", "secp384r1": "P-384", "secp521r1": "P-521"}
_SIGNATURES: Final = {
    SignatureAlgorithmOID.RSA_WITH_MD5: "MD5 with RSA",
    SignatureAlgorithmOID.RSA_WITH_SHA1: "SHA-1 with RSA",
    SignatureAlgorithmOID.RSASSA_PSS: "RSA-PSS",
    SignatureAlgorithmOID.RSA_WITH_SHA256: "SHA-256 with RSA",
    SignatureAlgorithmOID.RSA_WITH_SHA384: "SHA-384 with RSA",
    SignatureAlgorithmOID.RSA_WITH_SHA512: "SHA-512 with RSA",
    SignatureAlgorithmOID.ECDSA_WITH_SHA1: "SHA-1 with ECDSA",
    SignatureAlgorithmOID.ECDSA_WITH_SHA256: "SHA-256 with ECDSA",
    SignatureAlgorithmOID.ECDSA_WITH_SHA384: "SHA-384 with ECDSA",
    SignatureAlgorithmOID.ECDSA_WITH_SHA512: "SHA-512 with ECDSA",
    SignatureAlgorithmOID.ED25519: "Ed25519",
    SignatureAlgorithmOID.ED448: "Ed448",
}


class Key(NamedTuple):
    """A public key.

    Attributes:
        kind: `RSA`, `EC P-256`, `Ed25519`; the object identifier of what is not known here.
        bits: its size; 0 where it is not known.
    """

    kind: str
    bits: int


class Certificate(NamedTuple):
    """What one certificate states.

    Attributes:
        subject: whom it is for, as RFC 2253 writes names.
        issuer: who signed it.
        common_names: the CNs of the subject, which count where there are no `dns_names`.
        dns_names: the host names that it is for.
        ip_addresses: the addresses that it is for.
        not_before_ns: from when on it is valid, since 1970.
        not_after_ns: until when.
        key: the key of its owner.
        signature: how it is signed: `SHA-256 with RSA`.
        serial: its number, in hexadecimal.
        sha256: its fingerprint, in hexadecimal.
    """

    subject: str
    issuer: str
    common_names: tuple[str, ...]
    dns_names: tuple[str, ...]
    ip_addresses: tuple[str, ...]
    not_before_ns: int
    not_after_ns: int
    key: Key
    signature: str
    serial: str
    sha256: str

    @property
    def host_names(self) -> tuple[str, ...]:
        """Return the names and addresses that a client may connect to."""
        return (self.dns_names or self.common_names) + self.ip_addresses

    def days_left(self, now_ns: int) -> int:
        """Return how many whole days it stays valid; negative when it has expired."""
        return (self.not_after_ns - now_ns) // _NS_PER_DAY


def read_certificate(der: bytes) -> Certificate:
    """Return what a certificate states.

    Raises:
        DecodeError: if it is none that `cryptography` reads.
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # odd numbers and names are for OpenSSL to refuse
            return _facts(x509.load_der_x509_certificate(der))
    except _REFUSALS as error:
        raise DecodeError("certificate", 0, str(error)) from error


_REFUSALS: Final = (
    ValueError,
    TypeError,
    KeyError,  # a type of text that cryptography before 46 does not know
    x509.DuplicateExtension,
    x509.InvalidVersion,
    x509.UnsupportedGeneralNameType,
)


def _facts(certificate: x509.Certificate) -> Certificate:
    try:
        names = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName).value
    except x509.ExtensionNotFound:
        names = x509.SubjectAlternativeName([])
    return Certificate(
        subject=_name(certificate.subject),
        issuer=_name(certificate.issuer),
        common_names=tuple(
            _printable(str(attribute.value))
            for attribute in certificate.subject.get_attributes_for_oid(NameOID.COMMON_NAME)
        ),
        dns_names=tuple(map(_printable, names.get_values_for_type(x509.DNSName))),
        ip_addresses=tuple(map(str, names.get_values_for_type(x509.IPAddress))),
        not_before_ns=int(certificate.not_valid_before_utc.timestamp()) * NS_PER_S,
        not_after_ns=int(certificate.not_valid_after_utc.timestamp()) * NS_PER_S,
        key=_key(certificate),
        signature=_known(_SIGNATURES, certificate.signature_algorithm_oid),
        serial=f"{certificate.serial_number:x}",
        sha256=certificate.fingerprint(SHA256()).hex(),
    )


def _known(names: dict[x509.ObjectIdentifier, str], oid: x509.ObjectIdentifier) -> str:
    return names.get(oid, oid.dotted_string)


def _name(name: x509.Name) -> str:
    """Return a name as RFC 2253 writes it: the last part first."""
    return ",".join("+".join(map(_attribute, part)) for part in reversed(name.rdns))


def _attribute(attribute: "x509.NameAttribute[str | bytes]") -> str:
    """Return `CN=...`; attributes without a name of their own in hexadecimal, as Java does it."""
    name = _known(_ATTRIBUTES, attribute.oid)
    if attribute.oid not in _ATTRIBUTES:
        return f"{name}=#{_value_der(attribute).hex()}"
    text = re.sub(r'([,+"\\<>;])', r"\\\1", _printable(str(attribute.value)))
    text = re.sub(r"^(?=[# ])", r"\\", text)
    return f"{name}=" + re.sub(r" $", r"\\ ", text)


def _value_der(attribute: "x509.NameAttribute[str | bytes]") -> bytes:
    """Return the value as it is encoded: a name holds sets of sequences of an OID and a value."""
    (relative,) = read_der(x509.Name([attribute]).public_bytes()).children()
    ((_, value),) = (pair.children() for pair in relative.children())
    return value.raw


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)


def _key(certificate: x509.Certificate) -> Key:
    kind = _known(_KEYS, certificate.public_key_algorithm_oid)
    try:
        key = certificate.public_key()
    except (UnsupportedAlgorithm, ValueError):
        return Key(kind, 0)
    if isinstance(key, ec.EllipticCurvePublicKey):
        kind = f"EC {_CURVES.get(key.curve.name, key.curve.name)}"
    return Key(kind, _FIXED_BITS.get(kind) or int(getattr(key, "key_size", 0)))
