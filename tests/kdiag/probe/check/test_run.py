"""A cluster is checked from the outside in."""

from collections.abc import Iterator, Sequence

import pytest

from client_ends.client_peers import closed_port
from kdiag.client.cluster_client import ClusterClient, ClusterSettings
from kdiag.client.network.settings import NetworkSettings
from kdiag.clock import SystemClock
from kdiag.diagnosis.check.facts import CheckFacts, SessionLimits
from kdiag.errors import ConnectError, Fault, Layer
from kdiag.net.address import Address, resolve
from kdiag.net.authenticator import NoAuthenticator
from kdiag.net.channel import Channel
from kdiag.net.timed_channel import TimedChannels
from kdiag.net.transport import PlaintextTransport
from kdiag.probe.check.run import OWN_GROUP, CheckPlan, check
from kdiag.wire.api.consumer_group_describe import (
    ConsumerGroupDescribeResponse,
    Member,
)
from kdiag.wire.api.consumer_group_describe import DescribedGroup as NewGroup
from kdiag.wire.api.describe_cluster import DescribeClusterResponse
from kdiag.wire.api.describe_configs import (
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kdiag.wire.api.describe_groups import DescribedGroup, DescribeGroupsResponse
from kdiag.wire.api.describe_log_dirs import DescribeLogDirsResponse, DescribeLogDirsResult
from kdiag.wire.api.describe_quorum import (
    DescribeQuorumResponse,
    ResponsePartitionData,
    ResponseTopicData,
)
from kdiag.wire.api.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kdiag.wire.api.list_groups import ListedGroup, ListGroupsResponse
from kdiag.wire.api.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.coordinating_cluster import coordinating_cluster
from scripted_kafka.scripted_broker import HOLD, Received, ScriptedBroker
from scripted_kafka.scripted_cluster import ScriptedCluster

S_NS = 1_000_000_000
CLOCK = SystemClock()
LOADING = CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"]


@pytest.fixture
def cluster() -> Iterator[ScriptedCluster]:
    """Three brokers that answer everything; the second coordinates every group."""
    with coordinating_cluster() as cluster:
        cluster.on("DescribeCluster", DescribeClusterResponse(cluster_authorized_operations=256))
        cluster.on("DescribeQuorum", DescribeQuorumResponse())
        group = DescribedGroup(authorized_operations=8)
        cluster.on("DescribeGroups", DescribeGroupsResponse(groups=[group]))
        cluster.on("ConsumerGroupDescribe", ConsumerGroupDescribeResponse())
        cluster.on("DescribeLogDirs", DescribeLogDirsResponse())
        yield cluster


def look_up(host: str, port: int) -> Sequence[Address]:
    """Return loopback for any name but `nowhere`; `twice` has an address more, where no one is."""
    if host == "nowhere":
        raise ConnectError(host, Layer.DNS, "no address is known", "", Fault.UNRESOLVED)
    (address,) = resolve("127.0.0.1", port)
    address = address._replace(host=host)
    return [address._replace(ip="127.0.0.2"), address] if host == "twice" else [address]


def checked(servers: Sequence[tuple[str, int]], plan: CheckPlan | None = None) -> CheckFacts:
    """Return what is seen of a cluster."""

    def make(channel_id: str, sock: object, peer: str, _host: str) -> Channel:
        transport = PlaintextTransport(sock, peer)  # type: ignore[arg-type]
        return Channel(channel_id, transport, NoAuthenticator(), CLOCK)

    timed = TimedChannels(make, CLOCK)
    settings = ClusterSettings(servers, NetworkSettings(lookup=look_up))
    with ClusterClient(settings, timed, CLOCK) as client:
        return check(client, timed, plan or CheckPlan(limit_ns=5 * S_NS))


def first(cluster: ScriptedCluster) -> list[tuple[str, int]]:
    """Return the first broker as bootstrap server."""
    return [("127.0.0.1", cluster.brokers[1].port)]


def advertise(cluster: ScriptedCluster, *listeners: tuple[str, int]) -> None:
    """Have the brokers advertise these instead."""
    brokers = [
        MetadataResponseBroker(number, *each) for number, each in enumerate(listeners, start=1)
    ]
    cluster.on("Metadata", MetadataResponse(brokers=brokers, topics=cluster.topics))


def test_every_listener_is_visited_and_everything_is_asked(cluster: ScriptedCluster) -> None:
    """One bootstrap server is enough to find them all."""
    facts = checked(first(cluster))

    assert [each.node_id for each in facts.listeners] == [1, 2, 3]
    assert all(each.best is not None for each in (*facts.servers, *facts.listeners))
    assert facts.cluster is not None
    assert facts.cluster.cluster_authorized_operations == 256
    assert facts.topics is not None
    assert [each.name for each in facts.topics.topics] == [
        "__consumer_offsets",
        "__transaction_state",
    ]
    assert facts.coordinator is not None
    assert list(facts.coordinator.answers) == [OWN_GROUP]
    assert (facts.failures, facts.groups, facts.group_operations) == ({}, (), {})
    assert set(facts.took_ns) == {"cluster", "topics", "quorum", "coordinator"}


def test_a_quick_check_asks_for_nothing_but_metadata(cluster: ScriptedCluster) -> None:
    """Of whichever server answers first."""
    facts = checked(first(cluster), CheckPlan(is_quick=True))

    assert facts.metadata is not None
    asked = {each.name for broker in cluster.brokers.values() for each in broker.requests}
    assert asked == {"ApiVersions", "Metadata"}
    assert (facts.listeners, facts.topics) == ((), None)


def test_a_group_and_topics_are_asked_about_by_name(cluster: ScriptedCluster) -> None:
    """The group's coordinator tells what the user may do with it."""
    facts = checked(first(cluster), CheckPlan(topics=["orders", "nosuch"], groups=["orders"]))

    assert facts.wanted is not None
    assert [each.name for each in facts.wanted.topics] == ["orders", "nosuch"]
    assert (facts.groups, facts.group_operations) == (["orders"], {"orders": 8})
    assert [number for number, each in cluster.brokers.items() if each.asked("DescribeGroups")] == [
        2
    ]


def test_a_group_that_cannot_be_described_leaves_its_error(cluster: ScriptedCluster) -> None:
    """Its coordinator may still be loading."""
    group = DescribedGroup(error_code=LOADING)
    cluster.on("DescribeGroups", DescribeGroupsResponse(groups=[group]))
    facts = checked(first(cluster), CheckPlan(groups=["orders"]))
    assert facts.failures == {"group": "COORDINATOR_LOAD_IN_PROGRESS"}


def test_nothing_is_created_by_asking(cluster: ScriptedCluster) -> None:
    """Where no group was ever used, and none is named, nobody is asked for a coordinator."""
    cluster.topics = []
    facts = checked(first(cluster))

    assert facts.coordinator is None
    assert not any(each.asked("FindCoordinator") for each in cluster.brokers.values())


def test_where_nobody_answers_that_is_all_there_is() -> None:
    """The errors say why; names that do not resolve are among them."""
    facts = checked([("127.0.0.1", closed_port()), ("nowhere", 9092)])

    assert facts.metadata is None
    faults = [error.fault for server in facts.servers for error in server.errors]
    assert faults == [Fault.REFUSED, Fault.UNRESOLVED]


def test_a_server_that_is_off_costs_the_others_nothing(cluster: ScriptedCluster) -> None:
    """Its error is kept."""
    facts = checked([("127.0.0.1", closed_port()), *first(cluster)])
    assert [server.best is None for server in facts.servers] == [True, False]
    assert all(each.best is not None for each in facts.listeners)


def test_listeners_that_lead_nowhere_are_told_and_not_asked(cluster: ScriptedCluster) -> None:
    """A closed port, a name that is not known here, and one that works."""
    port = cluster.brokers[1].port
    advertise(cluster, ("127.0.0.1", port), ("127.0.0.1", closed_port()), ("nowhere", 9092))
    facts = checked(first(cluster))

    errors = [[error.fault for error in each.errors] for each in facts.listeners]
    assert errors == [[], [Fault.REFUSED], [Fault.UNRESOLVED]]
    assert facts.coordinator is not None
    (answers,) = facts.coordinator.answers.values()
    assert [each.node_id for each in answers] == [1]


def test_every_address_of_a_name_is_visited(cluster: ScriptedCluster) -> None:
    """The broker is asked by the one that works."""
    advertise(cluster, ("twice", cluster.brokers[2].port))
    facts = checked([("twice", cluster.brokers[2].port)])

    (server,), (listener,) = facts.servers, facts.listeners
    for endpoint in (server, listener):
        assert [each.address.ip for each in endpoint.visits] == ["127.0.0.2", "127.0.0.1"]
        assert [each.error is None for each in endpoint.visits] == [False, True]
    assert facts.coordinator is not None


@pytest.mark.thorough
def test_a_listener_that_says_nothing_is_not_waited_for_long(cluster: ScriptedCluster) -> None:
    """The rest of the answers stand."""
    with ScriptedBroker() as silent:
        silent.on("ApiVersions", HOLD)
        advertise(cluster, ("127.0.0.1", cluster.brokers[1].port), ("127.0.0.1", silent.port))
        facts = checked(first(cluster), CheckPlan(limit_ns=S_NS // 10))

    assert [error.fault for error in facts.listeners[1].errors] == [Fault.SILENT]
    assert facts.topics is not None


def test_min_isr_is_asked_for_where_replicas_are_missing(cluster: ScriptedCluster) -> None:
    """Of the other topics nobody needs to know it."""
    partition = MetadataResponsePartition(leader_id=1, replica_nodes=[1, 2], isr_nodes=[1])
    cluster.topics.append(MetadataResponseTopic(name="orders", partitions=[partition]))
    config = DescribeConfigsResourceResult(name="min.insync.replicas", value="2")
    result = DescribeConfigsResult(resource_name="orders", configs=[config])
    cluster.on("DescribeConfigs", DescribeConfigsResponse(results=[result]))

    assert checked(first(cluster)).min_isr == {"orders": 2}


@pytest.mark.thorough
def test_what_is_not_answered_in_time_is_left_open(cluster: ScriptedCluster) -> None:
    """The broker waits for controllers that are silent."""
    cluster.on("DescribeQuorum", HOLD)
    facts = checked(first(cluster), CheckPlan(limit_ns=S_NS // 10))

    assert facts.quorum is None
    assert facts.is_quorum_silent
    assert facts.failures == {"quorum": "no answer in time"}
    assert facts.topics is not None


@pytest.mark.parametrize("error", ["TOPIC_AUTHORIZATION_FAILED", "UNKNOWN_TOPIC_OR_PARTITION"])
def test_a_list_of_topics_that_may_not_be_whole_is_no_proof(
    cluster: ScriptedCluster, error: str
) -> None:
    """A topic that is refused by name shows that brokers leave some out."""
    hidden = MetadataResponseTopic(error_code=CODE_BY_NAME[error], name="__consumer_offsets")
    cluster.topics[:] = [MetadataResponseTopic(name="orders"), hidden]
    facts = checked(first(cluster))
    assert (facts.unseen_topics is not None) is (error == "TOPIC_AUTHORIZATION_FAILED")


def test_what_probes_have_left_is_found(cluster: ScriptedCluster) -> None:
    """Topics among all, groups on whichever broker lists them."""
    names = ["orders", "_kdiag_probe_12ab", "my_kdiag_probe_"]
    cluster.topics += [MetadataResponseTopic(name=each) for each in names]
    groups = [ListedGroup("_kdiag_probe_34cd", "consumer"), ListedGroup("orders", "consumer")]
    cluster.brokers[3].on("ListGroups", ListGroupsResponse(groups=groups))
    cluster.brokers[2].on("ListGroups", ListGroupsResponse(error_code=LOADING))
    facts = checked(first(cluster))
    assert facts.probe_topics == ["_kdiag_probe_12ab"]
    assert facts.probe_groups == ["_kdiag_probe_34cd"]
    assert facts.unlisted == {2: "COORDINATOR_LOAD_IN_PROGRESS"}


@pytest.mark.thorough
def test_coordinators_are_asked_once_which_session_timeouts_they_take(
    cluster: ScriptedCluster,
) -> None:
    """If somebody is to join; one who may not read that gets no limits."""
    names = ("group.min.session.timeout.ms", "group.max.session.timeout.ms")
    told = [DescribeConfigsResourceResult(name, "7") for name in names]
    result = DescribeConfigsResult(configs=told)
    cluster.on("DescribeConfigs", DescribeConfigsResponse(results=[result]))
    plan = CheckPlan(groups=["orders", "billing"], session_timeout_ms=9)
    facts = checked(first(cluster), plan)
    assert facts.session_timeout_ms == 9
    assert facts.session_limits == dict.fromkeys(plan.groups, SessionLimits(2, 7, 7))
    asked = cluster.brokers[2].asked(
        "DescribeConfigs"
    )  # or it may be asked for min.insync.replicas
    assert len([each for each in asked if names[0].encode() in each.body]) == 1
    cluster.on("DescribeConfigs", DescribeConfigsResponse(results=[DescribeConfigsResult(29)]))
    assert checked(first(cluster), plan).session_limits == {}


def test_several_groups_are_asked_about(cluster: ScriptedCluster) -> None:
    """Each has its coordinator, and what the user may do with it."""
    facts = checked(first(cluster), CheckPlan(groups=["orders", "billing"]))
    assert facts.coordinator is not None
    assert list(facts.coordinator.answers) == ["orders", "billing"]
    assert facts.group_operations == {"orders": 8, "billing": 8}


def test_the_coordinator_tells_how_many_members_a_group_has(cluster: ScriptedCluster) -> None:
    """By the request of its type; a group that is not listed has no number."""
    listed = ListGroupsResponse(groups=[ListedGroup("orders", "consumer", "Stable", "Consumer")])
    described = NewGroup(group_id="orders", members=[Member(member_id="m-1")])
    cluster.on("ConsumerGroupDescribe", ConsumerGroupDescribeResponse(groups=[described]))
    for each in cluster.brokers.values():
        each.on("ListGroups", listed)
    facts = checked(first(cluster), CheckPlan(groups=["orders", "billing"]))
    assert facts.group_members == {"orders": 1}


def test_a_coordinator_whose_listener_failed_is_not_reachable(cluster: ScriptedCluster) -> None:
    """The others name it, and it is the one that could not be connected to."""
    ports = {number: each.port for number, each in cluster.brokers.items()}
    ports[2] = closed_port()
    advertise(cluster, *(("127.0.0.1", ports[n]) for n in (1, 2, 3)))
    facts = checked(first(cluster), CheckPlan(groups=["orders"]))
    assert facts.coordinator is not None
    assert set(facts.coordinator.unreachable) == {2}


@pytest.mark.thorough
def test_an_internal_topic_that_cannot_be_created_is_a_fact(cluster: ScriptedCluster) -> None:
    """The time of the check is not used up by asking again."""
    cluster.topics = []
    refused = CODE_BY_NAME["COORDINATOR_NOT_AVAILABLE"]

    def refuse(received: Received) -> None:
        request = received.message()
        assert isinstance(request, FindCoordinatorRequest)
        keys = request.coordinator_keys
        named = [Coordinator(each, error_code=refused) for each in keys]
        received.reply(FindCoordinatorResponse(coordinators=named))

    cluster.on("FindCoordinator", refuse)
    facts = checked(first(cluster), CheckPlan(groups=["orders"]))
    assert "coordinator" not in facts.failures
    assert facts.coordinator is not None
    assert {each.error for each in facts.coordinator.answers["orders"]} == {
        "COORDINATOR_NOT_AVAILABLE"
    }


def test_controllers_that_were_electing_are_asked_again(cluster: ScriptedCluster) -> None:
    """Who leads them at the end counts."""
    answers = [-1, 2]

    def elect(received: Received) -> None:
        partition = ResponsePartitionData(leader_id=answers.pop(0) if len(answers) > 1 else 2)
        topic = ResponseTopicData("__cluster_metadata", [partition])
        received.reply(DescribeQuorumResponse(topics=[topic]))

    cluster.on("DescribeQuorum", elect)
    facts = checked(first(cluster))
    assert facts.quorum is not None
    assert facts.quorum.topics[0].partitions[0].leader_id == 2


@pytest.mark.thorough
def test_a_controller_that_hangs_is_asked_for_by_another_broker(cluster: ScriptedCluster) -> None:
    """The first broker waits for it; the second knows that another was elected since."""

    def led_by(number: int, epoch: int) -> DescribeQuorumResponse:
        partition = ResponsePartitionData(leader_id=number, leader_epoch=epoch)
        return DescribeQuorumResponse(topics=[ResponseTopicData("__cluster_metadata", [partition])])

    cluster.brokers[1].on("DescribeQuorum", HOLD)
    cluster.brokers[2].on("DescribeQuorum", led_by(2, 8))
    cluster.brokers[3].on("DescribeQuorum", led_by(3, 7))
    facts = checked(first(cluster), CheckPlan(limit_ns=S_NS // 10))
    assert not facts.is_quorum_silent
    assert facts.quorum is not None
    assert facts.quorum.topics[0].partitions[0].leader_id == 2


@pytest.mark.thorough
def test_a_disk_that_fills_up_is_looked_at_twice(cluster: ScriptedCluster) -> None:
    """With the time between; one with room is not, nor one of which that is not known."""
    looks = iter((15_000_000, 9_000_000))

    def answer(received: Received) -> None:
        usable = next(looks)
        dirs = [
            DescribeLogDirsResult(log_dir="/full", total_bytes=100_000_000, usable_bytes=usable),
            DescribeLogDirsResult(log_dir="/broken", error_code=56),
        ]
        received.reply(DescribeLogDirsResponse(results=dirs))

    room = DescribeLogDirsResult(log_dir="/room", total_bytes=100, usable_bytes=90)
    cluster.brokers[3].on("DescribeLogDirs", DescribeLogDirsResponse(results=[room]))
    cluster.brokers[1].on("DescribeLogDirs", answer)
    by_path = {each.path: each for each in checked(first(cluster)).log_dirs}

    assert (by_path["/full"].filled_bytes, by_path["/full"].node_id) == (6_000_000, 1)
    assert by_path["/full"].apart_ns >= S_NS
    assert (by_path["/broken"].error_code, by_path["/broken"].filled_bytes) == (56, None)
    assert by_path["/room"].filled_bytes is None
