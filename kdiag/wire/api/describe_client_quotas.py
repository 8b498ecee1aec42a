"""Reads the client quotas that match a filter of users, client ids and addresses.

API key 48, versions 0-1, flexible from 1.

Source: KIP-546.
"""

from kdiag.wire.schema import Boolean, Float64, Int8, Int16, Int32, String, Struct, message


class ComponentData(Struct):
    """One element of `components` in DescribeClientQuotasRequest."""

    entity_type: String = ""
    match_type: Int8 = 0
    match: String | None = ""


@message(api_key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasRequest(Struct):
    """The request of DescribeClientQuotas."""

    components: list[ComponentData] = []
    strict: Boolean = False


class EntityData(Struct):
    """One element of `entity` in EntryData."""

    entity_type: String = ""
    entity_name: String | None = ""


class ValueData(Struct):
    """One element of `values` in EntryData."""

    key: String = ""
    value: Float64 = 0.0


class EntryData(Struct):
    """One element of `entries` in DescribeClientQuotasResponse."""

    entity: list[EntityData] = []
    values: list[ValueData] = []


@message(api_key=48, versions="0-1", flexible="1+")
class DescribeClientQuotasResponse(Struct):
    """The response of DescribeClientQuotas."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
    entries: list[EntryData] | None = []
