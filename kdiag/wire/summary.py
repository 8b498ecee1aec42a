"""What a capture holds, counted."""

from collections import Counter
from typing import Any, Final

import msgspec

from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.connection import Connection, Protocol
from kdiag.wire.dissection import Dissection
from kdiag.wire.document import SCHEMA
from kdiag.wire.exchange import Status
from kdiag.wire.topic_names import TopicNames

_NS_PER_S: Final = 1_000_000_000
_Kind = tuple[int | None, int | None]


class Totals(msgspec.Struct, kw_only=True):
    """What is known of a capture besides its exchanges.

    Attributes:
        packets: how many it holds.
        bytes: their captured bytes.
        first_ns, last_ns: times of the first and last TCP segment; 0 without any.
        connections: TCP connections.
        duplicates: segments that carried nothing new.
        gaps, gap_bytes: holes, and the bytes that they cost.
        warnings: what could not be read.
    """

    packets: int = 0
    bytes: int = 0
    first_ns: int = 0
    last_ns: int = 0
    connections: int = 0
    duplicates: int = 0
    gaps: int = 0
    gap_bytes: int = 0
    warnings: list[str] = []


class Summary:
    """Counts the exchanges, gaps and connections that it is given.

    Attributes:
        exchanges: how many.
        requests, responses: counts by (API key, version).
        status: counts by status.
        errors: counts by the name of the first error.
        clients: exchanges by client id.
        software: connections by what the client called itself (KIP-511).
        protocols: connections by what they carry.
    """

    def __init__(self, names: TopicNames) -> None:
        self.exchanges = 0
        self.requests: Counter[_Kind] = Counter()
        self.responses: Counter[_Kind] = Counter()
        self.status: Counter[Status] = Counter()
        self.errors: Counter[str] = Counter()
        self.clients: Counter[str] = Counter()
        self.software: Counter[str] = Counter()
        self.protocols: Counter[Protocol] = Counter()
        self._names = names
        self._topics: Counter[str] = Counter()

    def add(self, dissection: Dissection) -> None:
        """Count an exchange; its bodies are read for status, error and topics."""
        exchange = dissection.exchange
        kind = exchange.api_key, exchange.version
        self.exchanges += 1
        if exchange.request is not None:
            self.requests[kind] += 1
        if exchange.response is not None:
            self.responses[kind] += 1
        self.status[dissection.status] += 1
        self.clients[exchange.client_id or ""] += 1
        error = dissection.error
        if error is not None:
            self.errors[error] += 1
        topics = dissection.topics
        if dissection.topic_ids:
            named = self._names.of(dissection.topic_ids)
            topics = topics | set(named.values()) | (dissection.topic_ids - named.keys())
        for topic in topics:
            self._topics[topic] += 1

    def add_connection(self, connection: Connection) -> None:
        """Count a connection that has ended."""
        self.protocols[connection.protocol] += 1
        if connection.client_software is not None:
            self.software[" ".join(connection.client_software).strip()] += 1

    @property
    def topics(self) -> Counter[str]:
        """Return exchanges by topic; by its id where no name is known."""
        topics: Counter[str] = Counter()
        for topic, count in self._topics.items():
            topics[self._names.name(topic) or topic] += count
        return topics

    def document(self, totals: Totals) -> dict[str, Any]:
        """Return the document of `--summary --output json`."""
        return {
            "schema": SCHEMA,
            "packets": totals.packets,
            "bytes": totals.bytes,
            "connections": totals.connections,
            "exchanges": self.exchanges,
            "requests": _by_api(self.requests),
            "responses": _by_api(self.responses),
            "status": {each.value: self.status[each] for each in Status if self.status[each]},
            "errors": dict(self.errors.most_common()),
            "gaps": {"count": totals.gaps, "bytes": totals.gap_bytes},
            "duplicates": totals.duplicates,
            "clients": dict(self.clients.most_common()),
            "client_software": dict(self.software.most_common()),
            "topics": dict(self.topics.most_common()),
            "protocols": {each.value: count for each, count in self.protocols.most_common()},
            "duration_s": (totals.last_ns - totals.first_ns) / _NS_PER_S,
            "warnings": totals.warnings,
        }


def kind_text(api_key: int | None, version: int | None) -> str:
    """Return how an API and version are written: `Fetch v13`, `API 999 v1`, `unknown`."""
    if api_key is None:
        return "unknown"
    api = API_BY_KEY.get(api_key)
    return f"{f'API {api_key}' if api is None else api.name} v{version}"


def _by_api(counts: Counter[_Kind]) -> dict[str, int]:
    """Return counts by `Api vN`, in the order of keys and versions."""
    kinds = sorted(counts, key=lambda kind: tuple(-1 if part is None else part for part in kind))
    return {kind_text(*kind): counts[kind] for kind in kinds}
