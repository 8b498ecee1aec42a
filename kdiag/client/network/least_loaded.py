"""The least loaded node: the one to ask when any node will do.

Source: Kafka's `NetworkClient.leastLoadedNode`; KIP-899 (what is still available).
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from kdiag.client.network.backoff import random_fraction
from kdiag.client.network.connection_states import ClusterConnectionStates
from kdiag.client.network.metadata import Node


class LeastLoaded(NamedTuple):
    """The node to ask.

    Attributes:
        node: the node, connected or not; None if none can be asked now.
        is_any_ready: whether any connection is READY, even if it has no room for a request.
    """

    node: Node | None
    is_any_ready: bool

    @property
    def is_any_available(self) -> bool:
        """Return whether the cluster can be reached, now or soon."""
        return self.node is not None or self.is_any_ready


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
) -> LeastLoaded:
    """Return the node to ask.

    That is one that can be asked now, with the fewest requests in flight; else one that is being
    connected to; else, of those that may be connected to, the one whose last attempt is the oldest.
    Among equals chance decides.
    """
    start = int(random_fraction() * len(nodes))
    rotated = [*nodes[start:], *nodes[:start]]
    loads = {node.id: load_of(node.id) for node in rotated}
    usable = [node for node in rotated if loads[node.id].is_usable]
    askable = [node for node in usable if loads[node.id].can_send_more]
    if askable:
        idlest = min(askable, key=lambda node: loads[node.id].in_flight_count)
        return LeastLoaded(idlest, is_any_ready=True)
    preparing = [node for node in rotated if states.is_preparing(node.id)]
    connectable = [node for node in rotated if states.can_connect(node.id, now_ns)]
    connectable.sort(key=lambda node: states.last_attempt_ns(node.id))
    node = next(iter([*preparing, *connectable]), None)
    return LeastLoaded(node, is_any_ready=bool(usable))
