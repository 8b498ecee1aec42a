import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.diagnosis.rebalance.events import GroupRecord
from kdiag.probe.groups.looks import GroupLooks
from kdiag.wire.api.describe_groups import DescribedGroup
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.group_cluster import GroupCluster

S = 1_000_000_000


@pytest.fixture
def groups(cluster: GroupCluster) -> GroupCluster:
    """Return the cluster with a classic group and a consumer group."""
    cluster.add("orders", 0).append(b"a")
    cluster.add_group("billing", {}, {"m-1": [0]})
    cluster.add_new_group("mail", {}, {"n-1": ([0], [0])})
    return cluster


def look(looks: GroupLooks, client: ClusterClient) -> list[GroupRecord]:
    """Return what the next look tells."""
    count = looks.look_count
    while looks.look_count == count:
        looks.poll(client.clock.monotonic_ns() + S)
    return looks.take_records()


def test_all_groups_are_looked_at_and_changes_are_told(
    groups: GroupCluster, client: ClusterClient
) -> None:
    """A look at a quiet cluster tells nothing, and the next one comes later."""
    looks = GroupLooks(client, ())
    first = look(looks, client)
    assert {each.group for each in first} == {"billing", "mail"}
    assert look(looks, client) == []
    assert looks.wait_ns > 100_000_000
    groups.add_group("billing", {}, {"m-1": [0], "m-2": []})
    (record,) = look(looks, client)

    assert (record.group, record.name) == ("billing", "GroupMetadata")
    assert [each.member_id for each in record.value.members] == ["m-1", "m-2"]
    assert looks.wait_ns == 100_000_000


@pytest.mark.usefixtures("groups")
def test_groups_that_were_not_named_are_left_alone(client: ClusterClient) -> None:
    """Nobody is asked about them."""
    assert {each.group for each in look(GroupLooks(client, {"mail"}), client)} == {"mail"}


def test_a_group_that_may_not_be_seen_is_told_once(
    groups: GroupCluster, client: ClusterClient
) -> None:
    """With the right that it takes; it is not taken for one that is gone."""
    looks = GroupLooks(client, {"billing"})
    look(looks, client)
    code = CODE_BY_NAME["GROUP_AUTHORIZATION_FAILED"]
    groups.classic["billing"] = DescribedGroup(error_code=code, group_id="billing")
    assert look(looks, client) == look(looks, client) == []

    assert looks.warnings == [
        "group billing: GROUP_AUTHORIZATION_FAILED: it takes DESCRIBE on the group"
    ]


def test_a_group_that_is_gone_is_told(groups: GroupCluster, client: ClusterClient) -> None:
    """By its coordinator."""
    looks = GroupLooks(client, {"billing"})
    look(looks, client)
    groups.classic["billing"] = DescribedGroup(group_id="billing", group_state="Dead")
    (record,) = look(looks, client)

    assert (record.name, record.value) == ("GroupMetadata", None)
