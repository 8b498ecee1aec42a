"""What is wrong with a coordinator, and what to do about it."""

from collections.abc import Sequence

import pytest

from kdiag.diagnosis.coordinator import (
    BrokerAnswer,
    BrokerNode,
    CoordinatorFacts,
    InternalTopic,
    PartitionPlace,
    report_on,
)
from kdiag.diagnosis.coordinator_findings import find
from kdiag.findings.finding import Finding
from kdiag.wire.coordinator_partition import CoordinatorKind

NODES = {number: BrokerNode(number, f"kafka-{number}", 9092) for number in (1, 2, 3)}
AGREED = [BrokerAnswer(node_id=by, coordinator=NODES[2]) for by in NODES]


def place(
    leader: int | None = 2, isr: Sequence[int] = (1, 2, 3), min_isr: int | None = None
) -> PartitionPlace:
    """Return the only partition of the internal topic."""
    return PartitionPlace(
        topic="__consumer_offsets",
        partition=0,
        leader=leader,
        replicas=[1, 2, 3],
        isr=isr,
        min_isr=min_isr,
    )


def findings(
    answers: Sequence[BrokerAnswer],
    *,
    partition: PartitionPlace | None = None,
    down: Sequence[int] = (),
    loading: Sequence[int] = (),
) -> list[Finding]:
    """Return what is found about the group `orders`."""
    partitions = {0: partition} if partition else {}
    facts = CoordinatorFacts(
        kind=CoordinatorKind.GROUP,
        brokers=NODES,
        unreachable=dict.fromkeys(down, "connection refused"),
        answers={"orders": answers},
        topic=InternalTopic(name="__consumer_offsets", partitions=partitions),
        groups={},
        loading=frozenset(loading),
    )
    return find([report_on("orders", facts)], facts)


def refusals(error: str) -> list[BrokerAnswer]:
    """Return the same error from every broker."""
    return [BrokerAnswer(node_id=by, error=error) for by in NODES]


def test_a_healthy_coordinator_has_no_findings() -> None:
    """All agree, all copies are in sync, the address works."""
    assert findings(AGREED, partition=place()) == []


@pytest.mark.parametrize(
    ("found", "expected"),
    [
        (findings(refusals("COORDINATOR_NOT_AVAILABLE")), ["KD3001"]),
        (findings(refusals("COORDINATOR_NOT_AVAILABLE"), partition=place(None, [3])), ["KD3002"]),
        (findings(refusals("COORDINATOR_NOT_AVAILABLE"), partition=place()), ["KD3010"]),
        (findings(refusals("GROUP_AUTHORIZATION_FAILED"), partition=place()), ["KD4001"]),
        (findings(refusals("UNKNOWN_SERVER_ERROR"), partition=place()), ["KD3010"]),
        (findings(AGREED, partition=place(), loading=[2]), ["KD3003"]),
        (findings(AGREED, partition=place(leader=3)), ["KD3005"]),
        (findings(AGREED, partition=place(), down=[2]), ["KD3006"]),
        (findings(AGREED, partition=place(), down=[3]), ["KD3007"]),
        (findings(AGREED, partition=place(isr=[2])), ["KD3008"]),
        (findings(AGREED, partition=place(isr=[2], min_isr=2)), ["KD3009"]),
        (findings(AGREED, partition=place(isr=[2], min_isr=1)), ["KD3008"]),
        (findings([BrokerAnswer(node_id=1, failure="refused")], down=[1]), ["KD3007"]),
    ],
)
def test_each_fault_has_one_finding(found: list[Finding], expected: list[str]) -> None:
    """What is wrong is said once."""
    assert [each.id for each in found] == expected


def test_addresses_that_all_lead_nowhere_are_to_blame_themselves() -> None:
    """Somebody named these brokers, so the cluster lives."""
    silent = [BrokerAnswer(node_id=by, failure="refused") for by in NODES]
    found = findings(silent, partition=place(), down=[1, 2, 3])
    assert [each.id for each in found] == ["KD1501"] * 3


def test_a_broker_of_which_only_the_number_is_known_is_told_without_an_address() -> None:
    """It holds copies, but the cluster does not list it."""
    (finding,) = findings(AGREED, partition=place(), down=[9])
    assert finding.title == "broker 9 at an unknown address did not answer: connection refused"


def test_a_disagreement_says_who_says_what() -> None:
    """The minority is named, for its log is the one to read."""
    refusal = BrokerAnswer(node_id=3, error="COORDINATOR_NOT_AVAILABLE")
    (finding,) = findings([*AGREED[:2], refusal], partition=place())
    assert finding.id == "KD3004"
    assert finding.evidence["opinions"] == "broker 2 by 1, 2; COORDINATOR_NOT_AVAILABLE by 3"
    assert finding.evidence["minority"] == "3"


def test_an_offline_partition_says_which_brokers_would_help() -> None:
    """Only the last copies in sync can bring it back."""
    (finding,) = findings(refusals("COORDINATOR_NOT_AVAILABLE"), partition=place(None, [3]))
    assert finding.fix.startswith("Start one of the brokers 3:")
