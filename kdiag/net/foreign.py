"""Foreign protocols: recognised by their first bytes on a port where Kafka was expected.

Kafka starts with a length. The first four bytes of other protocols, read as one, are nearly always
more than any frame may have, so whoever refuses a length asks here what protocol it was.

Source: RFC 9112 (HTTP), RFC 8446 section 5.1 (TLS records) and 6 (alerts), RFC 4253 section 4.2
(SSH), the Redis serialization protocol, the PostgreSQL and MySQL client/server protocols.
"""

import re
from typing import Final, NamedTuple

from kdiag.errors import Fault, Layer

_TLS_ALERT: Final = 0x15
_TLS_HANDSHAKE: Final = 0x16
_TLS_MAJOR: Final = 3
_ALERT_BYTES: Final = 7
_ALERT_NAMES: Final = {
    10: "unexpected_message",
    22: "record_overflow",
    40: "handshake_failure",
    47: "illegal_parameter",
    50: "decode_error",
    70: "protocol_version",
    80: "internal_error",
    116: "certificate_required",
}
_LINE: Final = re.compile(rb"[\x20-\x7e]{4,60}")
_FIX: Final = "Give the port of a Kafka listener"
_OPENINGS: Final = (
    (re.compile(rb"HTTP"), "HTTP", "a web server answered"),
    (re.compile(rb"GET |PUT |POST|HEAD|DELE|OPTI|PATC|CONN|PRI "), "HTTP", "a web client asked"),
    (re.compile(rb"[-+][A-Z]{3}"), "Redis", "a Redis server answered"),
    (re.compile(rb"SSH-"), "SSH", "an SSH server answered"),
    (re.compile(rb"AMQP"), "AMQP", "a message broker such as RabbitMQ answered"),
    (re.compile(rb"ERRO"), "memcached", "a server such as memcached answered"),
    (re.compile(rb"[245]\d\d[ -]"), "SMTP or FTP", "a mail or file server answered"),
    (re.compile(rb"RFB "), "VNC", "a VNC server answered"),
    (re.compile(rb"It l"), "MongoDB", "a MongoDB server answered"),
    (re.compile(rb"PROX"), "PROXY", "a load balancer sent a PROXY protocol header"),
    (re.compile(rb"E\0\0[\s\S]{2}S[A-Z]"), "PostgreSQL", "a PostgreSQL server answered"),
    (re.compile(rb"[\s\S]\0\0\0\n\d"), "MySQL", "a MySQL server answered"),
)


class Foreign(NamedTuple):
    """A protocol that is spoken instead of Kafka's.

    Attributes:
        protocol: its name.
        layer: the layer at which the two ends misunderstand each other.
        why: the observation, as a sentence.
        fix: what to do about it.
    """

    protocol: str
    layer: Layer
    why: str
    fix: str

    @property
    def fault(self) -> Fault:
        """Return the fault: the port wants TLS, or does not speak Kafka."""
        return Fault.WANTS_TLS if self.layer is Layer.TLS else Fault.NOT_KAFKA


def foreign_protocol(first: bytes) -> Foreign | None:
    """Return the protocol that begins with these bytes; None if it is not known here.

    Args:
        first: the first bytes, four or more.
    """
    if len(first) > 1 and first[0] in {_TLS_ALERT, _TLS_HANDSHAKE} and first[1] == _TLS_MAJOR:
        return _tls(first)
    for pattern, protocol, who in _OPENINGS:
        if pattern.match(first):
            line = _LINE.match(first)
            quoted = f': "{line[0].decode("ascii")}"' if line else ""
            return Foreign(protocol, Layer.KAFKA, who + quoted, _FIX)
    line = _LINE.match(first)
    if line is None:
        return None
    why = f'the other end answered with text: "{line[0].decode("ascii")}"'
    return Foreign("text", Layer.KAFKA, why, _FIX)


def _tls(first: bytes) -> Foreign:
    if first[0] == _TLS_HANDSHAKE:
        why = "the other end began a TLS handshake where plaintext was expected"
        return Foreign("TLS", Layer.TLS, why, "Use security.protocol SSL or SASL_SSL on both ends")
    alert = "a TLS alert"
    if len(first) >= _ALERT_BYTES:
        number = first[_ALERT_BYTES - 1]
        alert = f"the TLS alert {_ALERT_NAMES.get(number, number)}"
    why = f"the port speaks TLS: it answered plaintext with {alert}"
    return Foreign("TLS", Layer.TLS, why, "Use security.protocol SSL, or SASL_SSL")
