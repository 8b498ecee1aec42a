"""Replaces the whole configuration of resources; what is not sent becomes its default.

API key 33, versions 0-2, flexible from 2.

Source: KIP-133.
"""

from kdiag.wire.schema import Boolean, Int8, Int16, Int32, String, Struct, message


class AlterableConfig(Struct):
    """One element of `configs` in AlterConfigsResource."""

    name: String = ""
    value: String | None = ""


class AlterConfigsResource(Struct):
    """One element of `resources` in AlterConfigsRequest."""

    resource_type: Int8 = 0
    resource_name: String = ""
    configs: list[AlterableConfig] = []


@message(api_key=33, versions="0-2", flexible="2+")
class AlterConfigsRequest(Struct):
    """The request of AlterConfigs."""

    resources: list[AlterConfigsResource] = []
    validate_only: Boolean = False


class AlterConfigsResourceResponse(Struct):
    """One element of `responses` in AlterConfigsResponse."""

    error_code: Int16 = 0
    error_message: String | None = ""
    resource_type: Int8 = 0
    resource_name: String = ""


@message(api_key=33, versions="0-2", flexible="2+")
class AlterConfigsResponse(Struct):
    """The response of AlterConfigs."""

    throttle_time_ms: Int32 = 0
    responses: list[AlterConfigsResourceResponse] = []
