"""The histories of groups in the shape that `--output json` promises."""

from typing import Any, Final

from kdiag.diagnosis.rebalance.model import (
    EvidencePlace,
    GroupHistory,
    GroupMember,
    Phases,
    Rebalance,
    RebalanceCause,
)
from kdiag.diagnosis.rebalance.moves import Moved
from kdiag.exchange.documents.document import Clockface
from kdiag_cli.output.result import milliseconds


def document(history: GroupHistory, generation: int | None = None) -> dict[str, Any]:
    """Return a group with its rebalances, or the one that made a generation."""
    chosen = [
        each for each in history.rebalances if generation is None or each.generation == generation
    ]
    return {
        "group": history.group,
        "type": history.type,
        "cluster": history.cluster,
        "protocol_type": history.protocol_type,
        "source": history.source,
        "rebalances": [rebalance_document(each) for each in chosen],
        "members": [_member(each) for each in history.members.values()],
    }


def rebalance_document(rebalance: Rebalance) -> dict[str, Any]:
    """Return one rebalance."""
    slowest = rebalance.slowest
    first = rebalance.cause
    return {
        "generation": rebalance.generation,
        "previous": rebalance.previous,
        "started": iso_text(rebalance.started_ns),
        "ended": iso_text(rebalance.ended_ns),
        "duration_ms": milliseconds(rebalance.duration_ns),
        "cause": first.cause,
        "causes": [_cause(each) for each in rebalance.causes],
        "confidence": first.confidence,
        "reason": first.reason,
        "evidence": [_evidence(each) for each in first.evidence],
        "member_count": rebalance.member_count,
        "phases": [_phases(each) for each in rebalance.phases.values()],
        "slowest": slowest
        and {
            "member_id": slowest.phases.member_id,
            "client_id": slowest.phases.client_id,
            "client_host": slowest.phases.client_host,
            "wait_ms": milliseconds(slowest.wait_ns),
            "program_ms": milliseconds(slowest.program_ns),
        },
        "moved": _moved(rebalance.moved),
    }


def _cause(cause: RebalanceCause) -> dict[str, Any]:
    return {
        "cause": cause.cause,
        "confidence": cause.confidence,
        "at": iso_text(cause.at_ns),
        "member_id": cause.member_id,
        "instance_id": cause.instance_id,
        "client_id": cause.client_id,
        "client_host": cause.client_host,
        "software": cause.software,
        "reason": cause.reason,
        "note": cause.note,
        "evidence": [_evidence(each) for each in cause.evidence],
    }


def _evidence(evidence: EvidencePlace) -> dict[str, Any]:
    return evidence._asdict()


def _phases(phases: Phases) -> dict[str, Any]:
    return {
        "member_id": phases.member_id,
        "client_id": phases.client_id,
        "client_host": phases.client_host,
        "find_coordinator_ms": milliseconds(phases.find_coordinator_ns),
        "join_ms": milliseconds(_between(phases.asked_ns, phases.joined_ns)),
        "sync_ms": milliseconds(_between(phases.joined_ns, phases.synced_ns)),
        "first_heartbeat_ms": milliseconds(_between(phases.synced_ns, phases.first_heartbeat_ns)),
        "first_fetch_ms": milliseconds(_between(phases.synced_ns, phases.first_fetch_ns)),
    }


def _between(first_ns: int | None, last_ns: int | None) -> int | None:
    return None if first_ns is None or last_ns is None else last_ns - first_ns


def _moved(moved: Moved | None) -> dict[str, Any] | None:
    if moved is None:
        return None
    return {
        "count": len(moved.moves),
        "of": moved.partition_count,
        "partitions": [
            {
                "topic": each.topic,
                "partition": each.partition,
                "from": each.source,
                "to": each.target,
            }
            for each in moved.moves
        ],
    }


def _member(member: GroupMember) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "client_host": member.client_host,
        "software": member.software,
        "first_seen": iso_text(member.first_ns),
        "last_seen": iso_text(member.last_ns),
        "generations": member.generations,
    }


def iso_text(time_ns: int | None) -> str | None:
    """Return a moment as kdiag's JSON has it: RFC 3339 in UTC with nanoseconds."""
    return None if time_ns is None else _CLOCK.text(time_ns)


_CLOCK: Final = Clockface()
