"""AlterUserScramCredentials: set and remove what users prove themselves with by SCRAM.

Behaviour: each user is changed as a whole or not at all. Checked are the name, the mechanism, the
iterations (4096 to 16384), that what is removed is there, and that nothing is changed twice. What
is set holds for connections that begin afterwards, as long as the lab runs.

Version notes: there is one version (KIP-554).

Leaves out: nothing.

Source: Kafka's `ScramControlManager`.
"""

from collections import Counter
from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.lab.security.users import (
    LEAST_ITERATIONS,
    MOST_ITERATIONS,
    SCRAM_MECHANISMS,
    UserStore,
    credential_of,
)
from kdiag.wire.api.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    AlterUserScramCredentialsResult,
    ScramCredentialDeletion,
    ScramCredentialUpsertion,
)
from kdiag.wire.error_code import CODE_BY_NAME

_MECHANISMS: Final = {number: name for name, number in SCRAM_MECHANISMS.items()}

_Change = ScramCredentialDeletion | ScramCredentialUpsertion
_Fault = tuple[str, str]


def handle(
    request: AlterUserScramCredentialsRequest, call: ApiCall
) -> AlterUserScramCredentialsResponse:
    """Change them."""
    users = call.node.users
    changes: list[_Change] = [*request.deletions, *request.upsertions]
    counts = Counter((each.name, each.mechanism) for each in changes)
    results = []
    for name in dict.fromkeys(each.name for each in changes):
        own = [each for each in changes if each.name == name]
        faults = [_fault(each, counts[each.name, each.mechanism], users) for each in own]
        fault = next((each for each in faults if each is not None), None)
        if fault is None:
            for each in own:
                _apply(each, users)
        results.append(_result(name, fault))
    return AlterUserScramCredentialsResponse(results=results)


def _fault(change: _Change, count: int, users: UserStore) -> _Fault | None:
    """Return why a change cannot be made."""
    mechanism = _MECHANISMS.get(change.mechanism)
    if not change.name:
        return "UNACCEPTABLE_CREDENTIAL", "a user needs a name"
    if mechanism is None:
        return "UNSUPPORTED_SASL_MECHANISM", f"{change.mechanism} is not the number of a mechanism"
    if count > 1:
        return "DUPLICATE_RESOURCE", "a user's credential is changed twice"
    if isinstance(change, ScramCredentialDeletion):
        if mechanism not in users.scram_users().get(change.name, {}):
            return "RESOURCE_NOT_FOUND", "there is no such credential of this user"
    elif not LEAST_ITERATIONS <= change.iterations <= MOST_ITERATIONS:
        why = f"iterations are from {LEAST_ITERATIONS} to {MOST_ITERATIONS}"
        return "UNACCEPTABLE_CREDENTIAL", why
    return None


def _apply(change: _Change, users: UserStore) -> None:
    mechanism = _MECHANISMS[change.mechanism]
    if isinstance(change, ScramCredentialDeletion):
        users.delete(change.name, mechanism)
        return
    credential = credential_of(
        mechanism, bytes(change.salted_password), bytes(change.salt), change.iterations
    )
    users.upsert(change.name, mechanism, credential)


def _result(name: str, fault: _Fault | None) -> AlterUserScramCredentialsResult:
    if fault is None:
        return AlterUserScramCredentialsResult(user=name, error_message=None)
    error, why = fault
    return AlterUserScramCredentialsResult(
        user=name, error_code=CODE_BY_NAME[error], error_message=why
    )
