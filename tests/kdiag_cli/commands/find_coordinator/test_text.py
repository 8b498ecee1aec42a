import json

from kdiag.diagnosis.coordinator import (
    BrokerAnswer,
    BrokerNode,
    CoordinatorReport,
    GroupState,
    PartitionPlace,
)
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag_cli.commands.find_coordinator.text import document, print_reports
from kdiag_cli.output.result import print_document
from programs.kdiag_program import Printed
from tiers.cases import for_each

NODE = BrokerNode(2, "kafka-2", 9092, "b")


def answers(count: int) -> list[BrokerAnswer]:
    """Return so many brokers that name broker 2, the first the fastest."""
    return [
        BrokerAnswer(node_id=number, coordinator=NODE, rtt_ns=number * 1_000_000)
        for number in range(1, count + 1)
    ]


def report(**changes: object) -> CoordinatorReport:
    """Return a healthy report, with changes."""
    fields: dict[str, object] = {
        "key": "orders",
        "kind": CoordinatorKind.GROUP,
        "coordinator": NODE,
        "error": None,
        "message": None,
        "partition": PartitionPlace(
            topic="__consumer_offsets", partition=31, leader=2, replicas=[2, 3, 1], isr=[2, 3, 1]
        ),
        "answers": answers(2),
        "reachable": True,
        "why_unreachable": None,
        "group": GroupState("consumer", "Stable"),
    }
    return CoordinatorReport(**{**fields, **changes})  # type: ignore[arg-type]


def told(**changes: object) -> list[str]:
    """Return how one report is told on a terminal."""
    output = Printed(120)
    print_reports(output, [report(**changes)])
    return output.lines


def test_one_report_is_told_in_full_on_a_terminal() -> None:
    """Group, coordinator, place and answers have a line each."""
    assert told() == [
        "orders: consumer group (KIP-848), Stable",
        "  coordinator  broker 2, kafka-2:9092, rack b, reachable",
        "  kept in      __consumer_offsets[31]: leader 2, replicas 2, 3, 1, all in sync",
        "  answers      1: 2 in 1.0 ms   2: 2 in 2.0 ms",
    ]


def test_what_is_missing_or_broken_is_told_in_its_place() -> None:
    """No coordinator, no leader, brokers that refuse or do not answer, a group that is not."""
    lines = told(
        coordinator=None,
        error="COORDINATOR_NOT_AVAILABLE",
        group=None,
        reachable=False,
        partition=PartitionPlace(
            topic="__consumer_offsets", partition=31, leader=None, replicas=[2, 3], isr=[]
        ),
        answers=[
            BrokerAnswer(node_id=1, error="COORDINATOR_NOT_AVAILABLE", rtt_ns=500_000),
            BrokerAnswer(node_id=2, failure="connection refused"),
        ],
    )
    assert lines == [
        "orders: no such group yet",
        "  coordinator  none: COORDINATOR_NOT_AVAILABLE",
        "  kept in      __consumer_offsets[31]: no leader, replicas 2, 3, in sync none",
        "  answers      1: COORDINATOR_NOT_AVAILABLE in 0.5 ms   2: connection refused",
    ]


def test_silence_everywhere_is_not_called_an_error_of_kafka() -> None:
    """Nobody answered: there is no error name to show."""
    lines = told(coordinator=None, reachable=False, partition=None, answers=[])
    assert lines[1:3] == [
        "  coordinator  none: no broker answered",
        "  kept in      __consumer_offsets, which was not seen",
    ]


def test_an_unreachable_coordinator_says_what_happened() -> None:
    """The reason stands beside the address."""
    lines = told(reachable=False, why_unreachable="connection refused")
    assert lines[1].endswith("rack b, not reachable: connection refused")


def test_many_brokers_that_agree_are_counted() -> None:
    """A hundred brokers that say the same take one line."""
    assert told(answers=answers(9))[3] == (
        "  answers      all 9 brokers say the same, in 1.0 to 9.0 ms"
    )


@for_each(
    ("kind", "group", "expected"),
    [
        (CoordinatorKind.GROUP, GroupState("", ""), "classic group, state unknown"),
        (CoordinatorKind.GROUP, GroupState("share", "Empty"), "share group, Empty"),
        (CoordinatorKind.TRANSACTION, GroupState("", "Ongoing"), "transactional id, Ongoing"),
        (CoordinatorKind.SHARE, None, "share partition"),
    ],
)
def test_each_kind_is_called_by_its_name(
    kind: CoordinatorKind, group: GroupState | None, expected: str
) -> None:
    """A transactional id is no group."""
    assert told(kind=kind, group=group)[0] == f"orders: {expected}"


def test_several_reports_are_rows() -> None:
    """A pipe has tabs; disagreement counts as an error."""
    output = Printed(None)
    odd = [*answers(1), BrokerAnswer(node_id=2, error="COORDINATOR_NOT_AVAILABLE")]
    print_reports(output, [report(), report(key="x\ty", reachable=False, answers=odd)])
    head, first, second = (line.split("\t") for line in output.lines)
    assert head[:5] == ["GROUP", "TYPE", "STATE", "COORDINATOR", "ADDRESS"]
    assert dict(zip(head, first, strict=True)) == {
        "GROUP": "orders",
        "TYPE": "consumer",
        "STATE": "Stable",
        "COORDINATOR": "2",
        "ADDRESS": "kafka-2:9092",
        "REACHABLE": "yes",
        "PARTITION": "__consumer_offsets[31]",
        "LEADER": "2",
        "ISR": "2,3,1",
        "REPLICAS": "2,3,1",
        "RTT-MS": "2.0",
        "ERROR": "-",
        "SAID-BY": "2/2",
    }
    assert (second[0], second[5], second[-2]) == ("x\\x09y", "no", "brokers disagree")


def test_no_reports_are_a_table_without_rows() -> None:
    """The header alone says that nothing was found."""
    output = Printed(None)
    print_reports(output, [])
    assert len(output.lines) == 1


def test_the_document_has_the_promised_shape() -> None:
    """Scripts rely on the names."""
    output = Printed()
    odd = [*answers(1), BrokerAnswer(node_id=3, failure="timed out")]
    print_document(output, "find-coordinator", [document(report(answers=odd))])
    assert json.loads(output.text)["data"] == [
        {
            "key": "orders",
            "key_type": "group",
            "coordinator": {"node_id": 2, "host": "kafka-2", "port": 9092, "rack": "b"},
            "error": None,
            "partition": {
                "topic": "__consumer_offsets",
                "partition": 31,
                "leader": 2,
                "replicas": [2, 3, 1],
                "isr": [2, 3, 1],
            },
            "answers": [
                {"node_id": 1, "coordinator_id": 2, "error": None, "rtt_ms": 1.0},
                {"node_id": 3, "coordinator_id": None, "error": "timed out", "rtt_ms": None},
            ],
            "agreement": True,
            "reachable": True,
            "group": {"type": "consumer", "state": "Stable"},
            "group_known": True,
        }
    ]


def test_a_report_without_anything_has_nulls() -> None:
    """Absence is null, not a missing key."""
    empty = document(report(coordinator=None, partition=None, group=None, reachable=False))
    assert (empty["coordinator"], empty["partition"], empty["group"]) == (None, None, None)


def test_a_wide_table_has_each_answer() -> None:
    """How many agree is in every table: silence is no agreement."""
    output = Printed(None)
    output.is_wide = True
    odd = [
        *answers(1),
        BrokerAnswer(node_id=2, error="COORDINATOR_NOT_AVAILABLE"),
        BrokerAnswer(node_id=3, failure="refused"),
    ]
    print_reports(output, [report(answers=odd)] * 2)
    head, row, _ = (line.split("\t") for line in output.lines)
    assert (head[-2:], row[-2:]) == (
        ["SAID-BY", "ANSWERS"],
        ["1/3", "1:2 2:COORDINATOR_NOT_AVAILABLE 3:silent"],
    )
