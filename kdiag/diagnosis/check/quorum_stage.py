"""The controllers: who leads them, and whether a majority keeps up (KRaft only).

Brokers name any broker as controller in Metadata; who really leads is told by the quorum.

Source: KIP-595, KIP-590 (brokers forward what is for the controller).
"""

from typing import Final

from kdiag.diagnosis.check.facts import CheckFacts
from kdiag.diagnosis.check.report import Part, Row, Stage, Status, listed, status_of
from kdiag.findings.finding import found
from kdiag.wire.api.describe_quorum import ResponsePartitionData
from kdiag.wire.error_code import CODE_BY_NAME, error_name

_DENIED: Final = CODE_BY_NAME["CLUSTER_AUTHORIZATION_FAILED"]
_NO_ANSWER: Final = "the controllers do not answer"


def judge_quorum(facts: CheckFacts) -> Part:
    """Return a row for the controllers; nothing where brokers do not know of a quorum."""
    assert facts.metadata is not None
    if facts.is_quorum_silent:
        row = Row(stage=Stage.METADATA, status=Status.ERROR, target="controllers")
        row.detail = _NO_ANSWER
        return Part(rows=[row], findings=[found("KD2008", why=_NO_ANSWER)])
    if facts.quorum is None or facts.quorum.error_code == _DENIED:
        return Part()
    partitions = [each for topic in facts.quorum.topics for each in topic.partitions]
    if not partitions or partitions[0].error_code == _DENIED:
        return Part()
    return _of_quorum(partitions[0], facts.took_ns.get("quorum"))


def _of_quorum(quorum: ResponsePartitionData, took_ns: int | None) -> Part:
    findings = []
    voters = sorted(each.replica_id for each in quorum.current_voters)
    detail = f"{quorum.leader_id} leads, voters {listed(voters)}"
    if quorum.error_code or quorum.leader_id < 0:
        why = error_name(quorum.error_code) if quorum.error_code else "nobody leads them"
        detail = f"none: {why}"
        findings.append(found("KD2008", why=why))
    row = Row(
        stage=Stage.METADATA,
        status=status_of(findings),
        target="controllers",
        took_ns=took_ns,
        detail=detail,
        facts={"leader_id": quorum.leader_id, "voters": voters},
    )
    return Part(rows=[row], findings=findings)
