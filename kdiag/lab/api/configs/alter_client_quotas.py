"""AlterClientQuotas: refused, for a lab has no quotas.

Behaviour: INVALID_REQUEST for each entity, with the reason. To keep a quota that nobody is held to
would tell the client that it is throttled, which it is not; a fault that throttles is
`kdiag lab --fault 'Produce throttle=1s'`.

Version notes: 1 is flexible.

Source: KIP-546; Kafka's `ClientQuotaControlManager`.

Leaves out: quotas.
"""

from typing import Final

from kdiag.lab.api.call import ApiCall
from kdiag.wire.api.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    ResponseEntryData,
)
from kdiag.wire.error_code import CODE_BY_NAME

NO_QUOTAS: Final = "a lab has no quotas: it throttles clients by faults only"


def handle(request: AlterClientQuotasRequest, _: ApiCall) -> AlterClientQuotasResponse:
    """Refuse every change."""
    return AlterClientQuotasResponse(
        entries=[
            ResponseEntryData(
                error_code=CODE_BY_NAME["INVALID_REQUEST"],
                error_message=NO_QUOTAS,
                entity=each.entity,
            )
            for each in request.entries
        ]
    )
