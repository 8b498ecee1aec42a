"""Findings: what kdiag holds to be wrong, why it thinks so, and what to do about it.

Each kind of finding has a number that never changes its meaning, so that alerts can name it:

    KD1xxx  a connection: KD10 DNS, KD11 TCP, KD12 TLS, KD13 SASL, KD14 the first words of Kafka's
            protocol, KD15 the addresses that brokers advertise
    KD2xxx  the cluster's state: brokers and partitions
    KD3xxx  coordinators and groups
    KD4xxx  authorization
    KD5xxx  compatibility of clients and brokers

A line in `RULES` says what a number means; `found` fills in what was seen.
"""

from collections.abc import Iterable
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec


class Severity(StrEnum):
    """How bad a finding is, the worst first."""

    ERROR = "error"
    WARNING = "warning"
    INFO = "info"


class Rule(NamedTuple):
    """What all findings of one id have in common.

    Attributes:
        severity: how bad it is.
        title: what is wrong, one line; `{name}` stands for the evidence of that name.
        explanation: what that means, and how it comes about.
        fix: what to do about it; may hold evidence as the title may.
    """

    severity: Severity
    title: str
    explanation: str
    fix: str


class Finding(msgspec.Struct, frozen=True, kw_only=True):
    """One thing that is wrong; `msgspec.json` writes it in the shape of kdiag's JSON.

    Attributes:
        id: what kind of finding it is, such as `KD1203`.
        severity: how bad it is.
        title: what is wrong, one line.
        evidence: what was seen, as plain values of JSON.
        fix: what to do about it.
    """

    id: str
    severity: Severity
    title: str
    evidence: dict[str, Any]
    fix: str


def found(rule_id: str, **evidence: Any) -> Finding:
    """Return a finding of the kind that `rule_id` names.

    Args:
        rule_id: a key of `RULES`.
        evidence: plain values of JSON; at least those that the rule's title and fix mention.
    """
    rule = RULES[rule_id]
    return Finding(
        id=rule_id,
        severity=rule.severity,
        title=rule.title.format_map(evidence),
        evidence=evidence,
        fix=rule.fix.format_map(evidence),
    )


def worst(findings: Iterable[Finding]) -> Severity | None:
    """Return the worst severity among findings; None when there is none."""
    return min((each.severity for each in findings), key=_ORDER.index, default=None)


def is_at_least(severity: Severity, bar: Severity) -> bool:
    """Return whether a severity is as bad as another, or worse."""
    return _ORDER.index(severity) <= _ORDER.index(bar)


_ORDER: Final = tuple(Severity)
_ERROR, _WARNING, _ = _ORDER

RULES: Final[dict[str, Rule]] = {
    "KD1001": Rule(
        _ERROR,
        "{host} does not resolve",
        "The name servers that this machine asks know no address of that name.",
        "Check the spelling and `getent hosts {host}`; a name that only exists inside a cluster or "
        "a VPN needs that network's name servers.",
    ),
    "KD1101": Rule(
        _ERROR,
        "nothing listens on {address}",
        "The machine answered that no program has this port open (TCP RST).",
        "Check the port against `listeners` of the broker and whether the broker runs.",
    ),
    "KD1102": Rule(
        _ERROR,
        "{address} does not answer",
        "Nothing came back to the opening packets of TCP: the machine is off, the address is not "
        "routed, or a firewall drops them.",
        "Check routes, security groups and firewalls between here and {address}.",
    ),
    "KD1201": Rule(
        _ERROR,
        "{address} speaks no TLS",
        "The listener answered the opening of TLS with something else, or hung up.",
        "Use security.protocol=PLAINTEXT (or SASL_PLAINTEXT), or the port of the TLS listener.",
    ),
    "KD1202": Rule(
        _ERROR,
        "the certificate of {address} has expired",
        "The broker proves who it is with a certificate whose time is over.",
        "Renew the certificate in the broker's keystore; check the clock of this machine.",
    ),
    "KD1203": Rule(
        _ERROR,
        "the certificate of {address} is for other names",
        "None of the names that the certificate vouches for is the one that was connected to.",
        "Connect by a name in the certificate, or have this name added as a subject alternative "
        "name.",
    ),
    "KD1204": Rule(
        _ERROR,
        "nobody trusted here has issued the certificate of {address}",
        "The chain of certificates ends at an issuer that is not in the truststore.",
        "Put the certificate of the issuing authority into ssl.truststore.location.",
    ),
    "KD1205": Rule(
        _ERROR,
        "{address} wants a certificate of the client",
        "The listener has ssl.client.auth=required and refused a client that showed no certificate "
        "it trusts.",
        "Set ssl.keystore.location to a certificate that the broker's truststore accepts.",
    ),
    "KD1206": Rule(
        _WARNING,
        "the certificate of {address} expires on {not_after}",
        "Clients will be unable to connect from then on.",
        "Renew the certificate in the broker's keystore before that.",
    ),
    "KD1301": Rule(
        _ERROR,
        "{address} refuses the credentials",
        "The broker knows no such user, or the password or token is wrong; it does not say which.",
        "Check user and password, and that the user exists for this mechanism.",
    ),
    "KD1302": Rule(
        _ERROR,
        "{address} does not enable {mechanism}",
        "The listener offers other SASL mechanisms than the one that was asked for.",
        "Set sasl.mechanism to one that is offered, or add this one to sasl.enabled.mechanisms.",
    ),
    "KD1401": Rule(
        _ERROR,
        "{address} wants TLS",
        "The listener hung up on, or answered with a TLS alert, a request in the open.",
        "Set security.protocol=SSL (or SASL_SSL), or use the port of the plaintext listener.",
    ),
    "KD1402": Rule(
        _ERROR,
        "{address} accepts connections but says nothing",
        "The connection was made and ApiVersions was sent, but no answer came: the broker hangs, "
        "or something in front of it accepts for it.",
        "Check the broker's load and its log, and any load balancer in between.",
    ),
    "KD1403": Rule(
        _ERROR,
        "{address} is not Kafka",
        "The bytes that came back are those of another protocol.",
        "Check host and port: this is no listener of a broker.",
    ),
    "KD1501": Rule(
        _ERROR,
        "broker {node_id} advertises {address}, which cannot be reached from here",
        "A client connects to the bootstrap server first and to the addresses that brokers "
        "advertise from then on.",
        "Set advertised.listeners of broker {node_id} to an address that its clients can reach, or "
        "use a listener meant for them.",
    ),
}
"""What each id means. Who raises a finding adds its line; ids are never given twice."""
