"""Describes the cluster: its id, controller and brokers or controllers.

API key 60, versions 0-2, flexible from 0.

Source: KIP-700, KIP-919 (v1 controllers), KIP-1073 (v2 fenced brokers).
"""

from typing import Annotated

from kdiag.wire.schema import Boolean, BrokerId, Int8, Int16, Int32, String, Struct, message, since


@message(api_key=60, versions="0-2", flexible="0+")
class DescribeClusterRequest(Struct):
    """The request of DescribeCluster."""

    include_cluster_authorized_operations: Boolean = False
    endpoint_type: Annotated[Int8, since("1+")] = 1
    include_fenced_brokers: Annotated[Boolean, since("2+")] = False


class DescribeClusterBroker(Struct):
    """One element of `brokers` in DescribeClusterResponse."""

    broker_id: BrokerId = 0
    host: String = ""
    port: Int32 = 0
    rack: String | None = None
    is_fenced: Annotated[Boolean, since("2+")] = False


@message(api_key=60, versions="0-2", flexible="0+")
class DescribeClusterResponse(Struct):
    """The response of DescribeCluster."""

    throttle_time_ms: Int32 = 0
    error_code: Int16 = 0
    error_message: String | None = None
    endpoint_type: Annotated[Int8, since("1+")] = 1
    cluster_id: String = ""
    controller_id: BrokerId = -1
    brokers: list[DescribeClusterBroker] = []
    cluster_authorized_operations: Int32 = -2_147_483_648
