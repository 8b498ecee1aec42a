"""The least loaded node: the one to ask when any node will do.

Source: Kafka's `NetworkClient.leastLoadedNode`.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kdiag.client.network.backoff import random_fraction
from kdiag.client.network.connection_states import ClusterConnectionStates
from kdiag.client.network.metadata import Node


class NodeLoad(NamedTuple):
    """How busy the connection to a node is.

    Attributes:
        is_usable: whether it is READY and not throttled.
        can_send_more: whether it has room for a request.
        in_flight_count: requests in flight on it.
    """

    is_usable: bool
    can_send_more: bool
    in_flight_count: int


def least_loaded_node(
    nodes: Sequence[Node],
    load_of: Callable[[str], NodeLoad],
    states: ClusterConnectionStates,
    now_ns: int,
) -> Node | None:
    """Return the node to ask, connected or not; None if none can be asked now.

    That is one that can be asked now, with the fewest requests in flight; else one that is being
    connected to; else, of those that may be connected to, the one whose last attempt is the oldest.
    Among equals chance decides.
    """
    start = int(random_fraction() * len(nodes))
    rotated = [*nodes[start:], *nodes[:start]]
    loads = {node.id: load_of(node.id) for node in rotated}
    askable = [
        node for node in rotated if loads[node.id].is_usable and loads[node.id].can_send_more
    ]
    if askable:
        return min(askable, key=lambda node: loads[node.id].in_flight_count)
    preparing = [node for node in rotated if states.is_preparing(node.id)]
    connectable = [node for node in rotated if states.can_connect(node.id, now_ns)]
    connectable.sort(key=lambda node: states.last_attempt_ns(node.id))
    return next(iter([*preparing, *connectable]), None)
