"""DescribeCluster: the brokers that run, for administrators.

Behaviour: the cluster's id, the controller and every broker, as in Metadata.

Version notes: 1 asks for brokers or controllers (KIP-919): a lab's brokers know no endpoint of a
controller, so asking for one is MISMATCHED_ENDPOINT_TYPE, as from Kafka's brokers; 2 tells fenced
brokers, too, if asked: those that were stopped (KIP-1073).

Leaves out: nothing.
"""

from typing import Final

from kdiag.lab.api.call import NOT_ASKED, ApiCall
from kdiag.lab.api.cluster.operations import CLUSTER_OPERATIONS
from kdiag.wire.api.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kdiag.wire.error_code import CODE_BY_NAME

_BROKERS: Final = 1
_CONTROLLERS: Final = 2


def handle(request: DescribeClusterRequest, call: ApiCall) -> DescribeClusterResponse:
    """Tell the brokers."""
    if request.endpoint_type != _BROKERS:
        is_known = request.endpoint_type == _CONTROLLERS
        error = "MISMATCHED_ENDPOINT_TYPE" if is_known else "UNSUPPORTED_ENDPOINT_TYPE"
        return DescribeClusterResponse(
            error_code=CODE_BY_NAME[error],
            error_message="the request was sent to a broker, which lists brokers only",
        )
    image = call.node.controller.image
    is_asked = request.include_cluster_authorized_operations
    fenced = image.fenced.values() if request.include_fenced_brokers else ()
    brokers = [(each, False) for each in call.node.brokers]
    brokers += [(each.as_seen_at(call.node.listener), True) for each in fenced]
    return DescribeClusterResponse(
        cluster_id=image.cluster_id,
        controller_id=image.controller_id,
        brokers=[
            DescribeClusterBroker(
                broker_id=broker.node_id,
                host=broker.host,
                port=broker.port,
                rack=broker.rack,
                is_fenced=is_fenced,
            )
            for broker, is_fenced in brokers
        ],
        cluster_authorized_operations=CLUSTER_OPERATIONS if is_asked else NOT_ASKED,
    )
