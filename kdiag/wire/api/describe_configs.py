"""Reads the configuration of topics, brokers, groups and other resources, with its sources.

API key 32, versions 0-4, flexible from 4. Today's Kafka speaks 1-4 only.

Source: KIP-133, KIP-226 (v1), KIP-569 (v3 types and documentation).
"""

from typing import Annotated

from kdiag.wire.schema import Boolean, Int8, Int16, Int32, String, Struct, ignorable, message, since


class DescribeConfigsResource(Struct):
    """One element of `resources` in DescribeConfigsRequest."""

    resource_type: Int8 = 0
    resource_name: String = ""
    configuration_keys: list[String] | None = []


@message(api_key=32, versions="0-4", flexible="4+")
class DescribeConfigsRequest(Struct):
    """The request of DescribeConfigs."""

    resources: list[DescribeConfigsResource] = []
    include_synonyms: Annotated[Boolean, since("1+")] = False
    include_documentation: Annotated[Boolean, since("3+")] = False


class DescribeConfigsSynonym(Struct):
    """One element of `synonyms` in DescribeConfigsResourceResult."""

    name: String = ""
    value: String | None = ""
    source: Int8 = 0


class DescribeConfigsResourceResult(Struct):
    """One element of `configs` in DescribeConfigsResult."""

    name: String = ""
    value: String | None = ""
    read_only: Boolean = False
    is_default: Annotated[Boolean, since("0")] = False
    config_source: Annotated[Int8, since("1+"), ignorable] = -1
    is_sensitive: Boolean = False
    synonyms: Annotated[list[DescribeConfigsSynonym], since("1+"), ignorable] = []
    config_type: Annotated[Int8, since("3+"), ignorable] = 0
    documentation: Annotated[String | None, since("3+"), ignorable] = ""


class DescribeConfigsResult(Struct):
    """One element of `results` in DescribeConfigsResponse."""

    error_code: Int16 = 0
    error_message: String | None = ""
    resource_type: Int8 = 0
    resource_name: String = ""
    configs: list[DescribeConfigsResourceResult] = []


@message(api_key=32, versions="0-4", flexible="4+")
class DescribeConfigsResponse(Struct):
    """The response of DescribeConfigs."""

    throttle_time_ms: Int32 = 0
    results: list[DescribeConfigsResult] = []
