"""Failed TLS handshakes: explains OpenSSL's reasons and the peer's alerts, and what to do.

A refusal by either end is an AuthenticationError: another attempt will not help. A connection that
ended during the handshake may mean a broker that restarts, or a listener without TLS.

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
"""How many of a peer's first bytes are kept, to recognise a foreign protocol."""
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


class FailedHandshake(NamedTuple):
    """The known facts of a handshake that failed.

    Attributes:
        peer: `host:port` of the other end.
        host: the name that its certificate must be for; None is any.
        is_server: whether we are the server, so that the other end is a client.
        has_cipher: whether a version and a cipher suite were agreed on.
        first_bytes: the first bytes of the other end.
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
        """Return the role of the other end."""
        return "client" if self.is_server else "broker"

    @property
    def speaks_tls(self) -> bool:
        """Return whether all that the other end has sent looks like TLS."""
        first = self.first_bytes
        return first[:1] == b"" or (first[0] in _RECORD_TYPES and first[1:2] in {b"", b"\3"})


class HandshakeBrokenError(EndOfStreamError):
    """The connection ended during the TLS handshake; another attempt may help.

    Attributes:
        connect_error: the same, for the user.
    """

    def __init__(self, connect_error: ConnectError) -> None:
        super().__init__(connect_error.why)
        self.connect_error = connect_error


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
"""Alerts by which the other end can end a handshake -> their meaning."""
_ABOUT_NO_CERTIFICATE: Final = frozenset(
    {"PROTOCOL_VERSION", "INSUFFICIENT_SECURITY", "UNRECOGNIZED_NAME"}
)
"""Those among them that are not about our certificate."""

_NO_CERTIFICATE: Final = _Meaning(
    "most likely it asks for a client certificate and got none",
    _CERTIFICATE,
    Fault.CLIENT_CERTIFICATE,
)
"""The meaning of `handshake_failure` once a cipher suite was agreed on."""
_NOTHING_IN_COMMON: Final = _Meaning(
    "it has no TLS version or cipher suite in common with us", f"{_SUITES}. {_VERSIONS}"
)
"""The meaning of `handshake_failure` before that."""

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
"""OpenSSL's reasons for ending a handshake -> the fault of the other end."""


def refusal(error: "ssl.SSLError", handshake: FailedHandshake) -> AuthenticationError:
    """Return the error for a handshake that one end ended on purpose."""
    reason = error.reason or ""
    code = getattr(error, "verify_code", 0)
    if code:
        meaning = _unverified(code, getattr(error, "verify_message", ""), handshake)
    elif not handshake.speaks_tls:
        meaning = _foreign(handshake)
    elif "_ALERT_" in reason or "UNRECOGNIZED_NAME" in reason:
        meaning = _alert(reason.removeprefix(reason.partition("_")[0] + "_"), handshake)
    elif reason in _OWN:
        why, fix, _ = _OWN[reason]
        meaning = _Meaning(f"the {handshake.other} does not suit us: {why}", fix)
    else:
        words = reason.replace("_", " ").lower() or str(error)
        meaning = _Meaning(f"the TLS handshake failed: {words}")
    return AuthenticationError(handshake.peer, Layer.TLS, *meaning)


def broken(error: OSError, handshake: FailedHandshake) -> HandshakeBrokenError:
    """Return the error for a connection that ended during the handshake.

    Args:
        error: how it ended.
        handshake: the facts known by then.
    """
    how = "closed" if isinstance(error, EndOfStreamError) else "broke off"
    if not handshake.speaks_tls:
        meaning = _foreign(handshake)
    elif handshake.first_bytes or handshake.is_server:
        why = f"the {handshake.other} {how} the connection during the TLS handshake"
        meaning = _Meaning(why, fault=Fault.CLOSED)
    else:
        why = (
            f"the broker {how} the connection without an answer to our TLS handshake, as a "
            "listener without TLS does"
        )
        meaning = _Meaning(why, _NO_TLS, Fault.NOT_TLS)
    return HandshakeBrokenError(ConnectError(handshake.peer, Layer.TLS, *meaning))


def _foreign(handshake: FailedHandshake) -> _Meaning:
    """Return which foreign protocol the other end speaks."""
    known = foreign_protocol(handshake.first_bytes)
    who = known.why if known else f"it sent {handshake.first_bytes[:_SHOWN_BYTES].hex(' ')}"
    if handshake.is_server:
        return _Meaning(f"the client does not speak TLS: {who}", "Let it use security.protocol SSL")
    fix, fault = (known.fix, known.fault) if known else (_NO_TLS, Fault.NOT_TLS)
    return _Meaning(f"the port does not speak TLS: {who}", fix, fault)


def _alert(alert: str, handshake: FailedHandshake) -> _Meaning:
    """Return the meaning of an alert."""
    name = alert.removeprefix("ALERT_")
    words = name.lower()
    if handshake.is_server:
        return _Meaning(f"the client refused the TLS handshake (alert {words})")
    if name == "HANDSHAKE_FAILURE":
        why, fix, fault = _NO_CERTIFICATE if handshake.has_cipher else _NOTHING_IN_COMMON
    else:
        why, fix, fault = _ALERTS.get(name, _Meaning(""))
        if name in _ALERTS and name not in _ABOUT_NO_CERTIFICATE:
            fault = Fault.CLIENT_CERTIFICATE
    because = f": {why}" if why else ""
    return _Meaning(f"the broker refused the TLS handshake{because} (alert {words})", fix, fault)


def _unverified(code: int, message: str, handshake: FailedHandshake) -> _Meaning:
    """Return why the other end's certificate was not accepted."""
    whose = f"the certificate of the {handshake.other}"
    if code in _VERIFICATIONS:
        return _VERIFICATIONS[code](whose, handshake)
    return _Meaning(f"{whose} was not accepted: {message}")


def _expired(whose: str, handshake: FailedHandshake) -> _Meaning:
    first = min(handshake.chain, key=lambda one: one.not_after_ns, default=None)
    when = f" on {_date(first.not_after_ns)}{_which(first, handshake)}" if first else ""
    fix = f"Renew the {handshake.other}'s certificate, or set the clock of this machine right"
    return _Meaning(f"{whose} has expired{when}", fix, Fault.CERTIFICATE_EXPIRED)


def _not_yet_valid(whose: str, handshake: FailedHandshake) -> _Meaning:
    last = max(handshake.chain, key=lambda one: one.not_before_ns, default=None)
    when = f" before {_date(last.not_before_ns)}{_which(last, handshake)}" if last else " yet"
    return _Meaning(f"{whose} is not valid{when}", "Set the clock of this machine right")


def _which(certificate: "Certificate", handshake: FailedHandshake) -> str:
    """Return the owner of a certificate of the chain, unless it is the other end's own."""
    return "" if certificate is handshake.chain[0] else f" (that of {certificate.subject})"


def _wrong_host(whose: str, handshake: FailedHandshake) -> _Meaning:
    names = ", ".join(handshake.chain[0].host_names) or "no host at all" if handshake.chain else ""
    has = f"; it is for {names}" if names else ""
    fix = (
        "Connect by a name that it has, or have the name added to the certificate; only where "
        "that is safe, turn the check off with an empty ssl.endpoint.identification.algorithm"
    )
    return _Meaning(f"{whose} is not for {handshake.host}{has}", fix, Fault.WRONG_HOST)


def _self_signed(whose: str, handshake: FailedHandshake) -> _Meaning:
    who = f" ({handshake.chain[0].subject})" if handshake.chain else ""
    fix = f"If it is the right one, put it into {_TRUST}"
    why = f"{whose} is signed by itself{who} and not among the trusted ones"
    return _Meaning(why, fix, Fault.UNKNOWN_ISSUER)


def _unknown_issuer(whose: str, handshake: FailedHandshake) -> _Meaning:
    issuer = handshake.chain[-1].issuer if handshake.chain else ""
    fix = f"Put the certificate of {issuer or 'its issuer'} into {_TRUST}"
    why = f"{whose} is signed by {issuer or 'somebody'}, who is not trusted"
    return _Meaning(why, fix, Fault.UNKNOWN_ISSUER)


def _too_weak(whose: str, handshake: FailedHandshake) -> _Meaning:
    first = handshake.chain[0] if handshake.chain else None
    which = f" ({first.key.kind}, {first.key.bits} bits, {first.signature})" if first else ""
    why = f"{whose} has a key or a signature{which} that is not considered safe any more"
    return _Meaning(why, f"Renew the {handshake.other}'s key and certificate")


def _wrong_purpose(whose: str, handshake: FailedHandshake) -> _Meaning:
    use = "clientAuth" if handshake.is_server else "serverAuth"
    fix = f"Have it renewed with {use} in its extended key usage"
    return _Meaning(
        f"{whose} is not for use by a {'client' if handshake.is_server else 'server'}", fix
    )


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
"""OpenSSL's numbers of failed verifications -> their explanation."""
