"""Request cycles: the sizes and times of a connection's requests, which tell a program from TCP.

A program that waits for responses sends no more in a round trip than all of its requests in flight
contain, whatever TCP would allow. So the measures are the size of requests, the number in flight,
and the time to the response. Means are weighted with bytes, so that a hundred small requests do not
hide the few that carry the data.
"""

import msgspec

from kdiag.exchange.model import Exchange
from kdiag.wire.frame import LENGTH_BYTES, Frame


class Frames(msgspec.Struct):
    """The frames of one direction, summed up.

    Attributes:
        count: their number.
        bytes: their bytes.
        squares: the sum of the squares of their sizes.
        latency_products: the sum of size times latency, of those with a response.
        answered_bytes: the bytes of those with a response.
        by_api: bytes by API key.
    """

    count: int = 0
    bytes: int = 0
    squares: int = 0
    latency_products: int = 0
    answered_bytes: int = 0
    by_api: dict[int | None, int] = {}

    @property
    def typical_bytes(self) -> int:
        """Return the size of a frame, weighted with bytes; 0 without any."""
        return self.squares // self.bytes if self.bytes else 0

    @property
    def latency_ns(self) -> int | None:
        """Return the time to the response, weighted with bytes; None without any response."""
        return self.latency_products // self.answered_bytes if self.answered_bytes else None

    @property
    def api_key(self) -> int | None:
        """Return the API with the most bytes; None without any."""
        return max(self.by_api, key=lambda key: self.by_api[key], default=None)

    def add(self, frame: Frame, exchange: Exchange) -> None:
        """Count the frame of an exchange."""
        size = frame.size + LENGTH_BYTES
        self.count += 1
        self.bytes += size
        self.squares += size * size
        self.by_api[exchange.api_key] = self.by_api.get(exchange.api_key, 0) + size
        if (latency_ns := exchange.latency_ns) is not None:
            self.answered_bytes += size
            self.latency_products += size * latency_ns


class RequestCycles(msgspec.Struct):
    """The exchanges of one connection, summed up.

    Attributes:
        requests, responses: the frames of both directions.
        pending_ns: the sum of the times from a request's first byte to its response's last.
        first_ns, last_ns: times of the first and the last byte; 0 without any exchange.
        client_id: the client's id; None if it has none.
    """

    requests: Frames = msgspec.field(default_factory=Frames)
    responses: Frames = msgspec.field(default_factory=Frames)
    pending_ns: int = 0
    first_ns: int = 0
    last_ns: int = 0
    client_id: str | None = None

    def add(self, exchange: Exchange) -> None:
        """Count an exchange."""
        request, response = exchange.request, exchange.response
        self.client_id = self.client_id or exchange.client_id
        if request is not None:
            self.requests.add(request, exchange)
            self.first_ns = min(self.first_ns or request.first_byte_ns, request.first_byte_ns)
        if response is not None:
            self.responses.add(response, exchange)
            self.last_ns = max(self.last_ns, response.last_byte_ns)
        if request is not None and response is not None:
            self.pending_ns += max(0, response.last_byte_ns - request.first_byte_ns)

    def in_flight(self, client_rtt_ns: int) -> float:
        """Return the average number of requests in flight (Little's law).

        Args:
            client_rtt_ns: the round trip between vantage point and client, by which the client
                waits longer than the packets show.
        """
        span_ns = self.last_ns - self.first_ns
        pending_ns = self.pending_ns + self.responses.count * client_rtt_ns
        return pending_ns / span_ns if span_ns > 0 else 0.0
