"""Requests in flight: sent and not answered, by node and in order.

A broker answers the requests of a connection in the order in which it received them, so a response
belongs to the oldest request.

Source: Kafka's `InFlightRequests`.
"""

from collections import deque
from collections.abc import Iterator

import msgspec

from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.request import ClientRequest
from kdiag.net.send import NetworkSend


class InFlightRequest(msgspec.Struct, kw_only=True):
    """One request in flight.

    Attributes:
        request: the request.
        version: the version it was sent in.
        expects_response: whether the broker will answer.
        send: its frame.
        sent_ns: when it was handed to the connection, on the monotonic clock.
        number: of its exchange, if exchanges are observed.
        throttled_ns: how long the broker has throttled the connection since then.
    """

    request: ClientRequest
    version: int
    expects_response: bool
    send: NetworkSend
    sent_ns: int
    number: int = 0
    throttled_ns: int = 0

    def deadline_ns(self) -> int:
        """Return when it has taken too long."""
        return self.sent_ns + self.throttled_ns + self.request.timeout_ns


class InFlightRequests:
    """The requests in flight to all nodes."""

    def __init__(self, max_per_node: int) -> None:
        """Allow each node `max_per_node` (`max.in.flight.requests.per.connection`)."""
        self._max_per_node = max_per_node
        self._by_node: dict[str, deque[InFlightRequest]] = {}

    def add(self, request: InFlightRequest) -> None:
        """Add a request that is being sent."""
        self._by_node.setdefault(request.request.node_id, deque()).append(request)

    def newest(self, node_id: str) -> InFlightRequest:
        """Return the request that was sent last."""
        return self._requests(node_id)[-1]

    def complete_next(self, node_id: str) -> InFlightRequest:
        """Remove and return the oldest request, which was answered."""
        return self._requests(node_id).popleft()

    def complete_last_sent(self, node_id: str) -> InFlightRequest:
        """Remove and return the newest request, which expects no response."""
        return self._requests(node_id).pop()

    def can_send_more(self, node_id: str) -> bool:
        """Return whether the node may be sent another request.

        It may not while the last one is still being written: the peer may have stopped reading.
        """
        requests = self._by_node.get(node_id)
        return not requests or (
            requests[-1].send.is_completed and len(requests) < self._max_per_node
        )

    def count(self, node_id: str | None = None) -> int:
        """Return how many are in flight to a node, or to all."""
        if node_id is not None:
            return len(self._by_node.get(node_id, ()))
        return sum(map(len, self._by_node.values()))

    def clear(self, node_id: str) -> list[InFlightRequest]:
        """Remove and return the requests to a node, oldest first."""
        return list(self._by_node.pop(node_id, ()))

    def timed_out_nodes(self, now_ns: int) -> list[str]:
        """Return the nodes with a request that has taken too long.

        The time for which the broker throttles the connection does not count.
        """
        return [
            node_id
            for node_id, requests in self._by_node.items()
            if any(now_ns > each.deadline_ns() for each in requests)
        ]

    def timed_out(self, node_id: str, now_ns: int) -> InFlightRequest:
        """Return the oldest request to a node that has taken too long; there must be one."""
        return next(each for each in self._requests(node_id) if now_ns > each.deadline_ns())

    def next_deadline_ns(self) -> int:
        """Return when the next request will have taken too long; FOREVER_NS without one."""
        return min((each.deadline_ns() for each in self), default=FOREVER_NS)

    def add_throttle(self, node_id: str, throttle_ns: int) -> None:
        """Extend the deadlines of the requests in flight to a node by a throttle."""
        for each in self._by_node.get(node_id, ()):
            each.throttled_ns += throttle_ns

    def _requests(self, node_id: str) -> deque[InFlightRequest]:
        """Return the requests to a node, of which there must be one."""
        requests = self._by_node.get(node_id)
        if not requests:
            raise RuntimeError(f"no request is in flight to node {node_id}")
        return requests

    def __iter__(self) -> Iterator[InFlightRequest]:
        """Yield all of them."""
        for requests in self._by_node.values():
            yield from requests
