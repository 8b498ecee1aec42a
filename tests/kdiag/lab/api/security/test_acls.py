"""A lab has no authorizer, and says so."""

import confluent_kafka
import pytest
from confluent_kafka import admin as foreign_admin

from kdiag.lab.broker.lab_cluster import LabCluster
from kdiag.wire.api.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from kdiag.wire.api.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from kdiag.wire.api.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient

DEADLINE_S = 30
DISABLED = "SECURITY_DISABLED"


@pytest.mark.parametrize("version", range(1, 4))
def test_each_is_refused(client: LabClient, version: int) -> None:
    """In its place."""
    request = CreateAclsRequest([AclCreation(resource_name=name) for name in ("a", "b")])
    created = client.ask(request, CreateAclsResponse, version)
    assert [error_name(each.error_code) for each in created.results] == [DISABLED] * 2


def test_librdkafka_is_told_that_there_is_no_authorizer(lab: LabCluster) -> None:
    """In the words of its own error."""
    foreign = foreign_admin
    wanted = foreign.AclBinding(  # type: ignore[attr-defined]
        foreign.ResourceType.TOPIC,  # type: ignore[attr-defined]
        "orders",
        foreign.ResourcePatternType.LITERAL,  # type: ignore[attr-defined]
        "User:alice",
        "*",
        foreign.AclOperation.READ,  # type: ignore[attr-defined]
        foreign.AclPermissionType.ALLOW,  # type: ignore[attr-defined]
    )
    admin = foreign.AdminClient({"bootstrap.servers": lab.bootstrap})
    (future,) = admin.create_acls([wanted]).values()
    with pytest.raises(confluent_kafka.KafkaException, match=DISABLED):
        future.result(DEADLINE_S)


@pytest.mark.parametrize("version", range(1, 4))
def test_each_filter_is_refused(client: LabClient, version: int) -> None:
    """In its place, and none has matched anything."""
    request = DeleteAclsRequest([DeleteAclsFilter()] * 2)
    deleted = client.ask(request, DeleteAclsResponse, version)
    found = [(error_name(each.error_code), each.matching_acls) for each in deleted.filter_results]
    assert found == [(DISABLED, [])] * 2


@pytest.mark.parametrize("version", range(1, 4))
def test_acls_are_not_there(client: LabClient, version: int) -> None:
    """Which is an error rather than an empty list."""
    described = client.ask(DescribeAclsRequest(), DescribeAclsResponse, version)
    assert error_name(described.error_code) == DISABLED
    assert described.resources == []
    assert "no authorizer" in (described.error_message or "")
