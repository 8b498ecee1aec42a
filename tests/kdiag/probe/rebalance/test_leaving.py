"""The end of a group, at a scripted coordinator."""

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.group.member import TopicSubscription
from kdiag.clock import NS_PER_S
from kdiag.errors import AuthorizationError, ProbeError
from kdiag.probe.rebalance.leaving import joined_group
from kdiag.probe.rebalance.probe_member import MemberMeans, ProbeMember
from kdiag.wire.api.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from kdiag.wire.api.find_coordinator import Coordinator, FindCoordinatorResponse
from kdiag.wire.api.leave_group import LeaveGroupResponse
from kdiag.wire.error_code import CODE_BY_NAME
from scripted_kafka.joinable_cluster import JOINED, JoinableCluster
from scripted_kafka.scripted_broker import Received


def deleted(error: str) -> DeleteGroupsResponse:
    """Return the answer to a deletion."""
    result = DeletableGroupResult(JOINED, CODE_BY_NAME[error])
    return DeleteGroupsResponse(results=[result])


@pytest.mark.parametrize("ending", [None, KeyboardInterrupt, ValueError])
def test_members_leave_and_the_group_goes_however_a_drill_ends(
    cluster: JoinableCluster,
    client: ClusterClient,
    means: MemberMeans,
    ending: type[BaseException] | None,
) -> None:
    """Also after an interruption, over new connections."""
    cluster.on("DeleteGroups", deleted("NONE"))
    members: list[ProbeMember] = []

    def drill() -> None:
        with joined_group(client, JOINED, members, is_own=True):
            members.append(ProbeMember("probe-1", means, TopicSubscription.of("orders")))
            cluster.give([0])
            members[0].start()
            with means.changed:
                assert means.changed.wait_for(lambda: members[0].is_stable, 30)
            if ending is not None:
                raise ending

    if ending is None:
        drill()
    else:
        with pytest.raises(ending):
            drill()
    assert members[0].is_over
    assert cluster.left_count == 1
    assert len(cluster.brokers[1].asked("DeleteGroups")) == 1


def test_a_crashed_member_is_made_to_leave(cluster: JoinableCluster, client: ClusterClient) -> None:
    """A static one by its instance id; then the group can be deleted."""
    described = cluster.add_group(JOINED, {}, {"m-7": [0], "m-8": [1]})
    described.members[1].group_instance_id = "till-8"
    left: list[tuple[str, str | None]] = []

    def leave(received: Received) -> None:
        [member] = received.message().members  # type: ignore[attr-defined]
        left.append((member.member_id, member.group_instance_id))
        described.members.pop(0)
        received.reply(LeaveGroupResponse())

    def delete(received: Received) -> None:
        received.reply(deleted("NON_EMPTY_GROUP" if described.members else "NONE"))

    cluster.on("LeaveGroup", leave)
    cluster.on("DeleteGroups", delete)
    with joined_group(client, JOINED, [], is_own=True):
        pass
    assert left == [("m-7", None), ("", "till-8")]


def test_of_a_real_group_only_own_members_leave(
    cluster: JoinableCluster, client: ClusterClient
) -> None:
    """The group stays, and so do its members."""
    cluster.add_group(JOINED, {}, {"m-7": [0]})
    with joined_group(client, JOINED, [], is_own=False):
        pass
    assert cluster.brokers[1].asked("LeaveGroup") == []
    assert cluster.brokers[1].asked("DeleteGroups") == []


def test_a_group_that_cannot_be_deleted_is_told(
    cluster: JoinableCluster, client: ClusterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """By its name, for whoever has to do it then."""
    monkeypatch.setattr("kdiag.probe.rebalance.leaving.LEAVING_NS", NS_PER_S // 10)
    cluster.on("DeleteGroups", deleted("GROUP_AUTHORIZATION_FAILED"))
    with (
        pytest.raises(ProbeError, match=r"group billing: remove it yourself.*AUTHORIZATION"),
        joined_group(client, JOINED, [], is_own=True),
    ):
        pass


@pytest.mark.parametrize(
    ("error", "kind"),
    [("GROUP_AUTHORIZATION_FAILED", AuthorizationError), ("INVALID_GROUP_ID", ProbeError)],
)
def test_a_group_that_cannot_be_used_is_said_before_anybody_joins(
    cluster: JoinableCluster, client: ClusterClient, error: str, kind: type[Exception]
) -> None:
    """With the broker's reason."""
    refused = Coordinator(JOINED, -1, "", -1, CODE_BY_NAME[error])
    cluster.on("FindCoordinator", FindCoordinatorResponse(coordinators=[refused]))
    with pytest.raises(kind, match=error if kind is ProbeError else "not authorized"):  # noqa: SIM117
        with joined_group(client, JOINED, [], is_own=True):
            pytest.fail("nobody may join")
