"""KD4xxx and KD5xxx: what a client is not allowed to do, and what it cannot do."""

from typing import Final

from kdiag.findings.rule import Rule, Severity

_ERROR: Final = Severity.ERROR
_WARNING: Final = Severity.WARNING
_INFO: Final = Severity.INFO

RULES: Final = {
    "KD4001": Rule(
        _ERROR,
        "not authorized to see {kind} {key}",
        "The authorizer of the brokers gives the user no Describe permission on it.",
        "Have an ACL added that allows Describe on {kind} {key} to the user kdiag connects as.",
    ),
    "KD4002": Rule(
        _ERROR,
        "not authorized to see topic {topic}",
        "The authorizer of the brokers gives the user no Describe permission on it.",
        "Have an ACL added that allows Describe (Read and Write imply it) on topic {topic} to the "
        "user kdiag connects as.",
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
    "KD5003": Rule(
        _ERROR,
        "{address} answered {api} v{version} with {error}",
        "The request arrived and was refused, as a whole or in a part of it: the response has the "
        "error next to that part.",
        "kdiag errcode {error} tells what it means and what to do.",
    ),
}
"""By id."""
