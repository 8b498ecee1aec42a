"""The sessions of brokers: who says that it runs, and who has not said so for too long.

    sessions.heartbeat(1, now_ns)       broker 1 runs
    sessions.expired(now_ns)            those that were silent for longer than the session

A broker that stops in an orderly way says so; one that is killed is known by its silence. Whoever
has registered and not sent a heartbeat yet has a session from the next one of another broker on.

Source: Kafka's `BrokerHeartbeatManager`; `broker.session.timeout.ms`.
"""

from collections.abc import Iterable
from typing import Final

from kdiag.clock import NS_PER_S

SESSION_TIMEOUT_NS: Final = 9 * NS_PER_S
"""`broker.session.timeout.ms`."""
HEARTBEAT_INTERVAL_NS: Final = 2 * NS_PER_S
"""`broker.heartbeat.interval.ms`."""
_PER_SESSION: Final = 4
"""So many heartbeats at least are in a session that is short."""


class BrokerSessions:
    """When each broker was heard of last.

    Attributes:
        heartbeat_interval_ns: how often a broker is to say that it runs.
    """

    def __init__(self, timeout_ns: int = SESSION_TIMEOUT_NS) -> None:
        """Begin without brokers.

        Args:
            timeout_ns: how long a broker may be silent.
        """
        self.heartbeat_interval_ns = min(HEARTBEAT_INTERVAL_NS, timeout_ns // _PER_SESSION)
        self._timeout_ns = timeout_ns
        self._heard_ns: dict[int, int] = {}

    def __repr__(self) -> str:
        return f"<BrokerSessions of {len(self._heard_ns)}>"

    def heartbeat(self, node_id: int, now_ns: int) -> None:
        """Record that a broker runs."""
        self._heard_ns[node_id] = now_ns

    def begin(self, node_ids: Iterable[int], now_ns: int) -> None:
        """Begin the sessions of brokers that have none."""
        for node_id in node_ids:
            self._heard_ns.setdefault(node_id, now_ns)

    def end(self, node_id: int) -> None:
        """Forget a broker."""
        self._heard_ns.pop(node_id, None)

    def expired(self, now_ns: int) -> list[int]:
        """Return the brokers that were silent for too long, by id."""
        return sorted(
            node_id
            for node_id, heard_ns in self._heard_ns.items()
            if now_ns - heard_ns > self._timeout_ns
        )
