"""Every broker is asked who coordinates a group."""

from collections.abc import Iterator

import pytest

from kdiag.diagnosis.coordinator import GroupState, report_on
from kdiag.probe.coordinator.search import find_coordinators
from kdiag.wire.api.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kdiag.wire.api.describe_transactions import DescribeTransactionsResponse, TransactionState
from kdiag.wire.api.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kdiag.wire.api.list_groups import ListedGroup, ListGroupsResponse
from kdiag.wire.api.metadata import MetadataResponsePartition, MetadataResponseTopic
from kdiag.wire.coordinator_partition import CoordinatorKind
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.coordinating_cluster import describe_as_dead
from scripted_kafka.scripted_broker import CLOSE, Received, offering
from scripted_kafka.scripted_cluster import ScriptedCluster

GROUP, TRANSACTION = CoordinatorKind.GROUP, CoordinatorKind.TRANSACTION
NOT_AVAILABLE = CODE_BY_NAME["COORDINATOR_NOT_AVAILABLE"]


def internal_topic(name: str, leader: int = 2) -> MetadataResponseTopic:
    """Return an internal topic with one partition on all brokers."""
    partition = MetadataResponsePartition(
        partition_index=0, leader_id=leader, replica_nodes=[2, 3, 1], isr_nodes=[2, 3]
    )
    return MetadataResponseTopic(name=name, partitions=[partition])


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Three brokers, of which the second coordinates everything."""
    with ScriptedCluster(3) as cluster:

        def name_the_second(received: Received) -> None:
            request = received.message()
            assert isinstance(request, FindCoordinatorRequest)
            port = cluster.brokers[2].port
            if received.header.version < 4:
                received.reply(FindCoordinatorResponse(node_id=2, host="127.0.0.1", port=port))
                return
            coordinators = [
                Coordinator(key, 2, "127.0.0.1", port) for key in request.coordinator_keys
            ]
            received.reply(FindCoordinatorResponse(coordinators=coordinators))

        cluster.topics = [
            internal_topic("__consumer_offsets"),
            internal_topic("__transaction_state"),
        ]
        cluster.on("FindCoordinator", name_the_second)
        cluster.on("ListGroups", ListGroupsResponse())
        cluster.on("DescribeGroups", describe_as_dead)
        config = DescribeConfigsResourceResult(name="min.insync.replicas", value="2")
        cluster.on(
            "DescribeConfigs",
            DescribeConfigsResponse(results=[DescribeConfigsResult(configs=[config])]),
        )
        yield cluster


def test_every_broker_is_asked_and_the_coordinator_for_the_state(cluster: ScriptedCluster) -> None:
    """Answers of all, the partition with its ISR, type and state by ListGroups."""
    groups = [ListedGroup("orders", "consumer", "Stable", "Consumer"), ListedGroup("other")]
    cluster.brokers[2].on("ListGroups", ListGroupsResponse(groups=groups))
    with cluster.client() as client:
        report = report_on("orders", find_coordinators(client, ["orders"], GROUP))
    assert report.coordinator is not None
    assert (report.coordinator.node_id, report.coordinator.rack) == (2, "rack-2")
    assert [answer.node_id for answer in report.answers] == [1, 2, 3]
    assert all(answer.rtt_ns is not None for answer in report.answers)
    assert report.group == GroupState("consumer", "Stable")
    assert report.partition is not None
    assert (report.partition.leader, list(report.partition.isr)) == (2, [2, 3])
    assert report.partition.min_isr == 2
    assert not cluster.brokers[1].asked("ListGroups")


def test_a_group_without_a_type_is_classic(cluster: ScriptedCluster) -> None:
    """Brokers before KIP-848 know of no other."""
    groups = [ListedGroup("orders", "consumer")]
    cluster.brokers[2].on("ListGroups", ListGroupsResponse(groups=groups))
    cluster.on("ApiVersions", offering(ListGroups=(0, 3)))
    with cluster.client() as client:
        facts = find_coordinators(client, ["orders"], GROUP)
    assert facts.groups == {"orders": GroupState("classic", "")}


@pytest.mark.thorough
def test_many_keys_are_one_request(cluster: ScriptedCluster) -> None:
    """A thousand groups take two requests to each broker."""
    keys = [f"group-{number}" for number in range(1000)]
    with cluster.client() as client:
        facts = find_coordinators(client, keys, GROUP)
    assert all(len(facts.answers[key]) == 3 for key in keys)
    assert len(cluster.brokers[1].asked("FindCoordinator")) == 2


def test_brokers_that_take_one_key_a_request_are_asked_key_by_key(cluster: ScriptedCluster) -> None:
    """Before KIP-699 there is no other way."""
    cluster.brokers[3].on("ApiVersions", offering(FindCoordinator=(0, 3)))
    with cluster.client() as client:
        facts = find_coordinators(client, ["a", "b"], GROUP)
    for key in ("a", "b"):
        assert sorted(each.node_id for each in facts.answers[key]) == [1, 2, 3]
        assert {each.coordinator.node_id for each in facts.answers[key] if each.coordinator} == {2}
    assert len(cluster.brokers[3].asked("FindCoordinator")) == 2


def test_a_broker_that_hangs_up_is_a_failure_of_that_broker_alone(cluster: ScriptedCluster) -> None:
    """The others' answers stand."""
    cluster.brokers[3].on("FindCoordinator", CLOSE)
    with cluster.client() as client:
        facts = find_coordinators(client, ["orders"], GROUP)
    report = report_on("orders", facts)
    assert report.coordinator is not None
    assert [each.node_id for each in report.silent] == [3]


def test_a_broker_that_is_down_is_unreachable(cluster: ScriptedCluster) -> None:
    """Its address leads nowhere, and the reason is kept."""
    with cluster.client() as client:
        cluster.brokers[3].stop()
        facts = find_coordinators(client, ["orders"], GROUP)
    assert list(facts.unreachable) == [3]


def test_a_broker_that_holds_copies_but_is_not_listed_is_down(cluster: ScriptedCluster) -> None:
    """The cluster fences it; its silence makes the result partial all the same."""
    cluster.topics[0].partitions[0].replica_nodes.append(4)
    with cluster.client() as client:
        facts = find_coordinators(client, ["orders"], GROUP)
    assert list(facts.unreachable) == [4]
    assert [each.node_id for each in report_on("orders", facts).silent] == [4]


def test_transactional_ids_have_the_state_of_their_transaction(cluster: ScriptedCluster) -> None:
    """An id that nobody has used is no error."""
    known = TransactionState(transactional_id="tx", transaction_state="Ongoing")
    unknown = TransactionState(
        error_code=CODE_BY_NAME["TRANSACTIONAL_ID_NOT_FOUND"], transactional_id="new"
    )
    cluster.on(
        "DescribeTransactions", DescribeTransactionsResponse(transaction_states=[known, unknown])
    )
    with cluster.client() as client:
        facts = find_coordinators(client, ["tx", "new"], TRANSACTION)
    assert facts.groups == {"tx": GroupState("transaction", "Ongoing")}
    assert facts.topic is not None
    assert facts.topic.name == "__transaction_state"


def test_a_coordinator_that_is_loading_is_told(cluster: ScriptedCluster) -> None:
    """It cannot tell the groups' states yet."""
    code = CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"]
    cluster.brokers[2].on("ListGroups", ListGroupsResponse(error_code=code))
    with cluster.client() as client:
        facts = find_coordinators(client, ["orders"], GROUP)
    assert (facts.loading, facts.groups) == ({2}, {})


def test_while_the_internal_topic_is_being_created_the_brokers_are_asked_again(
    cluster: ScriptedCluster,
) -> None:
    """The first question of its kind makes them create it."""
    topics, cluster.topics = cluster.topics, []
    refusal = FindCoordinatorResponse(
        coordinators=[Coordinator("orders", error_code=NOT_AVAILABLE)]
    )
    name_the_second = cluster.brokers[2]._replies["FindCoordinator"]
    assert callable(name_the_second)
    refused: list[int] = []

    def refuse_first(received: Received) -> None:
        if len(refused) == len(cluster.brokers):
            name_the_second(received)
            return
        refused.append(received.header.correlation_id)
        received.reply(refusal)
        cluster.topics = topics if len(refused) == len(cluster.brokers) else []

    cluster.on("FindCoordinator", refuse_first)
    with cluster.client() as client:
        report = report_on("orders", find_coordinators(client, ["orders"], GROUP))
    assert report.coordinator is not None
    assert report.partition is not None
    assert all(len(each.asked("FindCoordinator")) == 2 for each in cluster.brokers.values())


def test_a_broker_that_has_not_heard_of_the_internal_topic_is_asked_again(
    cluster: ScriptedCluster,
) -> None:
    """Others name coordinators already; where it never hears of one, that takes a second."""
    topics, cluster.topics = cluster.topics, []
    asked: list[int] = []

    def hear_late(received: Received) -> None:
        asked.append(received.header.correlation_id)
        cluster.topics = topics if len(asked) > 2 else []
        cluster.tell(received)

    with cluster.client() as client:
        cluster.on("Metadata", hear_late)
        report = report_on("orders", find_coordinators(client, ["orders"], GROUP))
    assert report.coordinator is not None
    assert report.partition is not None
    assert len(asked) == 3


def test_a_broker_that_hears_of_the_coordinator_later_than_others_is_asked_again(
    cluster: ScriptedCluster,
) -> None:
    """A topic that was just created is known to one broker before the next."""
    name_the_second = cluster.brokers[3]._replies["FindCoordinator"]
    assert callable(name_the_second)
    refusal = FindCoordinatorResponse(
        coordinators=[Coordinator("orders", error_code=NOT_AVAILABLE)]
    )

    def refuse_once(received: Received) -> None:
        cluster.brokers[3].on("FindCoordinator", name_the_second)
        received.reply(refusal)

    cluster.brokers[3].on("FindCoordinator", refuse_once)
    with cluster.client() as client:
        report = report_on("orders", find_coordinators(client, ["orders"], GROUP))
    assert report.agreement
    assert all(len(each.asked("FindCoordinator")) == 2 for each in cluster.brokers.values())


def test_a_coordinator_may_leave_while_it_is_looked_for(cluster: ScriptedCluster) -> None:
    """It was named and asked for, is gone, and counts as one that is down."""
    port = cluster.brokers[2].port
    coordinator = Coordinator("orders", 2, "127.0.0.1", port)
    named = FindCoordinatorResponse(coordinators=[coordinator])

    def leave(received: Received) -> None:
        cluster.brokers.pop(2).stop()
        received.reply(named)

    cluster.on("FindCoordinator", named)
    cluster.brokers[3].on("FindCoordinator", leave)
    with cluster.client() as client:
        facts = find_coordinators(client, ["orders"], GROUP)
    assert 2 in facts.unreachable
    assert sorted(each.node_id for each in facts.answers["orders"]) == [1, 2, 3]


def test_without_patience_the_first_answer_counts(cluster: ScriptedCluster) -> None:
    """Who watches looks again by itself."""
    cluster.topics = []
    refusal = Coordinator("orders", error_code=NOT_AVAILABLE, error_message="being created")
    cluster.on("FindCoordinator", FindCoordinatorResponse(coordinators=[refusal]))
    with cluster.client() as client:
        facts = find_coordinators(client, ["orders"], GROUP, patience_ns=0)
    report = report_on("orders", facts)
    assert (report.error, report.message) == ("COORDINATOR_NOT_AVAILABLE", "being created")
    assert report.partition is None


def test_a_configuration_that_may_not_be_read_is_not_needed(cluster: ScriptedCluster) -> None:
    """Without the right to describe the topic, min.insync.replicas stays unknown."""
    denied = DescribeConfigsResult(error_code=CODE_BY_NAME["TOPIC_AUTHORIZATION_FAILED"])
    cluster.on("DescribeConfigs", DescribeConfigsResponse(results=[denied]))
    with cluster.client() as client:
        report = report_on("orders", find_coordinators(client, ["orders"], GROUP))
    assert report.partition is not None
    assert report.partition.min_isr is None


@pytest.mark.thorough
def test_only_some_brokers_may_be_asked(cluster: ScriptedCluster) -> None:
    """Who knows that the others cannot be reached does not wait for them again."""
    with cluster.client() as client:
        facts = find_coordinators(client, ["orders"], GROUP, among={1, 3})
    assert [each.node_id for each in facts.answers["orders"]] == [1, 3]
    assert not cluster.brokers[2].asked("ListGroups")
