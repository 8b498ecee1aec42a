"""The exchanges of a capture that took longest, without what their requests allowed.

    Fetch, 510 ms, of which it allowed 500        counts as 10 ms
    Produce, 80 ms                                as 80 ms

Whether an exchange is among them is one comparison, for all but a few: those that took less in all
than the last of them without its wait.
"""

import heapq
from typing import Any, Final

import msgspec

from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.document import Clockface, in_us
from kdiag.exchange.model import Exchange
from kdiag.exchange.waits import net_latency_ns
from kdiag.wire.catalog import API_NAMES

MOST: Final = 5


class SlowExchange(msgspec.Struct, frozen=True):
    """An exchange that took long.

    Attributes:
        net_ns: from the end of the request to the end of the response, without the allowed wait.
        number, time_ns, client_id, client, broker, version: of the exchange.
        api: its name; None if it is not known.
        latency_ns: to the first byte of the response, with the wait.
    """

    net_ns: int
    number: int
    time_ns: int
    api: str | None
    version: int | None
    client_id: str | None
    client: str
    broker: str
    latency_ns: int

    def document(self) -> dict[str, Any]:
        """Return it as JSON has it."""
        return {
            "number": self.number,
            "time": Clockface().text(self.time_ns),
            "api": self.api,
            "version": self.version,
            "client_id": self.client_id,
            "client": self.client,
            "broker": self.broker,
            "took_us": in_us(self.net_ns),
            "latency_us": in_us(self.latency_ns),
        }


class SlowestExchanges:
    """Keeps the slowest exchanges.

    Attributes:
        floor_ns: an exchange that took no longer than this, in all, is none of them.
    """

    def __init__(self) -> None:
        self.floor_ns = 0
        self._kept: list[tuple[int, int, SlowExchange]] = []
        self._offers = 0

    def offer(self, exchange: Exchange) -> None:
        """Keep an exchange that took longer than `floor_ns`, if it did so without its wait."""
        net_ns = net_latency_ns(Dissection(exchange))
        latency_ns = exchange.latency_ns
        if net_ns is None or latency_ns is None or net_ns <= self.floor_ns:
            return
        slow = SlowExchange(
            net_ns,
            exchange.number,
            exchange.time_ns,
            API_NAMES.get(exchange.api_key),
            exchange.version,
            exchange.client_id,
            exchange.connection.client,
            exchange.connection.broker,
            latency_ns,
        )
        self._offers += 1  # so that no two entries are equal
        entry = (net_ns, -self._offers, slow)
        if len(self._kept) < MOST:
            heapq.heappush(self._kept, entry)
        else:
            heapq.heappushpop(self._kept, entry)
        if len(self._kept) == MOST:
            self.floor_ns = self._kept[0][0]

    def exchanges(self) -> list[SlowExchange]:
        """Return them, the slowest first."""
        return [slow for _, _, slow in sorted(self._kept, reverse=True, key=lambda each: each[:2])]
