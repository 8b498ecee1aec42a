"""The stage of the ACLs: the user's operations, as the brokers report them (KIP-430).

Source: Kafka's `AclOperation`, `AclEntry.supportedOperations`.
"""

from collections.abc import Iterator
from difflib import get_close_matches
from typing import Any, Final

from kdiag.diagnosis.check.facts import CheckFacts
from kdiag.diagnosis.check.report import CheckPart, CheckRow, CheckStage, CheckStatus
from kdiag.findings.finding import found
from kdiag.wire.api.metadata import MetadataResponseTopic
from kdiag.wire.error_code import CODE_BY_NAME, error_name

_NAMES: Final = {
    3: "Read",
    4: "Write",
    5: "Create",
    6: "Delete",
    7: "Alter",
    8: "Describe",
    9: "ClusterAction",
    10: "DescribeConfigs",
    11: "AlterConfigs",
    12: "IdempotentWrite",
    13: "CreateTokens",
    14: "DescribeTokens",
    15: "TwoPhaseCommit",
}
_NOT_REPORTED: Final = -(1 << 31)
_TOPIC_DENIED: Final = CODE_BY_NAME["TOPIC_AUTHORIZATION_FAILED"]
_UNKNOWN: Final = frozenset(
    CODE_BY_NAME[name] for name in ("UNKNOWN_TOPIC_OR_PARTITION", "INVALID_TOPIC_EXCEPTION")
)


def operation_names(bits: int) -> list[str] | None:
    """Return the operations in some bits; None if the broker did not report them."""
    if bits == _NOT_REPORTED:
        return None
    return [_NAMES.get(each, str(each)) for each in range(32) if bits >> each & 1]


def judge_rights(facts: CheckFacts) -> CheckPart:
    """Return a row for the cluster, for each topic and for each group that was asked for."""
    part = CheckPart(rows=[_cluster_row(facts)], is_partial="wanted" in facts.failures)
    if facts.wanted is not None:
        for topic in facts.wanted.topics:
            part.rows += _topic_rows(topic)
            name = topic.name or ""
            if topic.error_code == _TOPIC_DENIED:
                part.findings.append(found("KD4002", topic=name))
                part.error_names.append(error_name(topic.error_code))
            elif topic.error_code in _UNKNOWN:
                part.findings.append(_unknown(name, facts))
    for group, operations in facts.group_operations.items():
        part.rows.append(_row(f"group {group}", operations))
    for what, stage in (("cluster", "cluster"), ("topics", "wanted"), ("group", "group")):
        if stage in facts.failures:
            why = facts.failures[stage]
            part.warnings.append(f"what the user may do with the {what} is not known: {why}")
    return part


def _cluster_row(facts: CheckFacts) -> CheckRow:
    if facts.cluster is None:
        why = facts.failures.get("cluster", "not asked")
        return CheckRow(
            stage=CheckStage.ACLS, status=CheckStatus.SKIPPED, target="cluster", detail=why
        )
    row = _row("cluster", facts.cluster.cluster_authorized_operations)
    row.took_ns = facts.took_ns.get("cluster")
    return row


def _row(target: str, bits: int) -> CheckRow:
    names = operation_names(bits)
    if names is None:
        detail = "the broker does not tell what the user may do"
    else:
        detail = ", ".join(names) or "nothing"
    operations: dict[str, Any] = {"operations": names}
    return CheckRow(
        stage=CheckStage.ACLS, status=CheckStatus.OK, target=target, detail=detail, facts=operations
    )


def _topic_rows(topic: MetadataResponseTopic) -> Iterator[CheckRow]:
    target = f"topic {topic.name}"
    if topic.error_code:
        name = error_name(topic.error_code)
        yield CheckRow(
            stage=CheckStage.ACLS,
            status=CheckStatus.ERROR,
            target=target,
            detail=name,
            facts={"error": name, "operations": None},
        )
    else:
        yield _row(target, topic.topic_authorized_operations)


def _unknown(name: str, facts: CheckFacts) -> Any:
    """Return the finding that a topic does not exist, with similar names."""
    topics = facts.topics.topics if facts.topics else []
    known = {(each.name or "").lower(): each.name or "" for each in topics}
    near = [known[each] for each in get_close_matches(name.lower(), known, 3, 0.6)]
    hint = f"; did you mean {' or '.join(near)}?" if near else ""
    return found("KD2005", topic=name, hint=hint, near=near)
