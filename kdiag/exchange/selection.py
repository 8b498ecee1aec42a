"""Filters: which exchanges a user wants to see.

Conditions of different kinds must all hold; of several patterns of one kind, one is enough.
Patterns are names, or shell patterns such as `order-*`.
"""

from collections.abc import Collection, Iterable
from fnmatch import fnmatchcase

import msgspec

from kdiag.exchange.dissection import SEVERITY, Dissection
from kdiag.exchange.model import Connection, Exchange, Status
from kdiag.exchange.topic_names import TopicNames
from kdiag.exchange.waits import net_latency_ns

_WRONG = {Status.MALFORMED, Status.PARTIAL, Status.UNMATCHED, Status.UNANSWERED}


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions on an exchange; without any, all exchanges match.

    Attributes:
        api_keys: the keys of its API.
        clients: patterns of the client id, or of the client's address with or without its port.
        topics: patterns of its topics or topic ids.
        groups: patterns of its groups.
        connections: numbers or ids of its connection.
        errors: whether it must have a Kafka error in the response, or be incomplete: cut,
            malformed, without request or without response.
        min_latency_ns: the least sum of its latency and its transfer.
        with_waits: whether the wait that the request allowed counts, too.
    """

    api_keys: frozenset[int] = frozenset()
    clients: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    connections: frozenset[str] = frozenset()
    errors: bool = False
    min_latency_ns: int | None = None
    with_waits: bool = False

    def may_match(self, exchange: Exchange) -> bool:
        """Return False if an exchange cannot match; its bodies are not read."""
        if self.api_keys and exchange.api_key not in self.api_keys:
            return False
        if self.connections and not self._is_connection(exchange.connection):
            return False
        if self.clients:
            names = address_names(exchange.connection)
            if exchange.client_id is not None:
                names.append(exchange.client_id)
            if not _matches(names, self.clients):
                return False
        if self.min_latency_ns is not None:
            transfer_ns = exchange.transfer_ns
            if transfer_ns is None:
                return False
            return (exchange.latency_ns or 0) + transfer_ns >= self.min_latency_ns
        return True

    def matches_connection(self, connection: Connection) -> bool:
        """Return whether a connection, and the gaps in it, match: never with conditions on bodies.

        Client ids are not compared: only exchanges have them.
        """
        if self.api_keys or self.topics or self.groups or self.errors or self.min_latency_ns:
            return False
        if self.connections and not self._is_connection(connection):
            return False
        return not self.clients or _matches(address_names(connection), self.clients)

    def _is_connection(self, connection: Connection) -> bool:
        names = (str(connection.number), connection.connection_id)
        return not self.connections.isdisjoint(names)

    def matches(self, dissection: Dissection, names: TopicNames) -> bool:
        """Return whether an exchange matches, given that `may_match` is true."""
        if self.min_latency_ns is not None and not self.with_waits:
            net_ns = net_latency_ns(dissection)
            if net_ns is None or net_ns < self.min_latency_ns:
                return False
        if self.errors and not dissection.error_code and dissection.status not in _WRONG:
            return False
        if self.groups and not _matches(dissection.groups, self.groups):
            return False
        return not self.topics or _matches(topics_of(dissection, names), self.topics)


def topics_of(dissection: Dissection, names: TopicNames) -> frozenset[str]:
    """Return the names and ids of all topics of an exchange."""
    ids = dissection.topic_ids
    return dissection.topics | ids | set(names.of(ids).values())


def address_names(connection: Connection) -> list[str]:
    """Return the spellings of a client's address: `ip:port`, `[ip]` for IPv6, `ip`."""
    host = connection.client.rpartition(":")[0]
    return [connection.client, host, host.strip("[]")]


def _matches(names: Iterable[str], patterns: Collection[str]) -> bool:
    return any(
        name == pattern or fnmatchcase(name, pattern) for name in names for pattern in patterns
    )


def is_in_order(status: Status) -> bool:
    """Return whether an exchange was captured whole and decodes."""
    return status is Status.OK or SEVERITY[status] > SEVERITY[Status.PARTIAL]
