"""Deletes the access control entries that match filters.

API key 31, versions 0-3, flexible from 2. Today's Kafka speaks 1-3 only.

Source: KIP-140, KIP-290 (v1 patterns).
"""

from typing import Annotated

from kdiag.wire.schema import Int8, Int16, Int32, String, Struct, message, since


class DeleteAclsFilter(Struct):
    """One element of `filters` in DeleteAclsRequest."""

    resource_type_filter: Int8 = 0
    resource_name_filter: String | None = ""
    pattern_type_filter: Annotated[Int8, since("1+")] = 3
    principal_filter: String | None = ""
    host_filter: String | None = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


@message(api_key=31, versions="0-3", flexible="2+")
class DeleteAclsRequest(Struct):
    """The request of DeleteAcls."""

    filters: list[DeleteAclsFilter] = []


class DeleteAclsMatchingAcl(Struct):
    """One element of `matching_acls` in DeleteAclsFilterResult."""

    error_code: Int16 = 0
    error_message: String | None = ""
    resource_type: Int8 = 0
    resource_name: String = ""
    pattern_type: Annotated[Int8, since("1+")] = 3
    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class DeleteAclsFilterResult(Struct):
    """One element of `filter_results` in DeleteAclsResponse."""

    error_code: Int16 = 0
    error_message: String | None = ""
    matching_acls: list[DeleteAclsMatchingAcl] = []


@message(api_key=31, versions="0-3", flexible="2+")
class DeleteAclsResponse(Struct):
    """The response of DeleteAcls."""

    throttle_time_ms: Int32 = 0
    filter_results: list[DeleteAclsFilterResult] = []
