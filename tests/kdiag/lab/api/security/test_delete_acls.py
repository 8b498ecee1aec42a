import pytest

from kdiag.wire.api.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient


@pytest.mark.parametrize("version", range(1, 4))
def test_each_filter_is_refused(client: LabClient, version: int) -> None:
    """In its place, and none has matched anything."""
    request = DeleteAclsRequest([DeleteAclsFilter()] * 2)
    deleted = client.ask(request, DeleteAclsResponse, version)
    found = [(error_name(each.error_code), each.matching_acls) for each in deleted.filter_results]
    assert found == [("SECURITY_DISABLED", [])] * 2
