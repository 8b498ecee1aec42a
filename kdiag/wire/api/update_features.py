"""Raises or lowers the finalized feature levels of the cluster, such as metadata.version.

API key 57, versions 0-2, flexible from 0.

Source: KIP-584.
"""

from typing import Annotated

from kdiag.wire.schema import Boolean, Int8, Int16, Int32, String, Struct, ignorable, message, since


class FeatureUpdateKey(Struct):
    """One element of `feature_updates` in UpdateFeaturesRequest."""

    feature: String = ""
    max_version_level: Int16 = 0
    allow_downgrade: Annotated[Boolean, since("0")] = False
    upgrade_type: Annotated[Int8, since("1+")] = 1


@message(api_key=57, versions="0-2", flexible="0+")
class UpdateFeaturesRequest(Struct):
    """The request of UpdateFeatures."""

    timeout_ms: Int32 = 60_000
    feature_updates: list[FeatureUpdateKey] = []
    validate_only: Annotated[Boolean, since("1+")] = False


class UpdatableFeatureResult(Struct):
    """One element of `results` in UpdateFeaturesResponse."""

    feature: String = ""
    error_code: Int16 = 0
    error_message: String | None = ""


@message(api_key=57, versions="0-2", flexible="0+")
class UpdateFeaturesResponse(Struct):
    """The response of UpdateFeatures."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
    results: Annotated[list[UpdatableFeatureResult], since("0-1"), ignorable] = []
