"""Adds access control entries.

API key 30, versions 0-3, flexible from 2. Today's Kafka speaks 1-3 only.

Source: KIP-140, KIP-290 (v1 patterns).
"""

from typing import Annotated

from kdiag.wire.schema import Int8, Int16, Int32, String, Struct, message, since


class AclCreation(Struct):
    """One element of `creations` in CreateAclsRequest."""

    resource_type: Int8 = 0
    resource_name: String = ""
    resource_pattern_type: Annotated[Int8, since("1+")] = 3
    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@message(api_key=30, versions="0-3", flexible="2+")
class CreateAclsRequest(Struct):
    """The request of CreateAcls."""

    creations: list[AclCreation] = []


class AclCreationResult(Struct):
    """One element of `results` in CreateAclsResponse."""

    error_code: Int16 = 0
    error_message: String | None = ""


@message(api_key=30, versions="0-3", flexible="2+")
class CreateAclsResponse(Struct):
    """The response of CreateAcls."""

    throttle_time_ms: Int32 = 0
    results: list[AclCreationResult] = []
