"""Coordinators, for people and for programs.

    orders: consumer group, Stable
      coordinator  broker 2, kafka-2:9092, rack b, reachable
      kept in      __consumer_offsets[31]: leader 2, replicas 2, 3, 1, all in sync
      answers      1: 2 in 0.9 ms   2: 2 in 0.8 ms   3: 2 in 1.1 ms

One key is told in full; several are rows of a table.
"""

from collections.abc import Sequence
from typing import Any, Final

from kdiag.diagnosis.coordinator import (
    BrokerAnswer,
    BrokerNode,
    CoordinatorReport,
    GroupState,
    PartitionPlace,
)
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag_cli.output.result import milliseconds
from kdiag_cli.output.table.layout import TableColumn
from kdiag_cli.output.table.printer import print_table
from kdiag_cli.output.terminal import (
    BOLD,
    GREEN,
    RED,
    YELLOW,
    Output,
    harmless,
    print_paragraph,
)

_SHOWN_ANSWERS: Final = 8
"""More answers than this are counted where they agree, not listed."""

_HEADERS: Final = {
    CoordinatorKind.GROUP: "GROUP",
    CoordinatorKind.TRANSACTION: "TRANSACTIONAL-ID",
    CoordinatorKind.SHARE: "SHARE-PARTITION",
}
_COLUMNS: Final = (
    TableColumn("TYPE", 6),
    TableColumn("STATE", 3),
    TableColumn("COORDINATOR"),
    TableColumn("ADDRESS"),
    TableColumn("REACHABLE"),
    TableColumn("PARTITION", 4),
    TableColumn("LEADER", 5),
    TableColumn("ISR", 7),
    TableColumn("REPLICAS", 8),
    TableColumn("RTT-MS", 2, unit="ms"),
    TableColumn("ERROR"),
    TableColumn("SAID-BY", 1),
)
_ANSWERS: Final = TableColumn("ANSWERS")
_TYPES: Final = {"consumer": "consumer group (KIP-848)"}


def document(report: CoordinatorReport) -> dict[str, Any]:
    """Return a report in the shape that `--output json` promises."""
    return {
        "key": report.key,
        "key_type": report.kind,
        "coordinator": report.coordinator,
        "error": report.error,
        "partition": _partition_document(report.partition),
        "answers": [_answer_document(answer) for answer in report.answers],
        "agreement": report.agreement,
        "reachable": report.reachable,
        "group": report.group,
        "group_known": report.is_group_known,
    }


def print_reports(
    output: Output, reports: Sequence[CoordinatorReport], *, has_headers: bool = True
) -> None:
    """Print one report in full on a terminal, several, or any in a pipe, as a table."""
    if len(reports) == 1 and output.is_terminal:
        _print_whole(output, reports[0])
        return
    key = TableColumn(_HEADERS[reports[0].kind] if reports else "KEY")
    columns = (key, *_COLUMNS, _ANSWERS) if output.is_wide else (key, *_COLUMNS)
    rows = [_row(each)[: len(columns)] for each in reports]
    print_table(output, columns, rows, has_headers=has_headers)


def _row(report: CoordinatorReport) -> tuple[object, ...]:
    named, place, group = report.coordinator, report.partition, report.group
    return (
        report.key,
        group and group.type,
        group and group.state,
        named and named.node_id,
        named and str(named),
        None if named is None else "yes" if report.reachable else "no",
        place and f"{place.topic}[{place.partition}]",
        place and place.leader,
        place and _ids(place.isr, ","),
        place and _ids(place.replicas, ","),
        _coordinator_rtt_ms(report),
        report.error or (None if report.agreement else "brokers disagree"),
        _said_by(report),
        " ".join(f"{each.node_id}:{_said(each)}" for each in report.answers),
    )


def _said_by(report: CoordinatorReport) -> str:
    """Return how many of the brokers that were asked say what the report says."""
    named = report.coordinator and report.coordinator.node_id
    agreeing = [
        each
        for each in report.answers
        if each.failure is None
        and (each.coordinator and each.coordinator.node_id, each.error) == (named, report.error)
    ]
    return f"{len(agreeing)}/{len(report.answers)}"


def _said(answer: BrokerAnswer) -> str:
    """Return what a broker said, in a word: a broker, an error, or nothing."""
    if answer.failure is not None:
        return "silent"
    return answer.error or str(answer.coordinator and answer.coordinator.node_id)


def _coordinator_rtt_ms(report: CoordinatorReport) -> float | None:
    """Return how long the coordinator itself took to answer."""
    for answer in report.answers:
        if report.coordinator and answer.node_id == report.coordinator.node_id:
            return milliseconds(answer.rtt_ns)
    return None


def _print_whole(output: Output, report: CoordinatorReport) -> None:
    print_paragraph(output, f"{output.paint(harmless(report.key), BOLD)}: {_group_text(report)}")
    lines = (
        ("coordinator", _coordinator_text(output, report)),
        ("kept in", _partition_text(output, report.partition, report.kind)),
        ("answers", _answers_text(output, report)),
    )
    for title, text in lines:
        print_paragraph(output, text, f"  {title.ljust(11)}  ")


def _group_text(report: CoordinatorReport) -> str:
    group = report.group
    if report.kind is not CoordinatorKind.GROUP:
        return report.kind.noun if group is None else f"{report.kind.noun}, {group.state}"
    if group is not None:
        return _type_and_state(group)
    return "no such group yet" if report.is_group_known else "not known whether there is a group"


def _type_and_state(group: GroupState) -> str:
    named = _TYPES.get(group.type) or f"{group.type or 'classic'} group"
    return f"{harmless(named)}, {harmless(group.state or 'state unknown')}"


def _coordinator_text(output: Output, report: CoordinatorReport) -> str:
    named = report.coordinator
    if named is None:
        why = f"none: {report.error}" if report.error else "none: no broker answered"
        return output.paint(why, RED)
    rack = f", rack {harmless(named.rack)}" if named.rack else ""
    reach = (
        output.paint("reachable", GREEN)
        if report.reachable
        else output.paint(f"not reachable: {harmless(report.why_unreachable or '')}", RED)
    )
    return f"broker {named.node_id}, {harmless(str(named))}{rack}, {reach}"


def _partition_text(output: Output, place: PartitionPlace | None, kind: CoordinatorKind) -> str:
    if place is None:
        return output.paint(f"{kind.topic}, which was not seen", YELLOW)
    leader = output.paint("no leader", RED) if place.leader is None else f"leader {place.leader}"
    if len(place.isr) == len(place.replicas):
        sync = "all in sync"
    else:
        sync = output.paint(f"in sync {_ids(place.isr) or 'none'}", YELLOW)
    return f"{place.topic}[{place.partition}]: {leader}, replicas {_ids(place.replicas)}, {sync}"


def _answers_text(output: Output, report: CoordinatorReport) -> str:
    answers = report.answers
    is_much = len(answers) > _SHOWN_ANSWERS and not output.is_wide
    if report.agreement and not report.silent and is_much:
        return f"all {len(answers)} brokers say the same, in {_span_text(answers)}"
    return "   ".join(_answer_text(output, answer) for answer in answers)


def _answer_text(output: Output, answer: BrokerAnswer) -> str:
    if answer.failure is not None:
        return output.paint(f"{answer.node_id}: {harmless(answer.failure)}", RED)
    said = answer.error or (answer.coordinator and answer.coordinator.node_id)
    return f"{answer.node_id}: {said} in {milliseconds(answer.rtt_ns)} ms"


def _span_text(answers: Sequence[BrokerAnswer]) -> str:
    times = [answer.rtt_ns for answer in answers if answer.rtt_ns is not None]
    return f"{milliseconds(min(times))} to {milliseconds(max(times))} ms" if times else "no time"


def _answer_document(answer: BrokerAnswer) -> dict[str, Any]:
    named: BrokerNode | None = answer.coordinator
    return {
        "node_id": answer.node_id,
        "coordinator_id": None if named is None else named.node_id,
        "error": answer.error or answer.failure,
        "rtt_ms": milliseconds(answer.rtt_ns),
    }


def _partition_document(place: PartitionPlace | None) -> dict[str, Any] | None:
    if place is None:
        return None
    return {
        "topic": place.topic,
        "partition": place.partition,
        "leader": place.leader,
        "replicas": place.replicas,
        "isr": place.isr,
    }


def _ids(nodes: Sequence[int], separator: str = ", ") -> str:
    return separator.join(map(str, nodes))
