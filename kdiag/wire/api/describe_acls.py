"""Lists the access control entries that match a filter.

API key 29, versions 0-3, flexible from 2. Today's Kafka speaks 1-3 only.

Source: KIP-140, KIP-290 (v1 patterns).
"""

from typing import Annotated

from kdiag.wire.schema import Int8, Int16, Int32, String, Struct, message, since


@message(api_key=29, versions="0-3", flexible="2+")
class DescribeAclsRequest(Struct):
    """The request of DescribeAcls."""

    resource_type_filter: Int8 = 0
    resource_name_filter: String | None = ""
    pattern_type_filter: Annotated[Int8, since("1+")] = 3
    principal_filter: String | None = ""
    host_filter: String | None = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class AclDescription(Struct):
    """One element of `acls` in DescribeAclsResource."""

    principal: String = ""
    host: String = ""
    operation: Int8 = 0
    permission_type: Int8 = 0


class DescribeAclsResource(Struct):
    """One element of `resources` in DescribeAclsResponse."""

    resource_type: Int8 = 0
    resource_name: String = ""
    pattern_type: Annotated[Int8, since("1+")] = 3
    acls: list[AclDescription] = []


@message(api_key=29, versions="0-3", flexible="2+")
class DescribeAclsResponse(Struct):
    """The response of DescribeAcls."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = ""
    resources: list[DescribeAclsResource] = []
