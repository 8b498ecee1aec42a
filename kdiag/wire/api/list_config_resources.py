"""Lists the resources that have a configuration of their own, such as client metrics.

API key 74, versions 0-1, flexible from 0.

Source: KIP-714 (v0 as ListClientMetricsResources), KIP-1142 (v1 every type of resource).
"""

from typing import Annotated

from kdiag.wire.schema import Int8, Int16, Int32, String, Struct, ignorable, message, since


@message(api_key=74, versions="0-1", flexible="0+")
class ListConfigResourcesRequest(Struct):
    """The request of ListConfigResources."""

    resource_types: Annotated[list[Int8], since("1+")] = []


class ConfigResource(Struct):
    """One element of `config_resources` in ListConfigResourcesResponse."""

    resource_name: String = ""
    resource_type: Annotated[Int8, since("1+"), ignorable] = 16


@message(api_key=74, versions="0-1", flexible="0+")
class ListConfigResourcesResponse(Struct):
    """The response of ListConfigResources."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    config_resources: list[ConfigResource] = []
