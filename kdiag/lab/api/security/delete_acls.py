"""DeleteAcls: a lab has no authorizer, and says so.

Behaviour: SECURITY_DISABLED for each of the filters, in their order, as brokers of Kafka answer
whose `authorizer.class.name` is empty. Nothing is deleted, and no filter has matched anything.

Version notes: 1 has patterns (KIP-290); 2 is flexible; 3 names users of delegation tokens.

Leaves out: an authorizer. A response that pretended success would say of each filter that it has
matched nothing, which clients print as "deleted": that nothing can be deleted is something else.
A request without any filter gets a response without any result.

Source: KIP-140; Kafka's `AclApis.handleDeleteAcls`.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.security.describe_acls import NO_AUTHORIZER, SECURITY_DISABLED
from kdiag.wire.api.delete_acls import (
    DeleteAclsFilterResult,
    DeleteAclsRequest,
    DeleteAclsResponse,
)


def handle(request: DeleteAclsRequest, _: ApiCall) -> DeleteAclsResponse:
    """Refuse each of the filters.

    Clients match results with what they asked for by their position, so there must be as many, also
    where the same filter is there twice.
    """
    results = [
        DeleteAclsFilterResult(error_code=SECURITY_DISABLED, error_message=NO_AUTHORIZER)
        for _ in request.filters
    ]
    return DeleteAclsResponse(filter_results=results)
