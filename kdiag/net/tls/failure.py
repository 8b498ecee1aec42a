"""Failed TLS handshakes: what OpenSSL's reasons and the peer's alerts mean, and what to do.

A refusal, by either end, is an AuthenticationError: trying again will not help. A connection that
ended during the handshake may be a broker that restarts, or a listener without TLS.

Source: RFC 8446, section 6 (alerts); OpenSSL's `sslerr.h` (reasons), `x509_vfy.h` (verification);
Kafka's `SslTransportLayer` (which failures are final).
"""

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.errors import AuthenticationError, ConnectError, Fault, Layer
from kdiag.net.foreign import foreign_protocol
from kdiag.net.transport import EndOfStreamError

if TYPE_CHECKING:
    import ssl
    from collections.abc import Sequence

    from kdiag.net.tls.certificate import Certificate

FIRST_BYTES: Final = 64
"""How much of what a peer says first is worth keeping to tell who it is."""
_SHOWN_BYTES: Final = 16
_RECORD_TYPES: Final = range(20, 25)
_TLS_MAJOR: Final = 3

_TRUST: Final = "ssl.truststore.location (or ssl.truststore.certificates)"
_NO_TLS: Final = (
    "Use security.protocol PLAINTEXT or SASL_PLAINTEXT, or give the port of a TLS listener"
)
_CERTIFICATE: Final = (
    "Set ssl.keystore.location (or ssl.keystore.certificate.chain and ssl.keystore.key) to a "
    "certificate that the broker trusts: it has ssl.client.auth=required"
)
_OTHER_CERTIFICATE: Final = (
    "Give another certificate in ssl.keystore.location, or let the broker's truststore hold its "
    "issuer"
)
_VERSIONS: Final = (
    "Let ssl.enabled.protocols name a version that both ends speak (TLSv1.2 or later)"
)
_SUITES: Final = "Let ssl.cipher.suites, on both ends, name a suite that both have, or remove it"


class Handshake(NamedTuple):
    """What is known of a handshake that failed.

    Attributes:
        peer: `host:port` of the other end.
        host: the name that its certificate had to be for; None is any.
        is_server: whether we are the server, so that the other end is a client.
        has_cipher: whether a version and a cipher suite were agreed on.
        first_bytes: what the other end said first.
        chain: the other end's certificates, its own first, as far as it has sent them.
    """

    peer: str
    host: str | None = None
    is_server: bool = False
    has_cipher: bool = False
    first_bytes: bytes = b""
    chain: "Sequence[Certificate]" = ()

    @property
    def other(self) -> str:
        """Return what the other end is."""
        return "client" if self.is_server else "broker"

    @property
    def speaks_tls(self) -> bool:
        """Return whether the other end has said nothing yet that is no TLS."""
        first = self.first_bytes
        return first[:1] == b"" or (first[0] in _RECORD_TYPES and first[1:2] in {b"", b"\3"})


class HandshakeBrokenError(EndOfStreamError):
    """The connection ended during the TLS handshake; trying again may help.

    Attributes:
        told: the same for the user.
    """

    def __init__(self, told: ConnectError) -> None:
        super().__init__(told.why)
        self.told = told


class _Meaning(NamedTuple):
    why: str
    fix: str = ""
    fault: Fault = Fault.OTHER


_ALERTS: Final = {
    "CERTIFICATE_REQUIRED": _Meaning("it asks for a client certificate and got none", _CERTIFICATE),
    "BAD_CERTIFICATE": _Meaning(
        "it asks for a client certificate and got none, or one that it refuses", _CERTIFICATE
    ),
    "CERTIFICATE_UNKNOWN": _Meaning("it does not accept our certificate", _OTHER_CERTIFICATE),
    "UNKNOWN_CA": _Meaning("it does not trust the issuer of our certificate", _OTHER_CERTIFICATE),
    "CERTIFICATE_EXPIRED": _Meaning(
        "our certificate is expired or not valid yet", "Renew the certificate in ssl.keystore"
    ),
    "CERTIFICATE_REVOKED": _Meaning("our certificate is revoked", _OTHER_CERTIFICATE),
    "UNSUPPORTED_CERTIFICATE": _Meaning(
        "it cannot use our certificate", "Check its key type, and that it is for client use"
    ),
    "ACCESS_DENIED": _Meaning("it denies access to the owner of our certificate"),
    "DECRYPT_ERROR": _Meaning("it could not verify our signature", _OTHER_CERTIFICATE),
    "PROTOCOL_VERSION": _Meaning("it speaks none of our TLS versions", _VERSIONS),
    "INSUFFICIENT_SECURITY": _Meaning("it wants stronger cipher suites than ours", _SUITES),
    "UNRECOGNIZED_NAME": _Meaning(
        "it does not know the host name that we asked for (SNI)",
        "Connect by the name that the listener, or the proxy before it, is configured for",
    ),
}
"""Alerts that the other end can end a handshake with -> what it means by that."""
_ABOUT_NO_CERTIFICATE: Final = frozenset(
    {"PROTOCOL_VERSION", "INSUFFICIENT_SECURITY", "UNRECOGNIZED_NAME"}
)
"""Those among them that have nothing to do with our certificate."""

_NO_CERTIFICATE: Final = _Meaning(
    "most likely it asks for a client certificate and got none",
    _CERTIFICATE,
    Fault.CLIENT_CERTIFICATE,
)
"""What `handshake_failure` means once a cipher suite was agreed on."""
_NOTHING_IN_COMMON: Final = _Meaning(
    "it has no TLS version or cipher suite in common with us", f"{_SUITES}. {_VERSIONS}"
)
"""What `handshake_failure` means before that."""

_OWN: Final = {
    "UNSUPPORTED_PROTOCOL": _Meaning("it speaks none of our TLS versions", _VERSIONS),
    "NO_PROTOCOLS_AVAILABLE": _Meaning("no TLS version is left to offer", _VERSIONS),
    "NO_SHARED_CIPHER": _Meaning("it has no cipher suite in common with us", _SUITES),
    "NO_CIPHERS_AVAILABLE": _Meaning("no cipher suite is left to offer", _SUITES),
    "PEER_DID_NOT_RETURN_A_CERTIFICATE": _Meaning(
        "it sent no certificate, and one is required", _CERTIFICATE
    ),
    "DH_KEY_TOO_SMALL": _Meaning(
        "its Diffie-Hellman group is too small to be safe",
        "Let ssl.cipher.suites name ECDHE suites on the broker",
    ),
    "WRONG_SIGNATURE_TYPE": _Meaning(
        "it signs in a way that is not considered safe any more", "Renew its key and certificate"
    ),
}
"""OpenSSL's reasons for which we end a handshake -> what is wrong with the other end."""


def refusal(error: "ssl.SSLError", talk: Handshake) -> AuthenticationError:
    """Return what is to be told of a handshake that one end ended on purpose."""
    reason = error.reason or ""
    code = getattr(error, "verify_code", 0)
    if code:
        meaning = _unverified(code, getattr(error, "verify_message", ""), talk)
    elif not talk.speaks_tls:
        meaning = _foreign(talk)
    elif "_ALERT_" in reason or "UNRECOGNIZED_NAME" in reason:
        meaning = _alert(reason.removeprefix(reason.partition("_")[0] + "_"), talk)
    elif reason in _OWN:
        why, fix, _ = _OWN[reason]
        meaning = _Meaning(f"the {talk.other} does not suit us: {why}", fix)
    else:
        words = reason.replace("_", " ").lower() or str(error)
        meaning = _Meaning(f"the TLS handshake failed: {words}")
    return AuthenticationError(talk.peer, Layer.TLS, *meaning)


def broken(error: OSError, talk: Handshake) -> HandshakeBrokenError:
    """Return what is to be told of a connection that ended during the handshake.

    Args:
        error: how it ended.
        talk: what was known of the handshake by then.
    """
    how = "closed" if isinstance(error, EndOfStreamError) else "broke off"
    if not talk.speaks_tls:
        meaning = _foreign(talk)
    elif talk.first_bytes or talk.is_server:
        why = f"the {talk.other} {how} the connection during the TLS handshake"
        meaning = _Meaning(why, fault=Fault.CLOSED)
    else:
        why = (
            f"the broker {how} the connection without an answer to our TLS handshake, as a "
            "listener without TLS does"
        )
        meaning = _Meaning(why, _NO_TLS, Fault.NOT_TLS)
    return HandshakeBrokenError(ConnectError(talk.peer, Layer.TLS, *meaning))


def _foreign(talk: Handshake) -> _Meaning:
    """Tell who it is that does not speak TLS."""
    known = foreign_protocol(talk.first_bytes)
    who = known.why if known else f"it sent {talk.first_bytes[:_SHOWN_BYTES].hex(' ')}"
    if talk.is_server:
        return _Meaning(f"the client does not speak TLS: {who}", "Let it use security.protocol SSL")
    fix, fault = (known.fix, known.fault) if known else (_NO_TLS, Fault.NOT_TLS)
    return _Meaning(f"the port does not speak TLS: {who}", fix, fault)


def _alert(alert: str, talk: Handshake) -> _Meaning:
    """Tell what the other end means by an alert."""
    name = alert.removeprefix("ALERT_")
    words = name.lower()
    if talk.is_server:
        return _Meaning(f"the client refused the TLS handshake (alert {words})")
    if name == "HANDSHAKE_FAILURE":
        why, fix, fault = _NO_CERTIFICATE if talk.has_cipher else _NOTHING_IN_COMMON
    else:
        why, fix, fault = _ALERTS.get(name, _Meaning(""))
        if name in _ALERTS and name not in _ABOUT_NO_CERTIFICATE:
            fault = Fault.CLIENT_CERTIFICATE
    because = f": {why}" if why else ""
    return _Meaning(f"the broker refused the TLS handshake{because} (alert {words})", fix, fault)


def _unverified(code: int, message: str, talk: Handshake) -> _Meaning:
    """Tell why the other end's certificate was not accepted here."""
    whose = f"the certificate of the {talk.other}"
    if code in _VERIFICATIONS:
        return _VERIFICATIONS[code](whose, talk)
    return _Meaning(f"{whose} was not accepted: {message}")


def _expired(whose: str, talk: Handshake) -> _Meaning:
    first = min(talk.chain, key=lambda one: one.not_after_ns, default=None)
    when = f" on {_date(first.not_after_ns)}{_which(first, talk)}" if first else ""
    fix = f"Renew the {talk.other}'s certificate, or set the clock of this machine right"
    return _Meaning(f"{whose} has expired{when}", fix, Fault.CERTIFICATE_EXPIRED)


def _not_yet_valid(whose: str, talk: Handshake) -> _Meaning:
    last = max(talk.chain, key=lambda one: one.not_before_ns, default=None)
    when = f" before {_date(last.not_before_ns)}{_which(last, talk)}" if last else " yet"
    return _Meaning(f"{whose} is not valid{when}", "Set the clock of this machine right")


def _which(certificate: "Certificate", talk: Handshake) -> str:
    """Return whose certificate it is, unless it is the other end's own."""
    return "" if certificate is talk.chain[0] else f" (that of {certificate.subject})"


def _wrong_host(whose: str, talk: Handshake) -> _Meaning:
    names = ", ".join(talk.chain[0].host_names) or "no host at all" if talk.chain else ""
    has = f"; it is for {names}" if names else ""
    fix = (
        "Connect by a name that it has, or have the name added to the certificate; only where "
        "that is safe, turn the check off with an empty ssl.endpoint.identification.algorithm"
    )
    return _Meaning(f"{whose} is not for {talk.host}{has}", fix, Fault.WRONG_HOST)


def _self_signed(whose: str, talk: Handshake) -> _Meaning:
    who = f" ({talk.chain[0].subject})" if talk.chain else ""
    fix = f"If it is the right one, put it into {_TRUST}"
    why = f"{whose} is signed by itself{who} and not among the trusted ones"
    return _Meaning(why, fix, Fault.UNKNOWN_ISSUER)


def _unknown_issuer(whose: str, talk: Handshake) -> _Meaning:
    issuer = talk.chain[-1].issuer if talk.chain else ""
    fix = f"Put the certificate of {issuer or 'its issuer'} into {_TRUST}"
    why = f"{whose} is signed by {issuer or 'somebody'}, who is not trusted"
    return _Meaning(why, fix, Fault.UNKNOWN_ISSUER)


def _too_weak(whose: str, talk: Handshake) -> _Meaning:
    first = talk.chain[0] if talk.chain else None
    which = f" ({first.key.kind}, {first.key.bits} bits, {first.signature})" if first else ""
    why = f"{whose} has a key or a signature{which} that is not considered safe any more"
    return _Meaning(why, f"Renew the {talk.other}'s key and certificate")


def _wrong_purpose(whose: str, talk: Handshake) -> _Meaning:
    use = "clientAuth" if talk.is_server else "serverAuth"
    fix = f"Have it renewed with {use} in its extended key usage"
    return _Meaning(f"{whose} is not for use by a {'client' if talk.is_server else 'server'}", fix)


def _date(ns: int) -> str:
    return f"{datetime.fromtimestamp(ns // NS_PER_S, UTC):%Y-%m-%d %H:%M} UTC"


_VERIFICATIONS: Final = {
    2: _unknown_issuer,
    9: _not_yet_valid,
    10: _expired,
    18: _self_signed,
    19: _unknown_issuer,
    20: _unknown_issuer,
    21: _unknown_issuer,
    26: _wrong_purpose,
    62: _wrong_host,
    64: _wrong_host,
    66: _too_weak,
    67: _too_weak,
    68: _too_weak,
}
"""OpenSSL's numbers of failed verifications -> what to tell."""
