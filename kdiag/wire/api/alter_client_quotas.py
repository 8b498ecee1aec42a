"""Sets or removes client quotas.

API key 49, versions 0-1, flexible from 1.

Source: KIP-546.
"""

from kdiag.wire.schema import Boolean, Float64, Int16, Int32, String, Struct, message


class EntityData(Struct):
    """One element of `entity` in EntryData."""

    entity_type: String = ""
    entity_name: String | None = ""


class OpData(Struct):
    """One element of `ops` in EntryData."""

    key: String = ""
    value: Float64 = 0.0
    remove: Boolean = False


class EntryData(Struct):
    """One element of `entries` in AlterClientQuotasRequest."""

    entity: list[EntityData] = []
    ops: list[OpData] = []


@message(api_key=49, versions="0-1", flexible="1+")
class AlterClientQuotasRequest(Struct):
    """The request of AlterClientQuotas."""

    entries: list[EntryData] = []
    validate_only: Boolean = False


class ResponseEntryData(Struct):
    """One element of `entries` in AlterClientQuotasResponse."""

    error_code: Int16 = 0
    error_message: String | None = ""
    entity: list[EntityData] = []


@message(api_key=49, versions="0-1", flexible="1+")
class AlterClientQuotasResponse(Struct):
    """The response of AlterClientQuotas."""

    throttle_time_ms: Int32 = 0
    entries: list[ResponseEntryData] = []
