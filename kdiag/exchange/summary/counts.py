"""The counts of a capture's exchanges and connections, by API, status, error, client and topic."""

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any, Final, NamedTuple, TypeVar

import msgspec

from kdiag.clock import NS_PER_S
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.document import SCHEMA, Clockface, in_us
from kdiag.exchange.documents.tcp import tcp_document
from kdiag.exchange.model import Connection, Exchange, Protocol, Status
from kdiag.exchange.summary.fingerprint import FingerprintCache
from kdiag.exchange.summary.largest import LargestConnections
from kdiag.exchange.summary.measures import Measures
from kdiag.exchange.summary.slowest import SlowestExchanges
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.error_code import error_name

FOLLOWED_BYTES: Final = 8_000
"""What the facts of TCP on a connection take, with their document; measured."""

_MAX_FOLLOWED: Final = 16_384
_MAX_TROUBLES: Final = 1000
_MAX_CONNECTIONS: Final = 50_000

Kind = tuple[int | None, int | None]
K = TypeVar("K")


class _Alike(NamedTuple):
    """The attributes of an exchange by which it is counted."""

    kind: Kind
    has_request: bool
    has_response: bool
    client_id: str | None
    status: Status
    error_code: int
    topics: frozenset[str]
    topic_ids: frozenset[str]


class _Tally(msgspec.Struct):
    """The number of exchanges with equal attributes, and the measures of their kind."""

    alike: _Alike
    measures: Measures
    count: int = 0


Again = Callable[[Sequence[Exchange]], None]
"""Counts exchanges of one connection that are like one that was read, at least one."""

AgainOn = Callable[[Exchange], Again | None]
"""Returns who counts those on the connection of an exchange; None if nobody does."""


Watch = Callable[[Dissection], AgainOn | None]
"""Looks at an exchange that was read; returns who counts those like it, or None."""


def watch_all(watches: Sequence[Watch]) -> Watch:
    """Return several who watch as one."""

    def watch(dissection: Dissection) -> AgainOn | None:
        found = [again for of in watches if (again := of(dissection)) is not None]
        if len(found) > 1:
            return partial(again_of_all, found)
        return found[0] if found else None

    return watch


def again_of_all(parts: Sequence[AgainOn], exchange: Exchange) -> Again:
    """Return what several add on the connection of an exchange, as one."""
    made = [part(exchange) for part in parts]
    found = [each for each in made if each is not None]

    def again(exchanges: Sequence[Exchange]) -> None:
        for each in found:
            each(exchanges)

    return again


class _Series(msgspec.Struct):
    """Exchanges of a connection with the same fingerprint.

    Attributes:
        tally: counts them.
        again: counts them for who watches; None if nobody does.
        fresh: those that came since they were counted.
    """

    tally: _Tally
    again: Again | None
    fresh: list[Exchange] = []


class _Known(NamedTuple):
    """What is known of exchanges with the same fingerprint.

    Attributes:
        tally: counts them.
        again_on: tells who watches those of a connection; None if nobody does.
        series: those of each connection that is open, by its number.
    """

    tally: _Tally
    again_on: AgainOn | None
    series: dict[int, _Series]


class Totals(msgspec.Struct, kw_only=True):
    """The facts of a capture besides its exchanges.

    Attributes:
        packets: the packets in it.
        bytes: their captured bytes.
        first_ns, last_ns: times of the first and last TCP segment; 0 without any.
        connections: TCP connections.
        sightings: how many of them were seen once more with other addresses.
        duplicates: segments that carried nothing new.
        gaps, gap_bytes: the gaps, and the bytes that are missing in them.
        not_understood, not_understood_bytes: how often bytes are here that are no frame.
        warnings: the parts that could not be read.
        capture: the account of its packets, as a document.
        closing_line: the same in a line for people; empty where everything was read.
    """

    packets: int = 0
    bytes: int = 0
    first_ns: int = 0
    last_ns: int = 0
    connections: int = 0
    sightings: int = 0
    duplicates: int = 0
    gaps: int = 0
    gap_bytes: int = 0
    not_understood: int = 0
    not_understood_bytes: int = 0
    warnings: list[str] = []
    capture: dict[str, Any] = {}
    closing_line: str = ""


class Summary:
    """Counts exchanges and connections.

    Exchanges with equal attributes share one tally, so that adding one is cheap; the counts by
    single attributes are computed on request.

    Attributes:
        software: connections by the client's software (KIP-511).
        protocols: connections by protocol.
        tcp: the connections with facts of TCP; of many, those with the most bytes.
        troubles: connections that were not made, or whose TLS is not readable, by broker and why.
        unidentified_ports: connections with bytes that nothing identified, by the broker's port.
        measures: bytes and latencies by (API key, version).
        brokers: connections with Kafka by the address of the broker.
        slowest: the exchanges that took longest.
        watch: is given each exchange that is read, and returns who is given those that are like
            it; None if nobody watches.
    """

    def __init__(self, names: TopicNames) -> None:
        self.software: Counter[str] = Counter()
        self.protocols: Counter[Protocol] = Counter()
        self.tcp = LargestConnections[Connection](_MAX_FOLLOWED)
        self.troubles: Counter[tuple[str, str]] = Counter()
        self.unidentified_ports: Counter[int] = Counter()
        self.measures: dict[Kind, Measures] = {}
        self.brokers: Counter[str] = Counter()
        self.slowest = SlowestExchanges()
        self._names = names
        self._alike: dict[tuple[object, ...], _Tally] = {}
        self._tallies: FingerprintCache[_Known] | None = None
        self._known_of: dict[int, list[_Known]] = {}
        self._fresh: list[_Series] = []
        self.watch: Watch | None = None

    def add(self, dissection: Dissection, *, may_repeat: bool = True) -> None:
        """Count an exchange; its bodies are decoded for status, error and topics.

        Args:
            dissection: of the exchange.
            may_repeat: whether `add_like` may count those like it, so that nobody reads them.
        """
        exchange = dissection.exchange
        attributes = (  # those of an `_Alike`, which takes five times as long to make
            (exchange.api_key, exchange.version),
            exchange.request is not None,
            exchange.response is not None,
            exchange.client_id,
            dissection.status,
            dissection.error_code,
            *dissection.all_topics,
        )
        tally = self._alike.get(attributes)
        if tally is None:
            alike = _Alike(*attributes)
            measures = self.measures.setdefault(alike.kind, Measures())
            tally = self._alike[attributes] = _Tally(alike, measures)
        tally.count += 1
        tally.measures.add(exchange)
        if exchange.end_ns - exchange.time_ns > self.slowest.floor_ns:
            self.slowest.offer(exchange)
        again_on = None if self.watch is None else self.watch(dissection)
        if may_repeat and self._tallies is not None:
            self._tallies.keep(dissection, _Known(tally, again_on, {}))

    def add_like(self, exchange: Exchange) -> bool:
        """Count an exchange without decoding it, if its fingerprint is known; return whether.

        It counts when `count_fresh` is called: many at once take half the time of one by one.
        """
        if self._tallies is None:
            self._tallies = FingerprintCache()
        known = self._tallies.find(exchange)
        if known is None:
            return False
        series = known.series.get(exchange.connection.number) or self._begin(known, exchange)
        if not series.fresh:
            self._fresh.append(series)
        series.fresh.append(exchange)
        request, response = exchange.request, exchange.response
        assert request is not None  # both are there where the fingerprint is
        assert response is not None
        if response.last_byte_ns - request.last_byte_ns > self.slowest.floor_ns:
            self.slowest.offer(exchange)
        return True

    def _begin(self, known: _Known, exchange: Exchange) -> _Series:
        """Begin a series with its first exchange; forget all if there are too many."""
        if len(self._known_of) >= _MAX_CONNECTIONS:
            self._tallies = FingerprintCache()
            self._known_of.clear()
        again = None if known.again_on is None else known.again_on(exchange)
        number = exchange.connection.number
        self._known_of.setdefault(number, []).append(known)
        series = known.series[number] = _Series(known.tally, again)
        return series

    def count_fresh(self) -> None:
        """Count the exchanges that `add_like` has taken since the last time."""
        for series in self._fresh:
            fresh, series.fresh = series.fresh, []
            series.tally.count += len(fresh)
            series.tally.measures.add_all(fresh)
            if series.again is not None:
                series.again(fresh)
        self._fresh.clear()

    def add_connection(self, connection: Connection) -> None:
        """Count a connection that has ended, and forget how its exchanges were counted."""
        for known in self._known_of.pop(connection.number, ()):
            known.series.pop(connection.number, None)
        self.protocols[connection.protocol] += 1
        if connection.protocol is Protocol.KAFKA:
            self.brokers[connection.broker] += 1
        if connection.protocol is Protocol.UNKNOWN:
            self.unidentified_ports[int(connection.broker.rpartition(":")[2])] += 1
        trouble = connection.trouble
        if trouble is not None:
            add_trouble(self.troubles, connection.broker, trouble)
        if connection.tcp is not None:
            self.tcp.add(connection, connection)
        if connection.client_software is not None:
            self.software[" ".join(connection.client_software).strip()] += 1

    @property
    def exchanges(self) -> int:
        """Return the number of exchanges."""
        return sum(tally.count for tally in self._alike.values())

    @property
    def requests(self) -> Counter[Kind]:
        """Return requests by (API key, version)."""
        return self._by(lambda alike: alike.kind if alike.has_request else None)

    @property
    def responses(self) -> Counter[Kind]:
        """Return responses by (API key, version)."""
        return self._by(lambda alike: alike.kind if alike.has_response else None)

    @property
    def status(self) -> Counter[Status]:
        """Return exchanges by status."""
        return self._by(lambda alike: alike.status)

    @property
    def errors(self) -> Counter[str]:
        """Return exchanges by the name of their first error."""
        return self._by(lambda alike: error_name(alike.error_code) if alike.error_code else None)

    @property
    def clients(self) -> Counter[str]:
        """Return exchanges by client id; the empty one stands for none."""
        return self._by(lambda alike: alike.client_id or "")

    @property
    def topics(self) -> Counter[str]:
        """Return exchanges by topic; by its id where no name is known."""
        topics: Counter[str] = Counter()
        for tally in self._alike.values():
            alike = tally.alike
            named = {self._names.name(topic_id) or topic_id for topic_id in alike.topic_ids}
            for topic in sorted(alike.topics | named):
                topics[topic] += tally.count
        return topics

    def _by(self, key: Callable[[_Alike], K | None]) -> Counter[K]:
        """Return counts by the result of `key`; None is left out."""
        counts: Counter[K] = Counter()
        for tally in self._alike.values():
            value = key(tally.alike)
            if value is not None:
                counts[value] += tally.count
        return counts

    def document(self, totals: Totals) -> dict[str, Any]:
        """Return the document of `--summary --output json`."""
        self.count_fresh()
        return self._counts(totals) | ({"tcp": self._tcp_documents()} if len(self.tcp) else {})

    def _tcp_documents(self) -> list[dict[str, Any]]:
        """Return the facts of TCP by connection."""
        return [
            {
                "connection": each.number,
                "client": each.client,
                "broker": each.broker,
                **tcp_document(each.tcp),
            }
            for each in self.tcp
            if each.tcp is not None
        ]

    def _counts(self, totals: Totals) -> dict[str, Any]:
        """Return all counts but those of TCP."""
        return {
            "schema": SCHEMA,
            "packets": totals.packets,
            "bytes": totals.bytes,
            "connections": totals.connections,
            "sightings": totals.sightings,
            "exchanges": self.exchanges,
            "requests": _by_api(self.requests),
            "responses": _by_api(self.responses),
            **_measures_document(self.measures),
            "status": {each.value: self.status[each] for each in Status if self.status[each]},
            "errors": dict(self.errors.most_common()),
            "gaps": {"count": totals.gaps, "bytes": totals.gap_bytes},
            "not_understood": {
                "count": totals.not_understood,
                "bytes": totals.not_understood_bytes,
            },
            "duplicates": totals.duplicates,
            "clients": dict(self.clients.most_common()),
            "client_software": dict(self.software.most_common()),
            "topics": dict(self.topics.most_common()),
            "brokers": dict(self.brokers.most_common()),
            "slowest": [each.document() for each in self.slowest.exchanges()],
            "protocols": {each.value: count for each, count in self.protocols.most_common()},
            "connection_troubles": [
                {"broker": broker, "trouble": trouble, "count": number}
                for (broker, trouble), number in self.troubles.most_common()
            ],
            "first_time": Clockface().text(totals.first_ns) if totals.first_ns else None,
            "last_time": Clockface().text(totals.last_ns) if totals.last_ns else None,
            "duration_s": (totals.last_ns - totals.first_ns) / NS_PER_S,
            "warnings": totals.warnings,
            "capture": totals.capture,
        }


def add_trouble(troubles: Counter[tuple[str, str]], broker: str, trouble: str) -> tuple[str, str]:
    """Count a trouble of a broker's connection, whatever its client random is; return its key."""
    key = broker, trouble.partition(" for client random")[0]
    if key in troubles or len(troubles) < _MAX_TROUBLES:
        troubles[key] += 1
    return key


def kind_text(api_key: int | None, version: int | None) -> str:
    """Return an API and version as text: `Fetch v13`, `API 999 v1`, `Fetch v?`, `unknown`."""
    if api_key is None:
        return "unknown"
    return f"{api_text_of_key(api_key)} v{'?' if version is None else version}"


def api_text_of_key(api_key: int | None) -> str:
    """Return an API as text: `Fetch`, `API 999`, `unknown`."""
    if api_key is None:
        return "unknown"
    api = API_BY_KEY.get(api_key)
    return f"API {api_key}" if api is None else api.name


def _measures_document(measures: dict[Kind, Measures]) -> dict[str, Any]:
    """Return bytes and percentiles of latencies by `Api vN`, in the order of keys and versions."""
    kinds = {kind_text(*kind): measures[kind] for kind in _in_order(measures)}
    latencies = {kind: each.latency() for kind, each in kinds.items()}
    return {
        "request_bytes": {kind: each.request_bytes for kind, each in kinds.items()},
        "response_bytes": {kind: each.response_bytes for kind, each in kinds.items()},
        "latency": {
            kind: {
                "count": each.number,
                "p50_us": in_us(each.p50_ns),
                "p90_us": in_us(each.p90_ns),
                "p99_us": in_us(each.p99_ns),
                "max_us": in_us(each.max_ns),
            }
            for kind, each in latencies.items()
            if each is not None
        },
    }


def _in_order(kinds: Iterable[Kind]) -> list[Kind]:
    return sorted(kinds, key=lambda kind: tuple(-1 if part is None else part for part in kind))


def _by_api(counts: Counter[Kind]) -> dict[str, int]:
    """Return counts by `Api vN`, in the order of keys and versions."""
    return {kind_text(*kind): counts[kind] for kind in _in_order(counts)}
