"""Clients that were given the port of a controller, which serves none.

    rdk-web   ApiVersions                  -> no Metadata, no Produce, but Vote
    kp-web    ApiVersions, again and again -> likewise

A controller's listener answers ApiVersions and closes or ignores the rest of a client's life: no
error code comes, as a library sees by that answer that it cannot ask for metadata. Administrators
may ask controllers (KIP-919); they ask more than ApiVersions. Health checks ask ApiVersions alone,
once on a connection that they close, or now and then on one that they keep.
"""

from collections.abc import Iterator
from typing import Any, Final

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.check.report import listed
from kdiag.diagnosis.traffic.ledgers import Asker, Ledgers, client_of
from kdiag.exchange.line.shown_time import time_of_day, zone_label
from kdiag.exchange.model import Connection, Exchange
from kdiag.findings.finding import Finding, found
from kdiag.wire import api_keys

OF_CLIENTS: Final = frozenset({api_keys.METADATA, api_keys.PRODUCE})
_MOST: Final = 1_000
_RETRIES: Final = 3
_RETRIES_NS: Final = 5 * NS_PER_S
"""Libraries try a bootstrap server again so soon, health checks do not."""

_IDLE_NS: Final = NS_PER_S
"""An administrator asks the next thing at once on the connection that it keeps."""


class VersionsLedger:
    """The ApiVersions requests of a client to one address.

    Attributes:
        times_ns: when they were sent, the first of them.
        connections: that carried them, with how many each.
        has_more: whether the client asked anything else there.
        example: the number of the first exchange.
    """

    __slots__ = ("connections", "example", "has_more", "times_ns")

    def __init__(self) -> None:
        self.times_ns: list[int] = []
        self.connections: dict[int, tuple[Connection, int]] = {}
        self.has_more = False
        self.example = 0

    def add(self, exchange: Exchange) -> None:
        """Add a request."""
        self.example = self.example or exchange.number
        if len(self.times_ns) < _MOST:
            self.times_ns.append(exchange.time_ns)
            connection = exchange.connection
            _, count = self.connections.get(connection.number, (connection, 0))
            self.connections[connection.number] = connection, count + 1

    def is_lost(self, last_ns: int) -> bool:
        """Return whether the client looks for what is not there, up to a time."""
        if self.has_more:
            return False
        times = sorted(self.times_ns)
        tried = zip(times, times[_RETRIES - 1 :], strict=False)
        if any(last - first <= _RETRIES_NS for first, last in tried):
            return True
        return any(
            count == 1 and (each.closed_ns or last_ns) - each.first_ns >= _IDLE_NS
            for each, count in self.connections.values()
        )


class Controllers:
    """Looks at who asks for ApiVersions, and which addresses are those of controllers."""

    def __init__(self) -> None:
        self._asked: Ledgers[tuple[str, Asker], VersionsLedger] = Ledgers(VersionsLedger)
        self._addresses: dict[str, bool] = {}
        self._last_ns = 0

    @property
    def left_out(self) -> int:
        """Return how often there was no room for a client of an address."""
        return self._asked.left_out

    def learn_listener(self, address: str, response: Any) -> None:
        """Learn from a response to ApiVersions whether a controller answers."""
        offered = {each.api_key for each in response.api_keys or ()}
        is_controller = api_keys.VOTE in offered and not offered & OF_CLIENTS
        if offered and len(self._addresses) < _MOST:
            self._addresses[address] = is_controller and self._addresses.get(address, True)

    def add(self, exchange: Exchange) -> None:
        """Add an exchange that was read."""
        self._last_ns = max(self._last_ns, exchange.time_ns, exchange.connection.last_ns)
        address = exchange.connection.broker
        if exchange.request is None or not self._addresses.get(address):
            return
        ledger = self._asked.of((address, client_of(exchange)))
        if ledger is None:
            return
        if exchange.api_key == api_keys.API_VERSIONS:
            ledger.add(exchange)
        elif exchange.api_key not in OF_CLIENTS:
            ledger.has_more = True

    def findings(self) -> Iterator[Finding]:
        """Yield the addresses of controllers that clients were given."""
        lost: dict[str, list[tuple[Asker, VersionsLedger]]] = {}
        for (address, client), of in self._asked.items():
            if self._addresses.get(address) and of.is_lost(self._last_ns):
                lost.setdefault(address, []).append((client, of))
        for address, clients in lost.items():
            names = [client.client_id or client.host for client, _ in clients]
            count = sum(len(of.times_ns) for _, of in clients)
            first_ns = min(of.times_ns[0] for _, of in clients)
            noun = "request" if count == 1 else "requests"
            asked = (
                f": {listed(names)} got no further than ApiVersions there ({count:,} {noun} from "
                f"{time_of_day(first_ns)} {zone_label(first_ns)} on)"
            )
            example = min(of.example for _, of in clients)
            yield found("KD1406", address=address, asked=asked, clients=names, exchange=example)
