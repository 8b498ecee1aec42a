"""Groups as JSON, in the shape that `kdiag help output` states."""

from typing import Any

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.groups.model import Assignment, DescribedMember, Group, PartitionLag
from kdiag.diagnosis.groups.rates import GroupRates
from kdiag.exchange.documents.document import Clockface


def group_document(
    group: Group, rates: GroupRates | None = None, *, is_whole: bool
) -> dict[str, Any]:
    """Return a group.

    Args:
        group: as it is.
        rates: how fast it reads; None where it was looked at once.
        is_whole: whether its members and partitions are listed.
    """
    lag, age = group.lag_amount, group.age_amount
    document: dict[str, Any] = {
        "group": group.group,
        "type": group.type,
        "state": group.state,
        "coordinator": group.coordinator,
        "protocol": group.protocol,
        "assignor": group.assignor,
        "epoch": group.epoch,
        "members": group.member_count,
        "partitions": group.partition_count,
        "uncommitted": group.uncommitted_count,
        "lag": lag.value,
        "lag_exact": lag.is_exact,
        "lag_certainty": lag.certainty,
        "lag_ms": age.value,
        "lag_ms_certainty": age.certainty,
        "error": group.why_unknown,
    }
    if rates is not None:
        document["rates"] = rates
    if is_whole:
        document["assignment_epoch"] = group.assignment_epoch
        document["topic_errors"] = group.topic_errors
        document["member_list"] = [_member(each) for each in group.members or ()]
        document["partition_list"] = [_partition(each) for each in group.partitions]
    return document


def _member(member: DescribedMember) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.host,
        "rack": member.rack,
        "software": None,  # no API of Kafka's tells it
        "epoch": member.epoch,
        "protocol": member.protocol,
        "subscribed": member.subscribed,
        "pattern": member.pattern,
        "assignment": _assignment(member.assignment),
        "target": _assignment(member.target),
    }


def _assignment(assignment: Assignment | None) -> list[dict[str, Any]] | None:
    if assignment is None:
        return None
    return [{"topic": topic, "partitions": [*assignment[topic]]} for topic in sorted(assignment)]


def _iso(time_ms: int) -> str:
    return Clockface().text(time_ms * NS_PER_MS)


def _partition(partition: PartitionLag) -> dict[str, Any]:
    committed_ms, lag = partition.committed_ms, partition.lag_amount
    return {
        "topic": partition.topic,
        "partition": partition.partition,
        "committed": partition.committed,
        "start": partition.start,
        "stable_end": partition.stable_end,
        "end": partition.end,
        "lag": lag.value,
        "lag_exact": lag.is_exact,
        "lag_certainty": lag.certainty,
        "lag_ms": partition.lag_ms,
        "committed_at": None if committed_ms is None else _iso(committed_ms),
        "metadata": partition.metadata,
        "member_id": partition.member_id,
        "offset_pending": partition.is_pending,
        "error": partition.error,
    }
