"""Brokers' addresses: where they are, and where clients of a proxy are told that they are.

    addresses.rewrite(api_key, version, response)   -> whether anything was changed
    addresses.broker_at(3)                          -> BrokerPlace("kafka3.example", 9092)

A broker that an answer tells for the first time gets a listener, so that no client ever leaves the
proxy. Controllers, which DescribeCluster tells if it is asked for them, are left as they are.
"""

from collections.abc import Callable
from threading import Lock
from typing import Any, Final, NamedTuple

from kdiag.lab.fault.answers.told_addresses import told_addresses
from kdiag.wire import api_keys
from kdiag.wire.schema import Struct

CONTROLLERS: Final = 2
"""The `endpoint_type` of controllers in DescribeCluster (KIP-919)."""
MOST_TOPICS: Final = 100_000
"""Of so many topics the names are kept by id."""
MOST_BROKERS: Final = 1_000
"""So many brokers get listeners."""


class BrokerPlace(NamedTuple):
    """Where a broker is.

    Attributes:
        host: as it advertises itself.
        port: the same.
    """

    host: str
    port: int


class BrokerAddresses:
    """The brokers of a cluster, and their listeners; any thread may use it.

    Attributes:
        host: what clients are told.
    """

    def __init__(self, host: str, listen: Callable[[int], int]) -> None:
        """Begin without brokers.

        Args:
            host: of all listeners.
            listen: makes the listener for a broker, and returns its port.
        """
        self.host = host
        self._listen = listen
        self._lock = Lock()
        self._brokers: dict[int, BrokerPlace] = {}
        self._ports: dict[int, int] = {}
        self._topics: dict[bytes, str] = {}

    def __repr__(self) -> str:
        return f"<BrokerAddresses of {len(self._brokers)} brokers>"

    @property
    def ports(self) -> dict[int, int]:
        """Return the ports of the listeners by the ids of their brokers."""
        with self._lock:
            return dict(self._ports)

    def broker_at(self, node_id: int) -> BrokerPlace:
        """Return where a broker is.

        Raises:
            KeyError: if there is no such broker.
        """
        with self._lock:
            return self._brokers[node_id]

    def topic_name(self, topic_id: bytes) -> str | None:
        """Return the name of a topic, if an answer has told it."""
        return self._topics.get(topic_id)

    def add(self, node_id: int, host: str, port: int) -> int | None:
        """Note where a broker is, and return the port of its listener; None if there are too many.

        Raises:
            ConnectError: if nobody can listen for it.
        """
        with self._lock:
            if node_id not in self._ports:
                if len(self._ports) >= MOST_BROKERS:
                    return None
                self._ports[node_id] = self._listen(node_id)
            self._brokers[node_id] = BrokerPlace(host, port)
            return self._ports[node_id]

    def rewrite(self, response: Any) -> bool:
        """Tell the listeners in place of the brokers; return whether an answer tells any.

        Raises:
            ConnectError: if nobody can listen for a new broker.
        """
        if getattr(response, "endpoint_type", 1) == CONTROLLERS:
            return False
        is_changed = False
        for told in told_addresses(response):
            port = self.add(told.node_id, told.host, told.port)
            if port is not None:
                told.change(self.host, port)
                is_changed = True
        return is_changed

    def learn_topics(self, response: Struct) -> None:
        """Note the names of topics that Metadata tells."""
        for each in getattr(response, "topics", None) or ():
            if each.name and len(self._topics) < MOST_TOPICS:
                self._topics[bytes(each.topic_id)] = each.name


def tells_topics(api_key: int) -> bool:
    """Return whether answers of an API tell topics with their ids."""
    return api_key == api_keys.METADATA
