import pytest

from kdiag.wire.api.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient


@pytest.mark.parametrize("version", range(1, 4))
def test_acls_are_not_there(client: LabClient, version: int) -> None:
    """Which is an error rather than an empty list."""
    described = client.ask(DescribeAclsRequest(), DescribeAclsResponse, version)
    assert error_name(described.error_code) == "SECURITY_DISABLED"
    assert described.resources == []
    assert "no authorizer" in (described.error_message or "")
