from kdiag.client.cluster_client import ClusterClient
from kdiag.probe.groups.listing import ListedGroup as Listed
from kdiag.probe.groups.listing import cut, in_requests, list_groups
from kdiag.wire.api.list_groups import ListedGroup, ListGroupsResponse
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.group_cluster import GroupCluster
from scripted_kafka.scripted_broker import CLOSE


def test_every_broker_lists_its_groups(cluster: GroupCluster, client: ClusterClient) -> None:
    """Brokers from before types know classic groups alone."""
    cluster.listed["b"] = ListedGroup("b", "consumer", "Stable", "Consumer")
    cluster.brokers[2].on("ListGroups", ListGroupsResponse(groups=[ListedGroup("a", "connect")]))

    listing = list_groups(client)
    assert listing.groups == {
        "a": Listed("classic", "", "connect", 2),
        "b": Listed("consumer", "Stable", "consumer", 1),
    }
    assert list(listing.groups) == ["a", "b"]
    assert listing.failures == {}


def test_a_broker_that_does_not_list_them_says_why(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """By an error, or by nothing at all; the groups of others are there."""
    cluster.listed["b"] = ListedGroup("b")
    loading = CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"]
    cluster.brokers[2].on("ListGroups", ListGroupsResponse(error_code=loading))
    assert list_groups(client).failures == {2: "COORDINATOR_LOAD_IN_PROGRESS"}

    cluster.brokers[2].on("ListGroups", CLOSE)
    listing = list_groups(client)
    assert list(listing.groups) == ["b"]
    assert "127.0.0.1" in listing.failures[2]


def test_groups_are_cut_into_requests_to_their_coordinators() -> None:
    """Fifty in each, and twenty requests at a time."""
    groups = {f"g-{number}": Listed("classic", "", "", number % 2) for number in range(2_050)}
    first, second, third = in_requests(groups)
    assert [len(first), len(second), len(third)] == [20, 20, 2]
    node_id, names = first[0]
    assert (node_id, len(names), names[:2]) == (0, 50, ["g-0", "g-2"])
    asked = [name for batch in (first, second, third) for _, part in batch for name in part]
    assert sorted(asked) == sorted(groups)
    assert list(cut("abcde", 2)) == ["ab", "cd", "e"]
