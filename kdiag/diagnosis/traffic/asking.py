"""What clients ask too often, too old, in vain, or more than a quota allows."""

from collections.abc import Container, Iterator, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec

from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.diagnosis.traffic.ledgers import (
    Asker,
    Case,
    Ledgers,
    client_of,
    counted,
    findings_of,
)
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange, UnansweredReason
from kdiag.exchange.summary.counts import Again, AgainOn, kind_text
from kdiag.exchange.waits import allowed_wait_ns
from kdiag.findings.finding import Finding, found
from kdiag.wire import api_keys
from kdiag.wire.catalog import API_BY_KEY

BUSY: Final = 10
_LEAST_BUSY_SECONDS: Final = 3
LEAST_WAITED_NS: Final = 5 * NS_PER_S
_OF_BROKERS: Final = frozenset({api_keys.WRITE_TXN_MARKERS, api_keys.ALTER_PARTITION})
"""APIs that brokers use among themselves, who are updated together."""


class MetadataLedger(msgspec.Struct):
    """The Metadata requests of a client, second by second.

    Attributes:
        requests: all of them.
        second, in_second: the last second, and how many it has.
        busiest: the most in one second.
        busy_seconds: how many seconds had ten or more.
        example: the number of one in the busiest second.
    """

    requests: int = 0
    second: int = 0
    in_second: int = 0
    busiest: int = 0
    busy_seconds: int = 0
    example: int = 0

    def add(self, exchange: Exchange) -> None:
        """Add a request; one that is completed late counts in the second that is on."""
        second = exchange.time_ns // NS_PER_S
        if second > self.second:
            self.second, self.in_second = second, 0
        self.requests += 1
        self.in_second += 1
        self.busy_seconds += self.in_second == BUSY
        if self.in_second > self.busiest:
            self.busiest, self.example = self.in_second, exchange.number


class QuotaLedger(msgspec.Struct):
    """How often and how long a client was told to wait."""

    count: int = 0
    total_ms: int = 0
    longest_ms: int = 0
    example: int = 0


class GivenUpLedger(msgspec.Struct):
    """Requests that a client gave up on."""

    count: int = 0
    longest_ns: int = 0
    api: str = ""
    example: int = 0


class VersionLedger(msgspec.Struct):
    """Requests of a client in a version that Kafka 4 has not."""

    count: int = 0
    example: int = 0

    def add(self, exchanges: Sequence[Exchange]) -> None:
        """Add requests."""
        self.count += len(exchanges)
        self.example = self.example or exchanges[0].number


class OldVersion(NamedTuple):
    """A version that Kafka 4 has not, of whom and with which broker."""

    client: Asker
    broker: str
    api_key: int
    version: int


class Asking:
    """Looks at what clients ask.

    Attributes:
        metadata, quotas: of each client.
        given_up: what each client gave up, by broker.
        old_versions: requests that Kafka 4 does not understand.
        offered: the newest version that a broker offers of an API, in a list of one.
        nodes: the numbers of brokers that an answer gave the same address, by it.
    """

    def __init__(self) -> None:
        self.metadata: Ledgers[Asker, MetadataLedger] = Ledgers(MetadataLedger)
        self.quotas: Ledgers[Asker, QuotaLedger] = Ledgers(QuotaLedger)
        self.given_up: Ledgers[tuple[Asker, str], GivenUpLedger] = Ledgers(GivenUpLedger)
        self.old_versions: Ledgers[OldVersion, VersionLedger] = Ledgers(VersionLedger)
        self.offered: Ledgers[tuple[str, int], list[int]] = Ledgers(list)
        self.nodes: Ledgers[str, set[int]] = Ledgers(set)

    @property
    def left_out(self) -> int:
        """Return how often there was no room for a client."""
        kept: tuple[Ledgers[Any, Any], ...] = (
            self.metadata,
            self.quotas,
            self.given_up,
            self.old_versions,
            self.offered,
            self.nodes,
        )
        return sum(each.left_out for each in kept)

    @property
    def throttled(self) -> frozenset[Asker]:
        """Return the clients that were told to wait."""
        return frozenset(client for client, _ in self.quotas.items())

    def add_metadata(self, exchange: Exchange) -> None:
        """Add a Metadata exchange; each is read, as it may name topics, so none is like another."""
        ledger = None if exchange.request is None else self.metadata.of(client_of(exchange))
        if ledger is not None:
            ledger.add(exchange)

    def learn_brokers(self, response: Any) -> None:
        """Learn from a response to Metadata which brokers advertise the same address."""
        by_address: dict[str, set[int]] = {}
        for each in response.brokers or ():
            by_address.setdefault(f"{each.host}:{each.port}", set()).add(each.node_id)
        for address, nodes in by_address.items():
            known = self.nodes.of(address) if len(nodes) > 1 else None
            if known is not None:
                known |= nodes

    def address_findings(self) -> list[Finding]:
        """Return the addresses that several brokers advertise."""
        return [
            found("KD1503", nodes=", ".join(map(str, sorted(nodes))), address=address)
            for address, nodes in self.nodes.items()
        ]

    def add_versions(self, broker: str, response: Any) -> None:
        """Add what a broker offers, by its response to ApiVersions."""
        for each in response.api_keys or ():
            newest = self.offered.of((broker, each.api_key))
            if newest is not None:
                newest[:] = [each.max_version]

    def add_quota(self, dissection: Dissection) -> None:
        """Add an answer that may tell its client to wait; those that do differ in their bytes."""
        response = dissection.response
        throttle_ms = 0 if response is None else getattr(response.message, "throttle_time_ms", 0)
        if response is None or throttle_ms <= 0:
            return
        if response.body is not None and "throttleTimeMs" not in response.body:
            return
        exchange = dissection.exchange
        ledger = self.quotas.of(client_of(exchange))
        if ledger is not None and exchange.request is not None:
            ledger.count += 1
            ledger.total_ms += throttle_ms
            if throttle_ms > ledger.longest_ms:
                ledger.longest_ms, ledger.example = throttle_ms, exchange.number

    def add_version(self, exchange: Exchange) -> AgainOn | None:
        """Add a request in a version that Kafka 4 has not; return who adds those like it."""
        api_key, version = exchange.api_key, exchange.version
        if api_key is None or version is None or exchange.request is None or exchange.guessed:
            return None
        if not is_too_old(api_key, version):
            return None
        return counted(partial(self._version_again, api_key, version), exchange)

    def _version_again(self, api_key: int, version: int, exchange: Exchange) -> Again | None:
        client, broker = client_of(exchange), exchange.connection.broker
        ledger = self.old_versions.of(OldVersion(client, broker, api_key, version))
        return None if ledger is None else ledger.add

    def add_unanswered(self, dissection: Dissection) -> None:
        """Add a request without an answer, if the client waited long for it and then hung up."""
        exchange = dissection.exchange
        connection, request = exchange.connection, exchange.request
        if exchange.unanswered_reason is not UnansweredReason.CLIENT_CLOSED or request is None:
            return
        if connection.closed_ns is None:
            return
        waited_ns = connection.closed_ns - request.last_byte_ns
        if waited_ns < allowed_wait_ns(dissection) + LEAST_WAITED_NS:
            return
        ledger = self.given_up.of((client_of(exchange), connection.broker))
        if ledger is not None:
            ledger.count += 1
            if waited_ns > ledger.longest_ns:
                ledger.longest_ns, ledger.example = waited_ns, exchange.number
                ledger.api = kind_text(exchange.api_key, exchange.version)

    def findings(
        self, hindered: frozenset[Asker] = frozenset(), explained: Container[str] = ()
    ) -> Iterator[Finding]:
        """Yield what is wrong, but for versions and addresses.

        Args:
            hindered: clients that ask again because they are refused something, as another finding
                says.
            explained: brokers of which another finding says why they did not answer.
        """
        storms = [
            Case(of.busiest, str(client), _metadata_evidence(client, of))
            for client, of in self.metadata.items()
            if of.busy_seconds >= _LEAST_BUSY_SECONDS and client not in hindered
        ]
        yield from findings_of("KD4301", storms)
        quotas = [
            Case(of.total_ms, str(client), _quota_evidence(client, of))
            for client, of in self.quotas.items()
        ]
        yield from findings_of("KD4302", quotas)
        given_up = [
            Case(of.longest_ns, f"{client} on {broker}", _given_up_evidence(client, broker, of))
            for (client, broker), of in self.given_up.items()
            if broker not in explained
        ]
        yield from findings_of("KD4303", given_up)

    def version_findings(self) -> Iterator[Finding]:
        """Yield the clients that do not work with Kafka 4."""
        by_client: dict[Asker, dict[str, int]] = {}
        examples: dict[Asker, int] = {}
        for (client, broker, api_key, version), of in self.old_versions.items():
            offered = self.offered.of((broker, api_key))
            if offered and offered[0] <= version:
                continue  # the broker knows no newer one, so the client may
            api = API_BY_KEY[api_key]
            assert api.newest is not None
            text = f"{api.name} v{version} (needs v{api.newest.low})"
            counts = by_client.setdefault(client, {})
            counts[text] = counts.get(text, 0) + of.count
            examples[client] = min(examples.get(client, of.example), of.example)
        cases = [
            Case(
                sum(counts.values()),
                str(client),
                _of(client)
                | {
                    "old_requests": ", ".join(sorted(counts)),
                    "requests": sum(counts.values()),
                    "exchange": examples[client],
                },
            )
            for client, counts in by_client.items()
        ]
        yield from findings_of("KD5101", cases)


def is_too_old(api_key: int, version: int) -> bool:
    """Return whether Kafka 4 does not understand a client's request in a version."""
    api = API_BY_KEY.get(api_key)
    if api is None or api.newest is None or api_key in _OF_BROKERS:
        return False
    return version < api.newest.low


def _of(client: Asker) -> dict[str, Any]:
    return {"client": str(client), "client_id": client.client_id, "client_host": client.host}


def _metadata_evidence(client: Asker, of: MetadataLedger) -> dict[str, Any]:
    counts = {"requests": of.requests, "busiest": of.busiest, "busy_seconds": of.busy_seconds}
    return {**_of(client), **counts, "exchange": of.example}


def _quota_evidence(client: Asker, of: QuotaLedger) -> dict[str, Any]:
    counts = {"count": of.count, "total_ms": of.total_ms, "longest_ms": of.longest_ms}
    return {**_of(client), **counts, "exchange": of.example}


def _given_up_evidence(client: Asker, broker: str, of: GivenUpLedger) -> dict[str, Any]:
    return {
        **_of(client),
        "broker": broker,
        "count": of.count,
        "waited_ms": of.longest_ns // NS_PER_MS,
        "api": of.api,
        "exchange": of.example,
    }
