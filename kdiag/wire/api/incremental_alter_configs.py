"""Sets, deletes, appends to or subtracts from single configuration entries of resources.

API key 44, versions 0-1, flexible from 1.

Source: KIP-339.
"""

from kdiag.wire.schema import Boolean, Int8, Int16, Int32, String, Struct, message


class AlterableConfig(Struct):
    """One element of `configs` in AlterConfigsResource."""

    name: String = ""
    config_operation: Int8 = 0
    value: String | None = ""


class AlterConfigsResource(Struct):
    """One element of `resources` in IncrementalAlterConfigsRequest."""

    resource_type: Int8 = 0
    resource_name: String = ""
    configs: list[AlterableConfig] = []


@message(api_key=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsRequest(Struct):
    """The request of IncrementalAlterConfigs."""

    resources: list[AlterConfigsResource] = []
    validate_only: Boolean = False


class AlterConfigsResourceResponse(Struct):
    """One element of `responses` in IncrementalAlterConfigsResponse."""

    error_code: Int16 = 0
    error_message: String | None = ""
    resource_type: Int8 = 0
    resource_name: String = ""


@message(api_key=44, versions="0-1", flexible="1+")
class IncrementalAlterConfigsResponse(Struct):
    """The response of IncrementalAlterConfigs."""

    throttle_time_ms: Int32 = 0
    responses: list[AlterConfigsResourceResponse] = []
