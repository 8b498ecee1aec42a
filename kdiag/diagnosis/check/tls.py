"""The facts of TLS as text and as JSON, and the certificates that expire soon."""

import datetime as dt
from typing import TYPE_CHECKING, Any, Final

from kdiag.clock import NS_PER_S
from kdiag.findings.finding import Finding, found
from kdiag.net.timed_channel import HandshakeFacts

if TYPE_CHECKING:  # a plaintext check does without
    from kdiag.net.tls.certificate import Certificate

SOON_DAYS: Final = 30
"""A certificate that is valid for fewer days is reported."""

_SHOWN_NAMES: Final = 4


def tls_text(tls: HandshakeFacts, epoch_ns: int) -> str:
    """Return one line: version, cipher suite, and the peer's certificate."""
    spoken = " ".join(filter(None, (tls.version, tls.cipher)))
    if not tls.certificates:
        return spoken
    own = tls.certificates[0]
    names = ", ".join(own.host_names[:_SHOWN_NAMES]) or "no host"
    if len(own.host_names) > _SHOWN_NAMES:
        names += f" and {len(own.host_names) - _SHOWN_NAMES} more"
    days = own.days_left(epoch_ns)
    left = f"{days} days left" if days >= 0 else f"over since {-days} days"
    text = f"{own.subject} for {names}, issued by {own.issuer}, until {day(own)} ({left})"
    return f"{spoken}, {text}" if spoken else text


def tls_facts(tls: HandshakeFacts, epoch_ns: int) -> dict[str, Any]:
    """Return the facts of TLS as plain values of JSON."""
    return {
        "version": tls.version,
        "cipher": tls.cipher,
        "certificates": [_certificate_facts(each, epoch_ns) for each in tls.certificates],
    }


def expiring(address: str, tls: HandshakeFacts, epoch_ns: int) -> list[Finding]:
    """Return a finding if a certificate is valid but expires soon."""
    first = min(tls.certificates, key=lambda each: each.not_after_ns, default=None)
    if first is None or not 0 <= first.days_left(epoch_ns) < SOON_DAYS:
        return []
    return [
        found(
            "KD1206",
            address=address,
            not_after=day(first),
            days_left=first.days_left(epoch_ns),
            subject=first.subject,
        )
    ]


def day(certificate: "Certificate") -> str:
    """Return the last day of a certificate, in UTC."""
    end = dt.datetime.fromtimestamp(certificate.not_after_ns // NS_PER_S, dt.UTC)
    return end.date().isoformat()


def _certificate_facts(certificate: "Certificate", epoch_ns: int) -> dict[str, Any]:
    return {
        "subject": certificate.subject,
        "issuer": certificate.issuer,
        "names": list(certificate.host_names),
        "not_after": day(certificate),
        "days_left": certificate.days_left(epoch_ns),
        "key": f"{certificate.key.kind} {certificate.key.bits}".removesuffix(" 0"),
        "signature": certificate.signature,
        "sha256": certificate.sha256,
    }
