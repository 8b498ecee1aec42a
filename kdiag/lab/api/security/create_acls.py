"""CreateAcls: a lab has no authorizer, and says so.

Behaviour: SECURITY_DISABLED for each of the ACLs that are to be created, in their order, as brokers
of Kafka answer whose `authorizer.class.name` is empty. Nothing is created.

Version notes: 1 has patterns (KIP-290); 2 is flexible; 3 names users of delegation tokens.

Leaves out: an authorizer. A response that pretended success would have somebody believe that their
topic is protected, which no topic of a lab is: whoever is let in by a listener may do everything.
A request without any ACL gets a response without any result.

Source: KIP-140; Kafka's `AclApis.handleCreateAcls`.
"""

from kdiag.lab.api.call import ApiCall
from kdiag.lab.api.security.describe_acls import NO_AUTHORIZER, SECURITY_DISABLED
from kdiag.wire.api.create_acls import (
    AclCreationResult,
    CreateAclsRequest,
    CreateAclsResponse,
)


def handle(request: CreateAclsRequest, _: ApiCall) -> CreateAclsResponse:
    """Refuse each of the ACLs.

    Clients match results with what they asked for by their position, so there must be as many, also
    where the same ACL is asked for twice.
    """
    results = [
        AclCreationResult(error_code=SECURITY_DISABLED, error_message=NO_AUTHORIZER)
        for _ in request.creations
    ]
    return CreateAclsResponse(results=results)
