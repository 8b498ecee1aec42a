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
_ERROR, _WARNING, _INFO = _ORDER

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
    "KD3001": Rule(
        _ERROR,
        "{topic} does not exist, so nothing can coordinate {kind} {key}",
        "Brokers create this internal topic when they are first asked for a coordinator, with the "
        "replication factor of their configuration; it cannot be created while fewer brokers are "
        "alive than that.",
        "Ask again in a second; if it stays away, start more brokers or lower the replication "
        "factor of {topic} in the brokers' configuration.",
    ),
    "KD3002": Rule(
        _ERROR,
        "{topic}[{partition}], which keeps {kind} {key}, has no leader",
        "The broker that leads this partition is the coordinator; without a leader there is none.",
        "Start one of the brokers {candidates}: they hold the partition's last copies.",
    ),
    "KD3003": Rule(
        _WARNING,
        "broker {node_id} is still loading the state of the groups it coordinates",
        "A broker that becomes coordinator first reads its partitions of the internal topic; until "
        "then it answers COORDINATOR_LOAD_IN_PROGRESS.",
        "Wait; if it takes minutes, the partition is large: check that the log cleaner of broker "
        "{node_id} is alive.",
    ),
    "KD3004": Rule(
        _WARNING,
        "the brokers disagree on who coordinates {kind} {key}: {opinions}",
        "Each broker answers from its own copy of the cluster's metadata; one of them is behind.",
        "Ask again in a second; if it stays, broker {minority} has lost touch with the "
        "controller: see its log.",
    ),
    "KD3005": Rule(
        _WARNING,
        "broker {coordinator} is named coordinator of {kind} {key}, but {topic}[{partition}] is "
        "led by broker {leader}",
        "The leader of that partition is the coordinator; leadership moves at this moment, or a "
        "broker's metadata is old.",
        "Ask again in a second, or with --watch.",
    ),
    "KD3006": Rule(
        _ERROR,
        "the coordinator of {kind} {key}, broker {node_id}, cannot be used at {address}: {why}",
        "Clients take the coordinator's address from the cluster and connect to it, whatever "
        "address they started from.",
        "Start broker {node_id} if it is down; otherwise set its advertised.listeners to an "
        "address that can be reached from here.",
    ),
    "KD3007": Rule(
        _WARNING,
        "broker {node_id} at {address} did not answer: {why}",
        "What it would have said is missing from this result.",
        "Check whether broker {node_id} runs and whether {address} can be reached from here.",
    ),
    "KD3008": Rule(
        _WARNING,
        "{topic}[{partition}], which keeps {kind} {key}, is in sync on {isr} only, of {replicas}",
        "The state of the group survives fewer failures than it is meant to.",
        "Bring back the brokers that are not in sync.",
    ),
    "KD3009": Rule(
        _ERROR,
        "{topic}[{partition}], which keeps {kind} {key}, is in sync on {isr} only, below "
        "min.insync.replicas={min_isr}",
        "The coordinator cannot write: commits and joins fail with COORDINATOR_NOT_AVAILABLE or "
        "NOT_ENOUGH_REPLICAS.",
        "Bring back the brokers that are not in sync.",
    ),
    "KD3010": Rule(
        _ERROR,
        "the brokers refuse to name a coordinator of {kind} {key}: {error}",
        "FindCoordinator ended with an error.",
        "See `kdiag errcode {error}`.",
    ),
    "KD4001": Rule(
        _ERROR,
        "not authorized to see {kind} {key}",
        "The authorizer of the brokers gives the user no Describe permission on it.",
        "Have an ACL added that allows Describe on {kind} {key} to the user kdiag connects as.",
    ),
    "KD5001": Rule(
        _WARNING,
        "the brokers speak different versions of {count} APIs: {apis}",
        "The brokers are of different releases, as during a rolling upgrade: a client settles on "
        "another version with each of them.",
        "Finish the upgrade, or find the broker that was forgotten.",
    ),
    "KD5002": Rule(
        _INFO,
        "{api} v{refused} is advertised but refused",
        "Kafka 4.0 removed these versions (KIP-896) and goes on advertising them, because "
        "librdkafka would otherwise send without compression.",
        "Clients that need them do not work with this cluster: they must speak {api} v{least}.",
    ),
}
"""What each id means. Who raises a finding adds its line; ids are never given twice."""
