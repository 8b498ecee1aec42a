"""Measures how fast records go to a broker, or come from it, over a connection of its own.

    run 1:  connect, warm up |------- measured -------| close
            as many requests as allowed are in flight all the time

It counts the payload that TCP delivered between two points in time, not whole requests, which over
a slow path take longer than a run. The warm-up is for the congestion window and for buffers that
the kernel grows. Requests that are in flight at the end are abandoned.
"""

from collections import deque
from typing import Final, NamedTuple

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.consumer_network_client import ResponseFuture
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.buffers.facts import LoadDirection, LoadKind, ProofRun
from kdiag.errors import DisconnectedError, ProbeError
from kdiag.net.tcp.tcp_info import SocketFacts
from kdiag.probe.buffers.load import Target, answered_bytes, fetch_request, produce_request
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse

_WARM_UP_NS: Final = 250 * NS_PER_MS
_WARM_UP_ROUND_TRIPS: Final = 12
_WARM_UP_SHARE: Final = 3


class RunSettings(NamedTuple):
    """The settings of one run.

    Attributes:
        direction: of the records.
        load: its name.
        size_bytes: of the client's buffers.
        turn_bytes: the bytes that one Fetch requests.
        in_flight: how many requests are in flight all the time.
        rtt_ns: the round trip, which the warm-up depends on.
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
        """Return how long the warm-up is."""
        return _WARM_UP_NS + _WARM_UP_ROUND_TRIPS * self.rtt_ns


def measure(client: ClusterClient, target: Target, settings: RunSettings, batch: bytes) -> ProofRun:
    """Measure one run.

    Args:
        client: made for this run alone, not connected to the broker yet.
        target: the partitions to produce to, or to fetch from.
        settings: of the run.
        batch: to produce.

    Raises:
        ProbeError: if the broker refuses, or has nothing to fetch.
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
        load_bytes: the bytes in flight, by the largest answer; before the first answer, by the
            requests.
        throttled_ms: how long the broker has muted the connection, by its answers.
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
        """Go on for a while, or until so many bytes were moved since the beginning.

        Raises:
            KdiagError: if a request fails.
        """
        until_ns = self._client.clock.monotonic_ns() + time_ns
        while self._client.clock.monotonic_ns() < until_ns and self.moved_bytes() < until_bytes:
            while len(self._asked) < self._in_flight:
                self._asked.append(self._client.send(self._node_id, self._request))
            self._client.client.poll(until_ns)
            while self._asked and self._asked[0].is_done:
                self._handle_answer(self._asked.popleft())

    def moved_bytes(self) -> int:
        """Return how many bytes were delivered; by whole requests where the system does not say.

        Raises:
            KdiagError: if the connection has ended.
        """
        facts = self.facts()
        delivered = facts.acked_bytes if self._is_produce else facts.received_bytes
        return self._answered_bytes if delivered is None else delivered

    def facts(self) -> SocketFacts:
        """Return the facts of the socket now.

        Raises:
            KdiagError: if the connection has ended.
        """
        facts = self._client.socket_facts(self._node_id)
        if facts is None:
            raise self._client.connection_error(self._node_id) or DisconnectedError(
                f"{self._client.node(self._node_id).endpoint}: the connection has ended"
            )
        return facts

    def _handle_answer(self, future: ResponseFuture) -> None:
        if not future.succeeded:
            raise self._client.connection_error(self._node_id) or future.error()
        moved_bytes, throttled_ms = answered_bytes(future.value().body, self._batch_bytes)
        if not moved_bytes:
            raise ProbeError(f"broker {self._node_id}", "it has no records to be fetched")
        self._largest_bytes = max(self._largest_bytes, moved_bytes)
        self.load_bytes = self._in_flight * self._largest_bytes
        self._answered_bytes += moved_bytes
        self.throttled_ms += throttled_ms
