import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.lab.controller.quorum_controller import QuorumController
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.wire.api.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from tiers.cases import for_each


def found(client: LabClient, version: int, *keys: str, key_type: int = 0) -> list[Coordinator]:
    """Return what is told of some keys, of one before version 4."""
    request = FindCoordinatorRequest(key_type=key_type)
    if version >= 4:
        request.coordinator_keys = list(keys)
        return client.ask(request, FindCoordinatorResponse, version).coordinators
    (request.key,) = keys
    told = client.ask(request, FindCoordinatorResponse, version)
    return [
        Coordinator(
            key=keys[0],
            node_id=told.node_id,
            host=told.host,
            port=told.port,
            error_code=told.error_code,
        )
    ]


@pytest.mark.thorough
@for_each("version", range(7))
def test_the_coordinator_of_a_group_is_told(
    lab: LabCluster, client: LabClient, version: int
) -> None:
    """The first who asks makes the topic of offsets."""
    (told,) = found(client, version, "billing")
    place = (told.node_id, told.host, told.port)
    assert (told.error_code, place) == (0, (1, "127.0.0.1", lab.nodes[0].port))
    assert "__consumer_offsets" in lab.controller.image.topics


@pytest.mark.thorough
def test_many_groups_are_asked_about_at_once(client: LabClient) -> None:
    """Each is told by its key."""
    assert [each.key for each in found(client, 6, "billing", "orders")] == ["billing", "orders"]


@pytest.mark.parametrize("version", [3, 6])
def test_a_kind_that_there_is_not_is_refused(client: LabClient, version: int) -> None:
    """So are share groups, which this broker has not."""
    for key_type in (2, 9):
        (told,) = found(client, version, "key", key_type=key_type)
        assert error_name(told.error_code) == "INVALID_REQUEST"
        assert (told.node_id, told.host, told.port) == (-1, "", -1)


def test_a_coordinator_that_is_not_there_yet_is_to_be_asked_for_again(
    client: LabClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """If the topic cannot be created."""

    def refuse(*_: object, **__: object) -> None:
        raise RequestRefusedError("INVALID_REPLICATION_FACTOR", "no brokers")

    monkeypatch.setattr(QuorumController, "create_topic", refuse)
    (told,) = found(client, 4, "billing")
    assert error_name(told.error_code) == "COORDINATOR_NOT_AVAILABLE"
