"""What every broker answered about a group, put together."""

from collections.abc import Sequence

from kdiag.diagnosis.coordinator import (
    BrokerAnswer,
    BrokerNode,
    CoordinatorFacts,
    GroupState,
    InternalTopic,
    PartitionPlace,
    report_on,
)
from kdiag.wire.coordinator_partition import CoordinatorKind

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
