from kdiag.client.cluster_client import ClusterClient
from kdiag.probe.groups.roster import GroupRoster, look_at_group
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.group_cluster import GroupCluster
from scripted_kafka.scripted_broker import CLOSE


def test_a_group_is_told_with_its_members(cluster: GroupCluster, client: ClusterClient) -> None:
    """Of either type; one that does not exist has none, and would be a classic one."""
    cluster.add_group("old", {}, {"m-1": [0]})
    cluster.add_new_group("new", {}, {"n-1": ([0], [0]), "n-2": ([1], [1])})
    old, new, none = (look_at_group(client, name) for name in ("old", "new", "none"))
    assert (old.type, old.assignor, len(old.members or ())) == ("classic", "range", 1)
    assert (new.type, new.assignor, len(new.members or ())) == ("consumer", "uniform", 2)
    assert (none.type, none.listed, none.members, none.error) == ("classic", None, (), None)


def test_what_is_not_known_is_not_called_empty(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """A broker that does not answer may have the group, and one may be denied it."""
    cluster.add_group("old", {}, {"m-1": [0]}).error_code = CODE_BY_NAME[
        "GROUP_AUTHORIZATION_FAILED"
    ]
    denied = look_at_group(client, "old")
    assert (denied.members, denied.error) == (None, "GROUP_AUTHORIZATION_FAILED")
    cluster.brokers[2].on("ListGroups", CLOSE)
    look = look_at_group(client, "other")
    assert look.members is None
    assert look.error is not None
    assert look.error.startswith("brokers did not list their groups: 2: ")


def test_who_came_and_who_went(cluster: GroupCluster, client: ClusterClient) -> None:
    """Since the last time it was asked; oneself is no news."""
    cluster.add_group("g", {}, {"a": [0], "b": [1]})
    roster = GroupRoster(client, "g", look_at_group(client, "g"))
    assert roster.changes("me") == ""
    cluster.add_group("g", {}, {"a": [0], "c": [1], "me": [2]})
    assert roster.changes("me") == "C at 10.0.0.1 joined; B at 10.0.0.1 left or failed"
    assert roster.changes("me") == ""
    cluster.add_group("g", {}, {"a": [0], "c": [1], "me again": [2]})
    assert roster.changes("me again") == ""


def test_a_group_that_cannot_be_described_has_no_news(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """What was known before is kept for the next time."""
    described = cluster.add_group("g", {}, {"a": [0]})
    roster = GroupRoster(client, "g", look_at_group(client, "g"))
    described.error_code = CODE_BY_NAME["COORDINATOR_LOAD_IN_PROGRESS"]
    assert roster.changes("me") == ""
    cluster.add_group("g", {}, {"b": [0]})
    assert roster.changes("me") == "B at 10.0.0.1 joined; A at 10.0.0.1 left or failed"
