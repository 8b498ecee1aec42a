"""Which cluster a connection is with: brokers that name each other are one.

    Metadata of 10.0.0.1:9092      cluster A, brokers 10.0.0.1:9092, 10.0.0.2:9092
    Metadata of 10.9.0.1:9092      cluster B, brokers 10.9.0.1:9092
    FindCoordinator of 10.0.0.1    10.0.0.2:9092
    a connection to 10.0.0.2:9092  cluster A

The id of a cluster distinguishes it from another one: without two of them all brokers are taken for
one cluster, for a cluster may name its brokers by other addresses on each of its listeners. An
address that leads to several clusters, such as a gateway's, proves nothing.
"""

from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple

from kdiag.exchange.context.broker_ids import addresses_of, nodes_of

MOST_ANSWERS: Final = 1 << 14
"""So many answers are kept; each connection of a client asks once in a while."""


class NamedBrokers(NamedTuple):
    """What an answer says of its cluster.

    Attributes:
        connection: the id of the connection.
        broker: the address of the broker that answered.
        cluster_id: None where the answer has none.
        brokers: the addresses that it names.
    """

    connection: str
    broker: str
    cluster_id: str | None
    brokers: frozenset[str]


def named_brokers(connection: str, broker: str, message: Any) -> NamedBrokers:
    """Return what an answer to Metadata, FindCoordinator or DescribeCluster says."""
    named = {
        address
        for node_id, host, port in nodes_of(message)
        if node_id >= 0 and host and port > 0
        for address in addresses_of(host, port)
    }
    cluster_id = getattr(message, "cluster_id", None) or None
    return NamedBrokers(connection, broker, cluster_id, frozenset(named))


class Clusters:
    """The clusters that answers name."""

    def __init__(self, answers: Iterable[NamedBrokers]) -> None:
        """Take all answers, in any order."""
        answers = list(dict.fromkeys(answers))
        self._of_connection: dict[str, set[str]] = {}
        self._of_address: dict[str, set[str]] = {}
        for each in answers:
            if each.cluster_id is not None:
                self._of_connection.setdefault(each.connection, set()).add(each.cluster_id)
                for address in (each.broker, *each.brokers):
                    self._of_address.setdefault(address, set()).add(each.cluster_id)
        self.ids = frozenset(each for found in self._of_connection.values() for each in found)
        if len(self.ids) > 1:
            self._follow(answers)

    def _follow(self, answers: Iterable[NamedBrokers]) -> None:
        """Take what one broker names for its cluster, where only another one said the id."""
        rest = [each for each in answers if each.cluster_id is None]
        while rest:
            known = [each for each in rest if self.of(each.connection, each.broker) is not None]
            if not known:
                return
            for each in known:
                cluster = self.of(each.connection, each.broker)
                assert cluster is not None
                for address in each.brokers:
                    self._of_address.setdefault(address, {cluster})
            rest = [each for each in rest if each not in known]

    def of(self, connection: str | None, broker: str | None) -> str | None:
        """Return the id of the cluster of a connection; None if it is not known."""
        if len(self.ids) == 1:
            return next(iter(self.ids))
        for found in self._found(connection, broker):
            if len(found) == 1:
                return next(iter(found))
        return None

    def _found(self, connection: str | None, broker: str | None) -> Iterator[set[str]]:
        yield self._of_connection.get(connection or "", set())
        yield self._of_address.get(broker or "", set())
