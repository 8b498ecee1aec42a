from kdiag.lab.api.configs.alter_client_quotas import NO_QUOTAS
from kdiag.wire.api.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from kdiag.wire.error_code import error_name
from lab_ends.lab_client import LabClient


def test_a_quota_is_refused(client: LabClient) -> None:
    """For nobody would be held to it."""
    entity = EntityData(entity_type="user", entity_name="lab")
    entry = EntryData(entity=[entity], ops=[OpData(key="producer_byte_rate", value=1.0)])
    request = AlterClientQuotasRequest(entries=[entry])
    (answer,) = client.ask(request, AlterClientQuotasResponse, 1).entries
    assert error_name(answer.error_code) == "INVALID_REQUEST"
    assert answer.error_message == NO_QUOTAS
    assert answer.entity == [entity]
