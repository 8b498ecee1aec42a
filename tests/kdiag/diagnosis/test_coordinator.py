"""What every broker answered about a group, put together."""

from collections.abc import Sequence

from kdiag.diagnosis.coordinator import (
    BrokerAnswer,
    BrokerNode,
    CoordinatorFacts,
    GroupState,
    InternalTopic,
    PartitionPlace,
    find,
    report_on,
)
from kdiag.findings.finding import Finding
from kdiag.wire.coordinator_partition import CoordinatorKind
from tiers.cases import for_each

NODES = {
    number: BrokerNode(number, f"kafka-{number}", 9092, f"rack-{number}") for number in (1, 2, 3)
}
TOPIC = "__consumer_offsets"


def named(by: int, whom: int) -> BrokerAnswer:
    """Return the answer of a broker that names another, as FindCoordinator does: without a rack."""
    return BrokerAnswer(
        node_id=by, coordinator=BrokerNode(whom, f"kafka-{whom}", 9092), rtt_ns=1000
    )


def facts(
    answers: Sequence[BrokerAnswer], *, leader: int | None = 2, down: Sequence[int] = ()
) -> CoordinatorFacts:
    """Return facts about the group `billing`, which partition 9 of 50 keeps."""
    place = PartitionPlace(topic=TOPIC, partition=9, leader=leader, replicas=[2, 3], isr=[2, 3])
    others = {
        number: PartitionPlace(topic=TOPIC, partition=number, leader=1, replicas=[1], isr=[1])
        for number in range(50)
    }
    return CoordinatorFacts(
        kind=CoordinatorKind.GROUP,
        brokers=NODES,
        unreachable=dict.fromkeys(down, "connection refused"),
        answers={"billing": answers},
        topic=InternalTopic(name=TOPIC, partitions={**others, 9: place}),
        groups={"billing": GroupState("consumer", "Stable")},
    )


def test_brokers_that_agree_make_a_healthy_report() -> None:
    """Coordinator with its rack, partition, leader, state: everything fits together."""
    report = report_on("billing", facts([named(by, 2) for by in (3, 1, 2)]))
    assert report.coordinator == NODES[2]
    assert report.partition is not None
    assert (report.partition.partition, report.partition.leader) == (9, 2)
    assert report.group == GroupState("consumer", "Stable")
    assert report.agreement
    assert report.reachable
    assert report.is_where_its_partition_leads
    assert [answer.node_id for answer in report.answers] == [1, 2, 3]


def test_the_majority_of_the_answers_names_the_coordinator() -> None:
    """One broker with old metadata does not decide."""
    report = report_on("billing", facts([named(1, 3), named(2, 2), named(3, 2)]))
    assert report.coordinator == NODES[2]
    assert not report.agreement


def test_a_silent_broker_is_no_disagreement() -> None:
    """Who did not answer has no opinion, and is listed."""
    silent = BrokerAnswer(node_id=3, failure="timed out")
    report = report_on("billing", facts([named(1, 2), named(2, 2), silent]))
    assert report.agreement
    assert report.silent == [silent]


def test_an_error_counts_only_where_nobody_names_a_coordinator() -> None:
    """A broker that does not know yet is outvoted by one that does, but they disagree."""
    refusal = BrokerAnswer(node_id=1, error="COORDINATOR_NOT_AVAILABLE", message="not yet")
    alone = report_on("billing", facts([refusal]))
    assert (alone.coordinator, alone.error, alone.message) == (None, refusal.error, "not yet")
    both = report_on("billing", facts([refusal, named(2, 2)]))
    assert (both.error, both.agreement) == (None, False)


def test_a_coordinator_behind_a_dead_address_is_not_reachable() -> None:
    """The report says what happened when the advertised address was tried."""
    report = report_on("billing", facts([named(1, 2)], down=[2]))
    assert (report.reachable, report.why_unreachable) == (False, "connection refused")


def test_a_coordinator_that_does_not_lead_the_partition_is_told() -> None:
    """Leadership moves, or somebody's metadata is old; an offline partition says nothing."""
    assert not report_on("billing", facts([named(1, 2)], leader=3)).is_where_its_partition_leads
    assert report_on("billing", facts([named(1, 2)], leader=None)).is_where_its_partition_leads


def test_a_group_nobody_asked_about_has_no_state_and_no_coordinator() -> None:
    """A report on unknown ground claims nothing."""
    report = report_on("other", facts([named(1, 2)]))
    assert (report.coordinator, report.group, report.reachable) == (None, None, False)


def test_an_ipv6_address_is_told_in_brackets() -> None:
    """The port can be told from the address."""
    assert str(BrokerNode(1, "fd00::1", 9092)) == "[fd00::1]:9092"


BROKERS = {number: BrokerNode(number, f"kafka-{number}", 9092) for number in (1, 2, 3)}
AGREED = [BrokerAnswer(node_id=by, coordinator=BROKERS[2]) for by in BROKERS]


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
        brokers=BROKERS,
        unreachable=dict.fromkeys(down, "connection refused"),
        answers={"orders": answers},
        topic=InternalTopic(name="__consumer_offsets", partitions=partitions),
        groups={},
        loading=frozenset(loading),
    )
    return find([report_on("orders", facts)], facts)


def refusals(error: str) -> list[BrokerAnswer]:
    """Return the same error from every broker."""
    return [BrokerAnswer(node_id=by, error=error) for by in BROKERS]


def test_a_healthy_coordinator_has_no_findings() -> None:
    """All agree, all copies are in sync, the address works."""
    assert findings(AGREED, partition=place()) == []


@for_each(
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
    silent = [BrokerAnswer(node_id=by, failure="refused") for by in BROKERS]
    found = findings(silent, partition=place(), down=[1, 2, 3])
    assert [each.id for each in found] == ["KD1501"] * 3


def test_a_broker_of_which_only_the_number_is_known_is_told_without_an_address() -> None:
    """It holds copies, but the cluster does not list it."""
    (finding,) = findings(AGREED, partition=place(), down=[9])
    assert finding.title == "broker 9 did not answer: connection refused"


def test_a_disagreement_says_who_says_what() -> None:
    """The minority is named, for its log is the one to read."""
    refusal = BrokerAnswer(node_id=3, error="COORDINATOR_NOT_AVAILABLE")
    (finding,) = findings([*AGREED[:2], refusal], partition=place())
    assert finding.id == "KD3004"
    assert finding.evidence["opinions"] == "broker 2 by 1, 2; COORDINATOR_NOT_AVAILABLE by 3"
    assert finding.evidence["minority"] == "3"


def test_an_offline_partition_says_which_brokers_would_help() -> None:
    """Only the last copies in sync can bring it back; a broker that runs is not to be started."""
    (finding,) = findings(refusals("COORDINATOR_NOT_AVAILABLE"), partition=place(None, [4]))
    assert finding.fix.startswith("Start broker 4:")
    (finding,) = findings(refusals("COORDINATOR_NOT_AVAILABLE"), partition=place(None, [3]))
    assert finding.fix.startswith("See the log of broker 3, which runs,")
