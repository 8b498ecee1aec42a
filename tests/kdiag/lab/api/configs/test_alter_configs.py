import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire.api.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResource,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient


def alter(
    client: LabClient,
    kind: int,
    name: str,
    *,
    version: int = 2,
    checks: bool = False,
    **configs: str,
) -> AlterConfigsResourceResponse:
    """Return the response for a resource."""
    resource = AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[
            AlterableConfig(name=key.replace("_", "."), value=value)
            for key, value in configs.items()
        ],
    )
    request = AlterConfigsRequest(resources=[resource], validate_only=checks)
    return client.ask(request, AlterConfigsResponse, version).responses[0]


@pytest.mark.parametrize("version", range(3))
def test_all_settings_are_replaced(lab: LabCluster, client: LabClient, version: int) -> None:
    """What is not named has its default again."""
    alter(client, 2, "orders", version=version, segment_ms="1000")
    alter(client, 2, "orders", version=version, flush_ms="5")
    assert lab.controller.image.topics["orders"].configs == {"flush.ms": "5"}
    alter(client, 2, "orders", version=version, checks=True, flush_ms="6")
    assert lab.controller.image.topics["orders"].configs == {"flush.ms": "5"}


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [
        (2, "nothing", "UNKNOWN_TOPIC_OR_PARTITION"),
        (2, "orders", "INVALID_CONFIG"),
        (4, "1", "INVALID_REQUEST"),
    ],
)
def test_what_cannot_be_changed_is_refused(
    client: LabClient, kind: int, name: str, error: str
) -> None:
    """With a message."""
    result = alter(client, kind, name, no_such_setting="1")
    assert error_name(result.error_code) == error
    assert result.error_message
