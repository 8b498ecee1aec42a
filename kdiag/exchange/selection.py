"""Filters: which exchanges a user wants to see.

Conditions of different kinds must all hold; of several patterns of one kind, one is enough.
Patterns are names, or shell patterns such as `order-*`.
"""

from collections.abc import Callable, Collection, Iterable
from fnmatch import fnmatchcase

import msgspec

from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import SEVERITY, Dissection
from kdiag.exchange.model import FAULTY_REASONS, Connection, Exchange, Gap, Status
from kdiag.exchange.waits import net_latency_ns

_WRONG = {Status.MALFORMED, Status.PARTIAL}


class Selection(msgspec.Struct, frozen=True, kw_only=True):
    """The conditions on an exchange; without any, all exchanges match.

    Attributes:
        api_keys: the keys of its API.
        clients: patterns of the client id, or of the client's address with or without its port.
        topics: patterns of its topics or topic ids.
        groups: patterns of its groups.
        connections: numbers or ids of its connection.
        errors: whether it must have a Kafka error in the response, be cut or malformed, or a fault
            of TCP or the broker's must have kept its request or its response away.
        brokers: patterns of the broker's address, with or without its port.
        error_codes: error codes of which its response must have one, anywhere.
        statuses: those that it may have.
        since_ns, until_ns: when it began: not before the one, and before the other, since 1970.
        min_latency_ns: the least sum of its latency and its transfer.
        with_waits: whether the wait that the request allowed counts, too.
        where: any other condition.
    """

    api_keys: frozenset[int] = frozenset()
    clients: tuple[str, ...] = ()
    topics: tuple[str, ...] = ()
    groups: tuple[str, ...] = ()
    connections: frozenset[str] = frozenset()
    errors: bool = False
    min_latency_ns: int | None = None
    with_waits: bool = False
    brokers: tuple[str, ...] = ()
    error_codes: frozenset[int] = frozenset()
    statuses: frozenset[Status] = frozenset()
    since_ns: int | None = None
    until_ns: int | None = None
    where: Callable[[Dissection, TopicNames], bool] | None = None

    @property
    def has_whole_groups(self) -> bool:
        """Return whether groups are chosen as a whole: a part of one is no evidence of silence."""
        return self == Selection(groups=self.groups, since_ns=self.since_ns, until_ns=self.until_ns)

    def may_match(self, exchange: Exchange) -> bool:
        """Return False if an exchange cannot match; its bodies are not read."""
        if self.api_keys and exchange.api_key not in self.api_keys:
            return False
        time_ns = exchange.time_ns
        return (
            self._is_within(time_ns, time_ns)
            and self._is_between(exchange.connection, exchange.client_id)
            and self._may_be_late(exchange)
        )

    def matches_connection(self, connection: Connection) -> bool:
        """Return whether a connection matches: never with conditions on bodies.

        Errors are those that were not made, or whose TLS was not. Client ids are not compared: only
        exchanges have them.
        """
        return not (self.errors and connection.trouble is None) and self._is_of(connection)

    def matches_gap(self, gap: Gap) -> bool:
        """Return whether a gap matches: mostly it is an error of the recording only."""
        return (gap.is_fault or not self.errors) and self._is_of(gap.connection)

    def _is_of(self, connection: Connection) -> bool:
        """Return whether what is no exchange matches by its connection."""
        return (
            not self._is_about_exchanges
            and self._is_within(connection.first_ns, connection.last_ns)
            and self._is_between(connection, None)
        )

    @property
    def _is_about_exchanges(self) -> bool:
        """Return whether there are conditions that only an exchange can meet."""
        conditions = (self.api_keys, self.topics, self.groups, self.error_codes, self.statuses)
        return any(conditions) or bool(self.min_latency_ns) or self.where is not None

    def _is_within(self, first_ns: int, last_ns: int) -> bool:
        """Return whether any of a time is within the chosen one."""
        if self.since_ns is not None and last_ns < self.since_ns:
            return False
        return self.until_ns is None or first_ns < self.until_ns

    def _is_between(self, connection: Connection, client_id: str | None) -> bool:
        """Return whether a connection, and its ends, are among the chosen ones."""
        if self.connections and self.connections.isdisjoint(
            (str(connection.number), connection.connection_id)
        ):
            return False
        again = connection.sightings
        ends = [connection.broker, *(each.broker for each in again)]
        if self.brokers and not _matches(_names_of(ends), self.brokers):
            return False
        if not self.clients:
            return True
        names = _names_of([connection.client, *(each.client for each in again)])
        return _matches(names if client_id is None else [*names, client_id], self.clients)

    def _may_be_late(self, exchange: Exchange) -> bool:
        """Return False if an exchange is not late, even if its request allowed no wait."""
        if self.min_latency_ns is None:
            return True
        transfer_ns = exchange.transfer_ns
        if transfer_ns is None:
            return False
        return (exchange.latency_ns or 0) + transfer_ns >= self.min_latency_ns

    def matches(self, dissection: Dissection, names: TopicNames) -> bool:
        """Return whether an exchange matches, given that `may_match` is true."""
        if not self._has_outcome(dissection):
            return False
        if self.groups and not _matches(dissection.groups, self.groups):
            return False
        if self.topics and not _matches(topics_of(dissection, names), self.topics):
            return False
        return self.where is None or self.where(dissection, names)

    def _has_outcome(self, dissection: Dissection) -> bool:
        """Return whether status, errors and net latency of an exchange are the chosen ones."""
        if self.errors and not dissection.error_code and not is_faulty(dissection):
            return False
        if self.statuses and dissection.status not in self.statuses:
            return False
        if self.error_codes and self.error_codes.isdisjoint(dissection.error_codes):
            return False
        if self.min_latency_ns is None or self.with_waits:
            return True
        net_ns = net_latency_ns(dissection)
        return net_ns is not None and net_ns >= self.min_latency_ns


def topics_of(dissection: Dissection, names: TopicNames) -> frozenset[str]:
    """Return the names and ids of all topics of an exchange."""
    ids = dissection.topic_ids
    return dissection.topics | ids | set(names.of(ids).values())


def address_names(address: str) -> list[str]:
    """Return the spellings of an address: `ip:port`, `[ip]` for IPv6, `ip`."""
    host = address.rpartition(":")[0]
    return [address, host, host.strip("[]")]


def _names_of(addresses: Iterable[str]) -> list[str]:
    return [name for address in addresses for name in address_names(address)]


def _matches(names: Iterable[str], patterns: Collection[str]) -> bool:
    return any(
        name == pattern or fnmatchcase(name, pattern) for name in names for pattern in patterns
    )


def is_faulty(dissection: Dissection) -> bool:
    """Return whether an exchange is cut, malformed, out of order, or lacks a side by a fault.

    A request that is in flight when the capture ends is no fault, nor is what was not captured.
    """
    status, exchange = dissection.status, dissection.exchange
    if status is Status.UNANSWERED:
        return exchange.unanswered_reason is None or exchange.unanswered_reason in FAULTY_REASONS
    return status in _WRONG or exchange.is_violation


def is_in_order(status: Status) -> bool:
    """Return whether an exchange was captured whole and decodes."""
    return status is Status.OK or SEVERITY[status] > SEVERITY[Status.PARTIAL]
