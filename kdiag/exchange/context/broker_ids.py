"""Node ids of brokers, learnt from the exchanges that tell them with an address.

    Metadata v12   broker 2 is 10.0.0.9:9092     -> learnt
    Produce v9     10.0.0.5:41122 → 10.0.0.9:9092   is sent to broker 2

An address counts as it was told: a host name says which connection is meant only where TLS named
it (SNI). An address that was told of two nodes is of none.
"""

from collections.abc import Iterable, Iterator
from ipaddress import ip_address
from typing import Any, Final

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.line.phrase import address_text
from kdiag.exchange.model import Connection
from kdiag.wire import api_keys

NAMING_BROKERS: Final = frozenset(
    {api_keys.METADATA, api_keys.FIND_COORDINATOR, api_keys.DESCRIBE_CLUSTER}
)
"""The APIs whose responses have node ids with addresses."""

MAX_ADDRESSES: Final = 65_536
"""So many addresses are remembered; more than any cluster has."""

_LOOPBACK: Final = ("127.0.0.1", "::1")


class BrokerIds:
    """The node ids of broker addresses that are known by now."""

    def __init__(self) -> None:
        self._ids: dict[str, int | None] = {}

    def learn(self, dissection: Dissection) -> None:
        """Add the node ids in an exchange; of most APIs there are none, and nothing is decoded."""
        if dissection.exchange.api_key not in NAMING_BROKERS:
            return
        side = dissection.response
        if side is None or side.message is None or side.why is not None:
            return
        for node_id, host, port in nodes_of(side.message):
            if node_id >= 0 and host and port > 0:
                for address in addresses_of(host, port):
                    self._learn(address, node_id)

    def of(self, connection: Connection) -> int | None:
        """Return the node id of a connection's broker; None if it is not known."""
        if not self._ids:
            return None
        port = connection.broker.rpartition(":")[2]
        addresses = [connection.broker, *(each.broker for each in connection.sightings)]
        if connection.sni:
            addresses.append(f"{connection.sni.lower()}:{port}")
        found = {self._ids[each] for each in addresses if each in self._ids}
        return found.pop() if len(found) == 1 else None

    def _learn(self, address: str, node_id: int) -> None:
        if address not in self._ids and len(self._ids) >= MAX_ADDRESSES:
            return
        if self._ids.setdefault(address, node_id) != node_id:
            self._ids[address] = None


def nodes_of(message: Any) -> Iterator[tuple[int, str, int]]:
    """Yield the nodes that a response tells, with their hosts and ports."""
    for each in getattr(message, "brokers", ()):
        node_id = each.node_id if hasattr(each, "node_id") else each.broker_id
        yield node_id, each.host, each.port
    for each in getattr(message, "coordinators", ()):
        yield each.node_id, each.host, each.port
    if hasattr(message, "node_id"):
        yield message.node_id, message.host, message.port


def addresses_of(host: str, port: int) -> Iterable[str]:
    """Return the forms in which an address may stand on a connection."""
    if host == "localhost":
        return [address_text(each, port) for each in _LOOPBACK]
    try:
        return [address_text(str(ip_address(host)), port)]
    except ValueError:
        return [f"{host.lower()}:{port}"]
