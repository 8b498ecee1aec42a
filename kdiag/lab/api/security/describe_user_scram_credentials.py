"""DescribeUserScramCredentials: which users have credentials for SCRAM.

Behaviour: mechanisms and iterations of all users, or of those that are asked for; never a key. A
user without any is RESOURCE_NOT_FOUND, one that is asked for twice DUPLICATE_RESOURCE.

Version notes: there is one version (KIP-554).

Leaves out: nothing.
"""

from collections import Counter

from kdiag.lab.api.call import ApiCall
from kdiag.lab.security.users import SCRAM_MECHANISMS
from kdiag.wire.api.describe_user_scram_credentials import (
    CredentialInfo,
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    DescribeUserScramCredentialsResult,
)
from kdiag.wire.error_code import CODE_BY_NAME


def handle(
    request: DescribeUserScramCredentialsRequest, call: ApiCall
) -> DescribeUserScramCredentialsResponse:
    """Tell who has which."""
    users = call.node.users.scram_users()
    asked = Counter(each.name for each in request.users or ())
    results = [_result(name, users.get(name, {}), asked[name]) for name in asked or users]
    return DescribeUserScramCredentialsResponse(error_message=None, results=results)


def _result(
    name: str, mechanisms: dict[str, int], asked_count: int
) -> DescribeUserScramCredentialsResult:
    if asked_count > 1:
        return _refused(name, "DUPLICATE_RESOURCE", "the user is asked for more than once")
    if not mechanisms:
        return _refused(name, "RESOURCE_NOT_FOUND", "there are no SCRAM credentials of this user")
    infos = [
        CredentialInfo(mechanism=SCRAM_MECHANISMS[each], iterations=iterations)
        for each, iterations in mechanisms.items()
    ]
    return DescribeUserScramCredentialsResult(user=name, error_message=None, credential_infos=infos)


def _refused(name: str, error: str, why: str) -> DescribeUserScramCredentialsResult:
    return DescribeUserScramCredentialsResult(
        user=name, error_code=CODE_BY_NAME[error], error_message=why
    )
