import pytest

from kdiag.lab.api.configs.incremental_alter_configs import ConfigOperation
from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire.api.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient

SET, DELETE, APPEND, SUBTRACT = ConfigOperation
Change = tuple[str, int, str | None]


def alter(client: LabClient, *changes: Change, kind: int = 2, version: int = 1) -> str:
    """Return the error of a topic."""
    resource = AlterConfigsResource(
        resource_type=kind,
        resource_name="orders",
        configs=[
            AlterableConfig(name=name, config_operation=operation, value=value)
            for name, operation, value in changes
        ],
    )
    request = IncrementalAlterConfigsRequest(resources=[resource])
    response = client.ask(request, IncrementalAlterConfigsResponse, version)
    return error_name(response.responses[0].error_code)


@pytest.mark.parametrize("version", range(2))
def test_settings_are_changed_one_by_one(lab: LabCluster, client: LabClient, version: int) -> None:
    """The others stay."""
    assert (
        alter(client, ("flush.ms", SET, "5"), ("segment.ms", SET, "6"), version=version) == "NONE"
    )
    assert alter(client, ("flush.ms", DELETE, None), version=version) == "NONE"
    assert lab.controller.image.topics["orders"].configs == {"segment.ms": "6"}


def test_lists_are_appended_to_and_subtracted_from(lab: LabCluster, client: LabClient) -> None:
    """From the default on; an element is there once."""
    policies = []
    for operation, value in ((APPEND, "compact,delete"), (SUBTRACT, "delete"), (APPEND, "delete")):
        assert alter(client, ("cleanup.policy", operation, value)) == "NONE"
        policies.append(lab.controller.image.topics["orders"].configs["cleanup.policy"])
    assert policies == ["delete,compact", "compact", "compact,delete"]


@pytest.mark.parametrize(
    ("changes", "error"),
    [
        ([("flush.ms", SET, "5"), ("segment.ms", SET, "many")], "INVALID_CONFIG"),
        ([("flush.ms", SET, "5"), ("flush.ms", SET, "6")], "INVALID_REQUEST"),
        ([("flush.ms", SET, None)], "INVALID_REQUEST"),
        ([("flush.ms", APPEND, "5")], "INVALID_CONFIG"),
        ([("no.such", APPEND, "5")], "INVALID_CONFIG"),
        ([("cleanup.policy", 9, "compact")], "INVALID_REQUEST"),
    ],
)
def test_all_changes_of_a_topic_are_made_or_none(
    lab: LabCluster, client: LabClient, changes: list[Change], error: str
) -> None:
    """One that is wrong refuses the others."""
    assert alter(client, *changes) == error
    assert lab.controller.image.topics["orders"].configs == {}


@pytest.mark.thorough
def test_only_topics_can_be_changed(client: LabClient) -> None:
    """A broker is started with its settings."""
    assert alter(client, ("flush.ms", SET, "5"), kind=4) == "INVALID_REQUEST"
