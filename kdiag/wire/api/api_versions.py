"""Tells which APIs, in which versions, and which features a broker speaks.

API key 18, versions 0-5, flexible from 3.

Source: KIP-35, KIP-511 (v3 client software), KIP-584 (features), KIP-1242 (v5).
"""

from typing import Annotated

from kdiag.wire.schema import (
    Boolean,
    Int16,
    Int32,
    Int64,
    String,
    Struct,
    ignorable,
    message,
    since,
    tag,
)


@message(api_key=18, versions="0-5", flexible="3+")
class ApiVersionsRequest(Struct):
    """The request of ApiVersions."""

    client_software_name: Annotated[String, since("3+"), ignorable] = ""
    client_software_version: Annotated[String, since("3+"), ignorable] = ""
    cluster_id: Annotated[String | None, since("5+"), ignorable] = None
    node_id: Annotated[Int32, since("5+"), ignorable] = -1


class ApiVersion(Struct):
    """One element of `api_keys` in ApiVersionsResponse."""

    api_key: Int16 = 0
    min_version: Int16 = 0
    max_version: Int16 = 0


class SupportedFeatureKey(Struct):
    """One element of `supported_features` in ApiVersionsResponse."""

    name: String = ""
    min_version: Int16 = 0
    max_version: Int16 = 0


class FinalizedFeatureKey(Struct):
    """One element of `finalized_features` in ApiVersionsResponse."""

    name: String = ""
    max_version_level: Int16 = 0
    min_version_level: Int16 = 0


@message(api_key=18, versions="0-5", flexible="3+")
class ApiVersionsResponse(Struct):
    """The response of ApiVersions."""

    error_code: Int16 = 0
    api_keys: list[ApiVersion] = []
    throttle_time_ms: Annotated[Int32, since("1+"), ignorable] = 0
    supported_features: Annotated[list[SupportedFeatureKey], since("3+"), tag(0), ignorable] = []
    finalized_features_epoch: Annotated[Int64, since("3+"), tag(1), ignorable] = -1
    finalized_features: Annotated[list[FinalizedFeatureKey], since("3+"), tag(2), ignorable] = []
    zk_migration_ready: Annotated[Boolean, since("3+"), tag(3), ignorable] = False
