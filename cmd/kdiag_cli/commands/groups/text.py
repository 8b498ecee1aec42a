"""Groups for people: all in one table, or one with its members and partitions."""

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Final

from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.groups.amount import Amount, total
from kdiag.diagnosis.groups.model import DescribedMember, Group, PartitionLag
from kdiag.diagnosis.groups.rates import GroupRates
from kdiag.exchange.line.phrase import count
from kdiag.exchange.line.shown_time import stamp
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import (
    BOLD,
    DIM,
    GREEN,
    RED,
    YELLOW,
    Output,
    harmless,
    print_paragraph,
)
from kdiag_cli.output.units import age

_STATES: Final = {
    "Stable": GREEN,
    "Empty": DIM,
    "Dead": RED,
    "unknown": RED,
    "PreparingRebalance": YELLOW,
    "CompletingRebalance": YELLOW,
    "Reconciling": YELLOW,
    "Assigning": YELLOW,
    "NotReady": YELLOW,
}
_GROUPS: Final = (
    TableColumn("GROUP"),
    TableColumn("TYPE", 3),
    TableColumn("STATE", colours=_STATES),
    TableColumn("COORDINATOR", 5),
    TableColumn("PROTOCOL", 7),
    TableColumn("ASSIGNOR", 6),
    TableColumn("MEMBERS", 1),
    TableColumn("PARTITIONS", 4),
    TableColumn("LAG"),
    TableColumn("AGE-MS", 2, unit="age"),
    TableColumn("ERROR"),
)
_RATES: Final = (
    TableColumn("CONSUMED/S"),
    TableColumn("PRODUCED/S", 2),
    TableColumn("DONE-IN-S", 1),
    TableColumn("LOSES-IN-S", 1),
)
_MEMBERS: Final = (
    TableColumn("CLIENT-ID"),
    TableColumn("HOST"),
    TableColumn("INSTANCE-ID", 2),
    TableColumn("MEMBER-ID", 5),
    TableColumn("RACK", 4),
    TableColumn("EPOCH", 3),
    TableColumn("LAG", 1),
    TableColumn("OWNS"),
    TableColumn("TO-OWN", 2),
)
_PARTITIONS: Final = (
    TableColumn("PARTITION"),
    TableColumn("COMMITTED"),
    TableColumn("START", 5),
    TableColumn("STABLE-END", 4),
    TableColumn("END", 1),
    TableColumn("LAG"),
    TableColumn("AGE-MS", unit="age"),
    TableColumn("CLIENT-ID"),
    TableColumn("HOST", 3),
    TableColumn("COMMITTED-AT", 4),
    TableColumn("METADATA", 6),
    TableColumn("ERROR"),
)


def print_groups(
    output: Output,
    groups: Sequence[Group],
    rates: Mapping[str, GroupRates] | None = None,
    *,
    has_headers: bool = True,
) -> None:
    """Print all groups in one table; with rates where they were looked at twice."""
    columns = _GROUPS if rates is None else (*_GROUPS[:-1], *_RATES, _GROUPS[-1])
    rows = [_row(each, None if rates is None else rates.get(each.group)) for each in groups]
    if rates is None:
        rows = [row[: len(_GROUPS) - 1] + row[-1:] for row in rows]
    print_table(output, columns, rows, has_headers=has_headers)


def _row(group: Group, rates: GroupRates | None) -> tuple[object, ...]:
    known = rates or GroupRates()
    return (
        group.group,
        group.type,
        group.state,
        group.coordinator and group.coordinator.node_id,
        group.protocol,
        group.assignor,
        group.member_count,
        group.partition_count,
        _cell(group.lag_amount),
        _cell(group.age_amount) or None,
        known.consumed_per_s,
        known.produced_per_s,
        known.left_s,
        known.lost_s,
        group.why_unknown,
    )


def _cell(amount: Amount[int] | Amount[float]) -> object:
    """Return an amount as a cell: a number where it is exact, with its mark where it is not."""
    return amount.value if amount.is_exact else str(amount)


def print_group(
    output: Output, group: Group, rates: GroupRates | None = None, *, has_headers: bool = True
) -> None:
    """Print all about one group."""
    print_paragraph(output, _headline(output, group, rates))
    if group.members:
        owned: dict[str | None, list[PartitionLag]] = defaultdict(list)
        for partition in group.partitions:
            owned[partition.member_id].append(partition)
        rows = [_member_row(each, owned[each.member_id]) for each in group.members]
        print_table(output, _MEMBERS, rows, has_headers=has_headers)
    if group.partitions:
        if group.members:
            output.line("")
        owners = {each.member_id: each for each in group.members or ()}
        rows = [_partition_row(each, owners.get(each.member_id or "")) for each in group.partitions]
        print_table(output, _PARTITIONS, rows, has_headers=has_headers)


def _headline(output: Output, group: Group, rates: GroupRates | None) -> str:
    """Return the facts of a group as a whole."""
    parts = [f"{group.type} group, {group.state}"]
    if group.coordinator is not None:
        parts.append(f"coordinator {group.coordinator.node_id} at {group.coordinator}")
    if group.assignor:
        parts.append(f"assignor {group.assignor}")
    if group.epoch is not None:
        parts.append(f"epoch {group.epoch}")
    if group.members is not None:
        parts.append(count(len(group.members), "member"))
    if str(group.lag_amount) != "-":
        least = "" if group.age_amount.is_whole else ">="
        behind = f", {least}{age(group.lag_ms * NS_PER_MS)} behind" if group.lag_ms else ""
        parts.append(f"lag {group.lag_amount}{behind}")
    if group.uncommitted_count:
        blank = count(group.uncommitted_count, "partition")
        parts.append(f"{blank} without a commit, and so without lag")
    if rates is not None and rates.consumed_per_s is not None:
        parts.append(f"reads {rates.consumed_per_s}/s, written {rates.produced_per_s}/s")
    if group.why_unknown:
        parts.append(output.paint(harmless(group.why_unknown), RED))
    return f"{output.paint(harmless(group.group), BOLD)}: {'; '.join(parts)}"


def _member_row(member: DescribedMember, own: Sequence[PartitionLag]) -> tuple[object, ...]:
    return (
        member.client_id,
        member.host,
        member.instance_id,
        member.member_id,
        member.rack,
        member.epoch,
        _cell(total(each.lag_amount for each in own)),
        _owned(member.assignment),
        None if member.is_reconciled else _owned(member.target),
    )


def _owned(assignment: Mapping[str, Sequence[int]] | None) -> str | None:
    """Return partitions in few words: `orders[0-3,7] clicks[1]`."""
    if assignment is None:
        return None
    parts = [f"{topic}[{_ranges(assignment[topic])}]" for topic in sorted(assignment)]
    return " ".join(parts) or "nothing"


def _ranges(numbers: Sequence[int]) -> str:
    runs: list[list[int]] = []
    for each in sorted(numbers):
        if runs and runs[-1][1] == each - 1:
            runs[-1][1] = each
        else:
            runs.append([each, each])
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def _partition_row(partition: PartitionLag, owner: DescribedMember | None) -> tuple[object, ...]:
    return (
        str(partition),
        partition.committed,
        partition.start,
        partition.stable_end,
        partition.end,
        _cell(partition.lag_amount),
        _cell(partition.age_amount) or None,
        owner and owner.client_id,
        owner and owner.host,
        None if partition.committed_ms is None else stamp(partition.committed_ms * NS_PER_MS),
        partition.metadata,
        partition.error,
    )
