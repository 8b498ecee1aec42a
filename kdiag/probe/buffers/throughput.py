"""Measures how fast records go to a broker, or come from it, over a connection of its own.

    run 1:  connect, warm up |------- measured -------| close
            as many requests as allowed are in flight all the time

How it works. What is counted is the payload that TCP delivered between two moments, not whole
requests, which over a slow path take longer than a run. The warm-up is for the congestion window
and for buffers that the kernel lets grow. What is still on its way at the end is left to its fate.
"""

from collections import deque
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.consumer_network_client import ResponseFuture
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.buffers.facts import LoadDirection, LoadKind, ProofRun
from kdiag.errors import DisconnectedError, ProbeError
from kdiag.net.tcp_info import SocketFacts
from kdiag.probe.buffers.load import Target, answered_bytes, fetch_request, produce_request
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse

_WARM_UP_NS: Final = 250_000_000
_WARM_UP_ROUND_TRIPS: Final = 12
_WARM_UP_SHARE: Final = 3


class RunSettings(NamedTuple):
    """One run.

    Attributes:
        direction: which way the records go.
        load: how it is called.
        size_bytes: the buffers that the client was made with.
        turn_bytes: how much one Fetch asks for.
        in_flight: how many requests are on their way all the time.
        rtt_ns: the round trip, by which the warm-up goes.
        time_ns: how long to measure.
        max_bytes: how much may be moved, warm-up included.
    """

    direction: LoadDirection
    load: LoadKind
    size_bytes: int
    turn_bytes: int
    in_flight: int
    rtt_ns: int
    time_ns: int
    max_bytes: int

    @property
    def warm_up_ns(self) -> int:
        """Return how long nothing is measured."""
        return _WARM_UP_NS + _WARM_UP_ROUND_TRIPS * self.rtt_ns


def measure(client: ClusterClient, target: Target, settings: RunSettings, batch: bytes) -> ProofRun:
    """Return how fast records went.

    Args:
        client: made for this run alone, not connected to the broker yet.
        target: where to produce to, or to fetch from.
        settings: what to do.
        batch: what to produce.

    Raises:
        ProbeError: if the broker refuses, or has nothing to be fetched.
        KdiagError: if it cannot be reached, or the connection breaks.
    """
    client.ask(target.node_id, ApiVersionsRequest(), ApiVersionsResponse, version=0)
    pump = _Pump(client, target, settings, batch)
    pump.run(settings.warm_up_ns, settings.max_bytes // _WARM_UP_SHARE)
    began_ns, before_bytes = client.clock.monotonic_ns(), pump.moved_bytes()
    pump.run(settings.time_ns, settings.max_bytes)
    ended_ns, after_bytes = client.clock.monotonic_ns(), pump.moved_bytes()
    return ProofRun(
        direction=settings.direction,
        load=settings.load,
        size_bytes=settings.size_bytes,
        moved_bytes=after_bytes - before_bytes,
        time_ns=ended_ns - began_ns,
        total_bytes=after_bytes,
        load_bytes=pump.load_bytes,
        facts=pump.facts(),
        throttled_ns=pump.throttled_ms * NS_PER_MS,
    )


class _Pump:
    """Keeps requests in flight.

    Attributes:
        load_bytes: what so many requests stand for, by the largest answer; before there is one, by
            what was asked for.
        throttled_ms: for how long the broker has said that it leaves the connection alone.
    """

    def __init__(
        self, client: ClusterClient, target: Target, settings: RunSettings, batch: bytes
    ) -> None:
        self.throttled_ms = 0
        self._client = client
        self._node_id = target.node_id
        self._in_flight = settings.in_flight
        self._is_produce = settings.direction is LoadDirection.PRODUCE
        self._request = (
            produce_request(target, batch)
            if self._is_produce
            else fetch_request(target, settings.turn_bytes)
        )
        self.load_bytes = settings.in_flight * (
            len(batch) if self._is_produce else settings.turn_bytes
        )
        self._batch_bytes = len(batch)
        self._largest_bytes = 0
        self._answered_bytes = 0
        self._asked: deque[ResponseFuture] = deque()

    def run(self, time_ns: int, until_bytes: int) -> None:
        """Go on for a while, or until so much was moved since the beginning.

        Raises:
            KdiagError: if a request fails.
        """
        until_ns = self._client.clock.monotonic_ns() + time_ns
        while self._client.clock.monotonic_ns() < until_ns and self.moved_bytes() < until_bytes:
            while len(self._asked) < self._in_flight:
                self._asked.append(self._client.send(self._node_id, self._request))
            self._client.client.poll(until_ns)
            while self._asked and self._asked[0].is_done:
                self._take(self._asked.popleft())

    def moved_bytes(self) -> int:
        """Return how much was delivered; where the system does not tell, in whole requests.

        Raises:
            KdiagError: if the connection has ended.
        """
        facts = self.facts()
        told = facts.acked_bytes if self._is_produce else facts.received_bytes
        return self._answered_bytes if told is None else told

    def facts(self) -> SocketFacts:
        """Return what the system tells now.

        Raises:
            KdiagError: if the connection has ended.
        """
        facts = self._client.socket_facts(self._node_id)
        if facts is None:
            raise self._client.connection_error(self._node_id) or DisconnectedError(
                f"{self._client.node(self._node_id).endpoint}: the connection has ended"
            )
        return facts

    def _take(self, future: ResponseFuture) -> None:
        if not future.succeeded:
            raise self._client.connection_error(self._node_id) or future.error()
        moved_bytes, throttled_ms = answered_bytes(future.value().body, self._batch_bytes)
        if not moved_bytes:
            raise ProbeError(f"broker {self._node_id}", "it has no records to be fetched")
        self._largest_bytes = max(self._largest_bytes, moved_bytes)
        self.load_bytes = self._in_flight * self._largest_bytes
        self._answered_bytes += moved_bytes
        self.throttled_ms += throttled_ms
