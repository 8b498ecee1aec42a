"""Certificates: what a diagnosis wants to know of one, read from its DER.

Nothing is verified here; that is OpenSSL's. Names are written as Java writes them for principals
(RFC 2253), so that a subject can be compared with `super.users` and ACLs.

Source: RFC 5280 (certificates), RFC 3279, 5480, 8410 (keys), RFC 2253 (names).
"""

import datetime as dt
import socket
from collections.abc import Iterator
from hashlib import sha256
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.errors import DecodeError
from kdiag.net.tls.der import (
    BIT_STRING,
    INTEGER,
    OCTET_STRING,
    OID,
    SEQUENCE,
    Element,
    oid_text,
    read_der,
)

_NS_PER_DAY: Final = 86_400 * NS_PER_S
_VERSION: Final = 0xA0
_EXTENSIONS: Final = 0xA3
_UTC_TIME: Final = 0x17
_DNS_NAME: Final = 0x82
_IP_ADDRESS: Final = 0x87
_FAMILIES: Final = {4: socket.AF_INET, 16: socket.AF_INET6}
_SUBJECT_ALT_NAME: Final = "2.5.29.17"
_COMMON_NAME: Final = "2.5.4.3"
_ATTRIBUTES: Final = {
    _COMMON_NAME: "CN",
    "2.5.4.6": "C",
    "2.5.4.7": "L",
    "2.5.4.8": "ST",
    "2.5.4.9": "STREET",
    "2.5.4.10": "O",
    "2.5.4.11": "OU",
    "0.9.2342.19200300.100.1.1": "UID",
    "0.9.2342.19200300.100.1.25": "DC",
}
_ENCODINGS: Final = {
    0x0C: "utf-8",
    0x13: "ascii",
    0x14: "latin-1",
    0x16: "ascii",
    0x1C: "utf-32-be",
    0x1E: "utf-16-be",
}
_RSA: Final = "1.2.840.113549.1.1.1"
_RSA_PSS: Final = "1.2.840.113549.1.1.10"
_EC: Final = "1.2.840.10045.2.1"
_CURVES: Final = {
    "1.2.840.10045.3.1.7": ("P-256", 256),
    "1.3.132.0.10": ("secp256k1", 256),
    "1.3.132.0.34": ("P-384", 384),
    "1.3.132.0.35": ("P-521", 521),
}
_OTHER_KEYS: Final = {
    "1.2.840.10040.4.1": ("DSA", 0),
    "1.3.101.112": ("Ed25519", 256),
    "1.3.101.113": ("Ed448", 456),
}
_SIGNATURES: Final = {
    "1.2.840.113549.1.1.4": "MD5 with RSA",
    "1.2.840.113549.1.1.5": "SHA-1 with RSA",
    _RSA_PSS: "RSA-PSS",
    "1.2.840.113549.1.1.11": "SHA-256 with RSA",
    "1.2.840.113549.1.1.12": "SHA-384 with RSA",
    "1.2.840.113549.1.1.13": "SHA-512 with RSA",
    "1.2.840.10045.4.1": "SHA-1 with ECDSA",
    "1.2.840.10045.4.3.2": "SHA-256 with ECDSA",
    "1.2.840.10045.4.3.3": "SHA-384 with ECDSA",
    "1.2.840.10045.4.3.4": "SHA-512 with ECDSA",
    "1.3.101.112": "Ed25519",
    "1.3.101.113": "Ed448",
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
    def is_self_signed(self) -> bool:
        """Return whether it states that its owner signed it; the signature is not checked."""
        return self.subject == self.issuer

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
        DecodeError: if it is none.
    """
    whole = read_der(der)
    fields = [field for field in _fields(whole) if field.tag != _VERSION]
    if len(fields) < len(("serial", "signature", "issuer", "validity", "subject", "key")):
        raise DecodeError("certificate", whole.offset, "fields are missing")
    serial, signature, issuer, validity, subject, key, *more = fields
    not_before_ns, not_after_ns = _validity(validity)
    names = list(_alternative_names(more))
    return Certificate(
        subject=_name(subject),
        issuer=_name(issuer),
        common_names=tuple(_common_names(subject)),
        dns_names=tuple(_plain(name.body) for name in names if name.tag == _DNS_NAME),
        ip_addresses=tuple(_ip(name) for name in names if name.tag == _IP_ADDRESS),
        not_before_ns=not_before_ns,
        not_after_ns=not_after_ns,
        key=_key(key),
        signature=_known(_SIGNATURES, oid_text(signature.child(OID, "signature"))),
        serial=f"{int.from_bytes(serial.body):x}",
        sha256=sha256(whole.raw).hexdigest(),
    )


def _fields(whole: Element) -> Iterator[Element]:
    return whole.child(SEQUENCE, "certificate").children()


def _known(names: dict[str, str], oid: str) -> str:
    return names.get(oid, oid)


def _validity(validity: Element) -> tuple[int, int]:
    times = [_time_ns(time) for time in validity.children()]
    if len(times) != len(("not before", "not after")):
        raise DecodeError("validity", validity.offset, f"{len(times)} times, not 2")
    return times[0], times[1]


def _time_ns(element: Element) -> int:
    """Return a time since 1970; the years of UTCTime are those from 1950 to 2049."""
    form = "%y%m%d%H%M%SZ" if element.tag == _UTC_TIME else "%Y%m%d%H%M%SZ"
    text = element.body.decode("ascii", "replace")
    try:
        time = dt.datetime.strptime(text, form).replace(tzinfo=dt.UTC)
    except ValueError:
        raise DecodeError("validity", element.offset, f"{text!r} is no time") from None
    if element.tag == _UTC_TIME and time.year >= 2050:  # noqa: PLR2004 - RFC 5280, 4.1.2.5.1
        time = time.replace(year=time.year - 100)
    return int(time.timestamp()) * NS_PER_S


def _attributes(name: Element) -> Iterator[list[tuple[str, Element]]]:
    """Yield the relative names of a name; each has one attribute or, seldom, more."""
    for relative in name.children():
        pairs = [tuple(attribute.children()) for attribute in relative.children()]
        if any(len(pair) != len(("type", "value")) for pair in pairs):
            raise DecodeError("name", relative.offset, "an attribute is no type with a value")
        yield [(oid_text(pair[0]), pair[1]) for pair in pairs]


def _name(name: Element) -> str:
    """Return a name as RFC 2253 writes it: the last part first."""
    parts = ["+".join(_attribute(*pair) for pair in relative) for relative in _attributes(name)]
    return ",".join(reversed(parts))


def _common_names(name: Element) -> Iterator[str]:
    for relative in _attributes(name):
        for oid, value in relative:
            if oid == _COMMON_NAME:
                yield _text(value)


def _attribute(oid: str, value: Element) -> str:
    """Return `CN=...`; attributes without a name of their own in hexadecimal, as Java does it."""
    if oid not in _ATTRIBUTES or value.tag not in _ENCODINGS:
        return f"{_known(_ATTRIBUTES, oid)}=#{value.raw.hex()}"
    text = "".join(f"\\{char}" if char in ',+"\\<>;' else char for char in _text(value))
    if text.startswith(("#", " ")):
        text = f"\\{text}"
    if text.endswith(" "):
        text = f"{text[:-1]}\\ "
    return f"{_ATTRIBUTES[oid]}={text}"


def _text(value: Element) -> str:
    """Return a string of one of the types for them, safe to print."""
    encoding = _ENCODINGS.get(value.tag)
    return _printable(value.body.decode(encoding, "replace")) if encoding else value.body.hex()


def _plain(body: bytes) -> str:
    return _printable(body.decode("ascii", "replace"))


def _printable(text: str) -> str:
    return "".join(char if char.isprintable() else f"\\u{ord(char):04x}" for char in text)


def _alternative_names(more: list[Element]) -> Iterator[Element]:
    """Yield the names in the extension subjectAltName, if it is there."""
    for block in more:
        if block.tag == _EXTENSIONS:
            for extension in block.child(SEQUENCE, "extensions").children():
                if oid_text(extension.child(OID, "extensions")) == _SUBJECT_ALT_NAME:
                    value = extension.child(OCTET_STRING, "subjectAltName")
                    yield from value.child(SEQUENCE, "subjectAltName").children()


def _ip(name: Element) -> str:
    family = _FAMILIES.get(len(name.body))
    return name.body.hex() if family is None else socket.inet_ntop(family, name.body)


def _key(info: Element) -> Key:
    """Return what is told of a SubjectPublicKeyInfo."""
    algorithm = info.child(SEQUENCE, "key")
    kind, *parameters = algorithm.children()
    oid = oid_text(kind)
    if oid in {_RSA, _RSA_PSS}:
        bits = info.child(BIT_STRING, "key")
        numbers = read_der(bits.body[1:])  # the first byte counts unused bits: none
        modulus = int.from_bytes(numbers.child(INTEGER, "key").body)
        return Key("RSA" if oid == _RSA else "RSA-PSS", modulus.bit_length())
    if oid == _EC and parameters and parameters[0].tag == OID:
        curve, size = _CURVES.get(oid_text(parameters[0]), (oid_text(parameters[0]), 0))
        return Key(f"EC {curve}", size)
    return Key(*_OTHER_KEYS.get(oid, ("EC" if oid == _EC else oid, 0)))
