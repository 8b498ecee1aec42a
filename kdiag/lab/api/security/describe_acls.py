"""DescribeAcls: a lab has no authorizer, and says so.

Behaviour: SECURITY_DISABLED, as brokers of Kafka answer whose `authorizer.class.name` is empty. A
lab's listeners ask clients who they are, but whoever is let in may do everything; CreateAcls and
DeleteAcls say the same of each of their parts.

Version notes: 1 has patterns (KIP-290); 2 is flexible; 3 names users of delegation tokens.

Leaves out: an authorizer.
"""

from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.wire.api.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from kdiag.wire.error_code import CODE_BY_NAME

SECURITY_DISABLED: Final = CODE_BY_NAME["SECURITY_DISABLED"]
NO_AUTHORIZER: Final = "a lab has no authorizer: every client may do everything"


def handle(_: DescribeAclsRequest, _call: ApiCall) -> DescribeAclsResponse:
    """Refuse: there are none, and there can be none.

    The request is valid or not; nobody looks at it, as in Kafka. An empty list would say that a
    cluster with an authorizer has no ACLs yet, in which nobody but super users may do anything: the
    opposite of what is so.
    """
    return DescribeAclsResponse(
        error_code=SECURITY_DISABLED,
        error_message=NO_AUTHORIZER,
        resources=[],
    )
