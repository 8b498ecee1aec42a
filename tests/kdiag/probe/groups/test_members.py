from kdiag.client.cluster_client import ClusterClient
from kdiag.probe.groups.listing import GROUPS_PER_REQUEST, ListedGroup
from kdiag.probe.groups.members import GroupDescription, describe_groups
from kdiag.wire.api.share_group_describe import (
    Assignment,
    DescribedGroup,
    Member,
    ShareGroupDescribeResponse,
    TopicPartitions,
)
from kdiag.wire.api.streams_group_describe import Assignment as Tasks
from kdiag.wire.api.streams_group_describe import DescribedGroup as StreamsGroup
from kdiag.wire.api.streams_group_describe import Member as StreamsMember
from kdiag.wire.api.streams_group_describe import (
    StreamsGroupDescribeResponse,
    Subtopology,
    TaskIds,
    Topology,
)
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.group_cluster import GroupCluster


def described(client: ClusterClient, kind: str, name: str = "g") -> GroupDescription:
    """Return the description of one group of broker 1."""
    found = describe_groups(client, {name: ListedGroup(kind, "", "", 1)}, lambda _: None)
    return found[name]


def test_members_of_classic_groups_own_what_their_leader_assigned(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """The broker passes on bytes that only consumers write so."""
    cluster.add_group("g", {}, {"m-1": [1, 0], "m-2": []})
    group = described(client, "classic")

    assert (group.state, group.protocol, group.assignor) == ("Stable", "consumer", "range")
    first, second = group.members or ()
    assert (first.client_id, first.host, first.subscribed) == ("M-1", "10.0.0.1", ["orders"])
    assert first.assignment == {"orders": [0, 1]}
    assert second.assignment == {}


def test_what_members_of_other_protocols_own_is_not_known(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """Kafka Connect has a format of its own; a consumer's may be broken."""
    group = cluster.add_group("g", {}, {"m-1": [0]})
    group.protocol_type = "connect"
    (worker,) = described(client, "classic").members or ()
    assert (worker.assignment, worker.subscribed) == (None, None)

    group.protocol_type = "consumer"
    group.members[0].member_assignment = b"\0\0\xff"
    (broken,) = described(client, "classic").members or ()
    assert broken.assignment is None


def test_members_of_new_groups_have_a_target(cluster: GroupCluster, client: ClusterClient) -> None:
    """And epochs, as the group has."""
    cluster.add_new_group("g", {}, {"m-1": ([0], [0, 1])})
    group = described(client, "consumer")

    assert (group.epoch, group.assignment_epoch, group.assignor) == (4, 4, "uniform")
    (member,) = group.members or ()
    assert (member.assignment, member.target) == ({"orders": [0]}, {"orders": [0, 1]})
    assert not member.is_reconciled
    assert (member.protocol, member.pattern) == (None, None)


def test_what_a_coordinator_tells_of_a_member_s_protocol_and_pattern(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """Since Kafka 4.0; topics that the pattern matches are not told."""
    (told,) = cluster.add_new_group("g", {}, {"m-1": ([0], [0])}).members
    told.member_type, told.subscribed_topic_regex = 0, "ord.*"
    (member,) = described(client, "consumer").members or ()
    assert (member.protocol, member.pattern) == ("classic", "ord.*")


def test_members_of_share_groups(cluster: GroupCluster, client: ClusterClient) -> None:
    """They have no target: partitions are shared."""
    owned = Assignment([TopicPartitions(topic_name="orders", partitions=[2])])
    member = Member(member_id="s-1", client_id="S", client_host="/10.0.0.3", assignment=owned)
    group = DescribedGroup(group_id="g", group_state="Stable", members=[member])
    cluster.on("ShareGroupDescribe", ShareGroupDescribeResponse(groups=[group]))

    (seen,) = described(client, "share").members or ()
    assert (seen.assignment, seen.target) == ({"orders": [2]}, None)


def test_tasks_of_streams_groups_read_the_topics_of_their_subtopology(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """Task 0_1 reads partition 1 of each."""
    member = StreamsMember(member_id="t-1", assignment=Tasks([TaskIds("0", [1])]))
    topology = Topology(1, [Subtopology("0", ["orders", "clicks"])])
    group = StreamsGroup(group_id="g", group_state="Stable", topology=topology, members=[member])
    cluster.on("StreamsGroupDescribe", StreamsGroupDescribeResponse(groups=[group]))

    (seen,) = described(client, "streams").members or ()
    assert seen.assignment == {"orders": [1], "clicks": [1]}


def test_a_group_that_is_not_described_says_why(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """By Kafka's error; and so does a type that is not known yet."""
    cluster.add_group("g", {}).error_code = CODE_BY_NAME["GROUP_AUTHORIZATION_FAILED"]
    assert described(client, "classic").error == "GROUP_AUTHORIZATION_FAILED"
    assert "newer" in (described(client, "quantum").error or "")


def test_many_groups_are_asked_for_in_few_requests(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """And how far it is, is told."""
    count = 2 * GROUPS_PER_REQUEST + 1
    names = [f"g-{number}" for number in range(count)]
    for name in names:
        cluster.add_group(name, {})
    done: list[int] = []
    found = describe_groups(
        client, dict.fromkeys(names, ListedGroup("classic", "", "", 1)), done.append
    )
    assert found.keys() == set(names)
    assert done == [count]
    assert len(cluster.brokers[1].asked("DescribeGroups")) == 3
