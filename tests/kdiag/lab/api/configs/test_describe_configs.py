import pytest

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire.api.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
    DescribeConfigsResult,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient
from tiers.cases import for_each

TOPIC = 2
BROKER = 4


def describe(
    client: LabClient, kind: int, name: str, *keys: str, version: int = 4
) -> DescribeConfigsResult:
    """Return what is told of a resource."""
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=list(keys) or None
    )
    request = DescribeConfigsRequest(resources=[resource])
    request.include_synonyms = True
    if version >= 3:
        request.include_documentation = True
    return client.ask(request, DescribeConfigsResponse, version).results[0]


@for_each("version", range(1, 5))
def test_settings_of_a_topic_are_told_with_their_sources(
    lab: LabCluster, client: LabClient, version: int
) -> None:
    """All of them, or those that are asked for."""
    lab.controller.set_topic_configs("orders", {"segment.ms": "1000"})
    (told,) = describe(client, TOPIC, "orders", "segment.ms", version=version).configs
    assert (told.name, told.value) == ("segment.ms", "1000")
    assert told.config_source == 1
    assert [(each.value, each.source) for each in told.synonyms] == [("1000", 1), ("604800000", 5)]
    if version >= 3:
        assert told.config_type == 5
    assert len(describe(client, TOPIC, "orders", version=version).configs) > 20


def test_a_setting_that_changes_nothing_says_so(client: LabClient) -> None:
    """In its documentation."""
    (told,) = describe(client, TOPIC, "orders", "flush.ms").configs
    assert "does not act on it" in (told.documentation or "")


def test_a_broker_tells_its_own_settings(client: LabClient) -> None:
    """Those for all brokers are none; another broker has to be asked itself."""
    settings = {each.name: each for each in describe(client, BROKER, "1").configs}
    assert settings["node.id"].value == "1"
    assert settings["node.id"].read_only
    assert describe(client, BROKER, "").configs == []
    assert error_name(describe(client, BROKER, "2").error_code) == "INVALID_REQUEST"


@pytest.mark.parametrize(
    ("kind", "name", "error"),
    [(TOPIC, "nothing", "UNKNOWN_TOPIC_OR_PARTITION"), (8, "1", "INVALID_REQUEST")],
)
def test_what_has_no_settings_is_said(client: LabClient, kind: int, name: str, error: str) -> None:
    """With a message."""
    result = describe(client, kind, name)
    assert error_name(result.error_code) == error
    assert result.error_message
