"""What a probe has measured, for people: kinds of groups side by side, then each with its causes.

    CAUSE          EAGER             COOPERATIVE      KIP-848
    member joined  12 of 12, 380 ms  2 of 12, 351 ms  2 of 12, 204 ms
    member failed  12 of 12, 6.31 s  2 of 12, 6.44 s  2 of 12, 45.2 s

In a pipe there is one table: of all causes, or with --per-member of all members.
"""

from collections.abc import Iterable, Iterator, Sequence
from typing import Final

from kdiag.diagnosis.rebalance.model import CauseKind, Phases
from kdiag.exchange.line.phrase import count
from kdiag.probe.rebalance.plan import CAUSES, RebalancePlan
from kdiag.probe.rebalance.steps import StepResult
from kdiag_cli.commands.rebalance.probe.document import FORMED, ProbedGroup
from kdiag_cli.commands.rebalance.probe.options import ProbeOptions
from kdiag_cli.output.result import milliseconds
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import BOLD, Output, harmless, print_paragraph
from kdiag_cli.output.units import duration

_KIND_COLUMNS: Final = (TableColumn("PROTOCOL"), TableColumn("ASSIGNOR"))
COLUMNS: Final = (
    TableColumn("CAUSE"),
    TableColumn("WHO", 7),
    TableColumn("NOTICED-MS", unit="ms"),
    TableColumn("SESSION-MS", 1, unit="ms"),
    TableColumn("SETTLED-MS", unit="ms"),
    TableColumn("UNOWNED"),
    TableColumn("LONGEST-MS", unit="ms"),
    TableColumn("TOTAL-MS", 4, unit="ms"),
    TableColumn("READ-AGAIN-MS", 3, unit="ms"),
    TableColumn("MOVED", 5),
    TableColumn("JOIN-MS", 2, unit="ms"),
    TableColumn("SYNC-MS", 6, unit="ms"),
)
MEMBER_COLUMNS: Final = (
    TableColumn("CAUSE"),
    TableColumn("GENERATION", 1),
    TableColumn("MEMBER"),
    TableColumn("COORDINATOR-MS", 2, unit="ms"),
    TableColumn("JOIN-MS", unit="ms"),
    TableColumn("SYNC-MS", unit="ms"),
    TableColumn("HEARTBEAT-MS", unit="ms"),
    TableColumn("FETCH-MS", unit="ms"),
    TableColumn("READ-MS", 3, unit="ms"),
)
_OWN: Final = "kdiag-"


def print_probe(output: Output, groups: Sequence[ProbedGroup], options: ProbeOptions) -> None:
    """Print all groups."""
    columns, rows = (
        (MEMBER_COLUMNS, _member_rows) if options.shows_members else (COLUMNS, _cause_rows)
    )
    if not output.is_terminal:
        everything = [
            (each.plan.variant.protocol, each.plan.variant.assignor, *row)
            for each in groups
            for row in rows(each)
        ]
        headers = options.has_headers
        print_table(output, (*_KIND_COLUMNS, *columns), everything, has_headers=headers)
        return
    _print_comparison(output, groups, options)
    for each in groups:
        output.line("")
        print_paragraph(output, _heading(output, each.plan))
        print_table(output, columns, list(rows(each)), has_headers=options.has_headers)


def _print_comparison(output: Output, groups: Sequence[ProbedGroup], options: ProbeOptions) -> None:
    """Print what users feel, side by side."""
    title = output.paint("Partitions without an owner, and the longest time of one", BOLD)
    print_paragraph(output, title)
    causes = [cause for cause in CAUSES if any(_of(each, cause) for each in groups)]
    rows = [(_words(cause), *(_felt(_of(each, cause)) for each in groups)) for cause in causes]
    kinds = [each.plan.variant.kind for each in groups]
    is_clear = len(set(kinds)) == len(kinds)
    names = kinds if is_clear else [each.plan.variant.name for each in groups]
    columns = ["CAUSE", *(each.upper() for each in names)]
    print_table(output, columns, rows, has_headers=options.has_headers)


def _of(group: ProbedGroup, cause: CauseKind) -> StepResult | None:
    return next((each for each in group.steps if each.step.cause is cause), None)


def _felt(result: StepResult | None) -> str | None:
    """Return how many partitions had no owner, and for how long."""
    if result is None:
        return None
    unowned_ns = result.unowned_ns
    if not unowned_ns:
        return f"none of {result.step.partition_count}"
    longest = duration(max(unowned_ns))
    return f"{len(unowned_ns)} of {result.step.partition_count}, {longest}"


def _heading(output: Output, plan: RebalancePlan) -> str:
    name, times = plan.variant.name, plan.times
    members = f"{count(plan.member_count, 'static member' if plan.is_static else 'member')}"
    parts = [
        members,
        count(plan.partition_count, "partition"),
        f"session timeout {duration(times.session_timeout_ns)}",
        f"heartbeats each {duration(times.heartbeat_interval_ns)}",
        f"metadata at most {duration(times.metadata_max_age_ns)} old",
    ]
    return f"{output.paint(harmless(name), BOLD)}: {', '.join(parts)}"


def _words(cause: CauseKind | None) -> str:
    return (cause or FORMED).replace("_", " ")


def _cause_rows(group: ProbedGroup) -> Iterator[tuple[object, ...]]:
    for each in group.steps:
        step, unowned_ns = each.step, each.unowned_ns
        noticed_ns = None if each.noticed_ns is None else each.noticed_ns - step.began_ns
        phases = [member for found in each.rebalances for member in found.phases.values()]
        yield (
            _words(step.cause),
            step.member,
            milliseconds(noticed_ns),
            milliseconds(each.session_ns or None),
            milliseconds(each.took_ns),
            f"{len(unowned_ns)} of {step.partition_count}" if step.cause else None,
            milliseconds(max(unowned_ns, default=0)) if step.cause else None,
            milliseconds(sum(unowned_ns)) if step.cause else None,
            milliseconds(each.unread_ns),
            each.moved_count if step.cause else None,
            milliseconds(_longest((found.asked_ns, found.joined_ns) for found in phases)),
            milliseconds(_longest((found.joined_ns, found.synced_ns) for found in phases)),
        )


def _member_rows(group: ProbedGroup) -> Iterator[tuple[object, ...]]:
    for each in group.steps:
        for rebalance in each.rebalances:
            for phases in rebalance.phases.values():
                yield (_words(each.step.cause), rebalance.generation, *_member_row(each, phases))


def _member_row(result: StepResult, phases: Phases) -> tuple[object, ...]:
    name = (phases.client_id or phases.member_id).removeprefix(_OWN)
    read_ns = result.first_reads.get(name)
    return (
        name,
        milliseconds(phases.find_coordinator_ns),
        _between(phases.asked_ns, phases.joined_ns),
        _between(phases.joined_ns, phases.synced_ns),
        _between(phases.synced_ns, phases.first_heartbeat_ns),
        _between(phases.synced_ns, phases.first_fetch_ns),
        _between(phases.synced_ns, read_ns),
    )


def _between(first_ns: int | None, last_ns: int | None) -> float | None:
    if first_ns is None or last_ns is None or last_ns < first_ns:
        return None
    return milliseconds(last_ns - first_ns)


def _longest(pairs: Iterable[tuple[int | None, int | None]]) -> int | None:
    return max((last - first for first, last in pairs if first and last), default=None)
