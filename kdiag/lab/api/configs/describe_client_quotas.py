"""DescribeClientQuotas: which quotas clients have. In a lab there are none, whatever is asked for.

Behaviour: a filter that Kafka refuses is refused: a type twice or without a name, a match that does
not fit its kind, an address together with a user or a client id (INVALID_REQUEST), a type of entity
that there is not (UNSUPPORTED_VERSION). Any other is answered with no entries.

Version notes: 1 is flexible.

Source: KIP-546; Kafka's `ClientQuotasImage.describe`.

Leaves out: quotas. Nobody is throttled by how much is sent or read.
"""

from enum import IntEnum
from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.wire.api.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)
from kdiag.wire.error_code import CODE_BY_NAME

IP: Final = "ip"
ENTITY_TYPES: Final = frozenset(("user", "client-id", IP))


class MatchType(IntEnum):
    """How the name of an entity is to be."""

    EXACT = 0
    DEFAULT = 1
    SPECIFIED = 2


def handle(request: DescribeClientQuotasRequest, _: ApiCall) -> DescribeClientQuotasResponse:
    """Tell that there are none."""
    try:
        _check(request.components)
    except RequestRefusedError as error:
        return DescribeClientQuotasResponse(
            error_code=CODE_BY_NAME[error.error], error_message=error.why, entries=None
        )
    return DescribeClientQuotasResponse(error_message=None, entries=[])


def _check(components: list[ComponentData]) -> None:
    """Refuse a filter that nothing can match.

    Raises:
        RequestRefusedError: saying which part of it.
    """
    seen: set[str] = set()
    for each in components:
        kind = each.entity_type
        if not kind or kind in seen:
            why = f"{kind} twice" if kind else "a type without a name"
            raise RequestRefusedError("INVALID_REQUEST", f"the filter has {why}")
        if kind not in ENTITY_TYPES:
            raise RequestRefusedError("UNSUPPORTED_VERSION", f"no entity is a {kind}")
        if each.match_type not in {*MatchType}:
            why = f"the match type {each.match_type} is not 0, 1 or 2"
            raise RequestRefusedError("INVALID_REQUEST", why)
        if (each.match is None) is (each.match_type == MatchType.EXACT):
            why = f"a match of type {each.match_type} with the name {each.match!r}"
            raise RequestRefusedError("INVALID_REQUEST", why)
        seen.add(kind)
    if IP in seen and len(seen) > 1:
        why = "an address has no user and no client id"
        raise RequestRefusedError("INVALID_REQUEST", why)
