"""KD3xxx: problems of a coordinator, or of the groups that it coordinates."""

from typing import Final

from kdiag.findings.rule import Rule, Severity

_ERROR: Final = Severity.ERROR
_WARNING: Final = Severity.WARNING

RULES: Final = {
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
        "{advice}: the last copies are there.",
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
        "broker {node_id}{where} did not answer: {why}",
        "What it would have said is missing from this result.",
        "Check whether broker {node_id} runs, and whether its address can be reached from here.",
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
    "KD3011": Rule(
        _WARNING,
        "session.timeout.ms is {session_ms} here, and the coordinator of group {group}, broker "
        "{node_id}, takes {min_ms} to {max_ms}",
        "It refuses classic members with another session timeout (INVALID_SESSION_TIMEOUT).",
        "Set session.timeout.ms between the two, or change group.min.session.timeout.ms or "
        "group.max.session.timeout.ms of the brokers.",
    ),
}
"""By id."""
