"""The split of a latency: its time in the client, on the network, and at the broker.

    due         the request should be sent       queued
    written     its last byte is written         path (both ways), broker
    first       the response's first byte        receiving
    last        the response's last byte         decoding
    done        the program has the response

The parts of a latency add up to it. The end-to-end latency of a record ends when a consumer has it:
the response is then that of a fetch, which may have reached the broker later than the record:

    produce     written ------> at the broker
    fetch           written ---------> at the broker, first, last, done
                                 asking

The path is the round trip of the network; one way is half of it.
"""

from typing import NamedTuple


class RequestTimes(NamedTuple):
    """The timestamps of one request, on one clock.

    Attributes:
        due_ns: when it should be sent.
        written_ns: when its last byte was written to the socket.
        first_ns: when the first byte of the response arrived.
        last_ns: when the last byte of the response arrived.
        done_ns: when the response was decoded.
    """

    due_ns: int
    written_ns: int
    first_ns: int
    last_ns: int
    done_ns: int


class LatencySplit(NamedTuple):
    """The parts of one latency.

    Attributes:
        queued_ns: from the due time until its last byte was written.
        path_ns: the round trip of the network.
        broker_ns: until the response's first byte, without the path.
        asking_ns: while the broker had the record, but no waiting fetch.
        receiving_ns: from the response's first byte to its last.
        decoding_ns: until the program had the response.
    """

    queued_ns: int = 0
    path_ns: int = 0
    broker_ns: int = 0
    asking_ns: int = 0
    receiving_ns: int = 0
    decoding_ns: int = 0

    @property
    def total_ns(self) -> int:
        """Return the whole latency."""
        return sum(self)

    @property
    def network_ns(self) -> int:
        """Return the time on the network."""
        return self.path_ns + self.receiving_ns

    @property
    def client_ns(self) -> int:
        """Return the time in the client, and until it asked."""
        return self.queued_ns + self.asking_ns + self.decoding_ns


def split_request(times: RequestTimes, rtt_ns: int) -> LatencySplit:
    """Return the parts of a request's latency.

    Args:
        times: the timestamps of the request.
        rtt_ns: the round trip of the network on its connection; 0 if it is not known.
    """
    waited_ns = max(0, times.first_ns - times.written_ns)
    path_ns = min(rtt_ns, waited_ns)
    return LatencySplit(
        queued_ns=max(0, times.written_ns - times.due_ns),
        path_ns=path_ns,
        broker_ns=waited_ns - path_ns,
        receiving_ns=max(0, times.last_ns - times.first_ns),
        decoding_ns=max(0, times.done_ns - times.last_ns),
    )


def split_handover(due_ns: int, written_ns: int) -> LatencySplit:
    """Return the parts of the latency of a request without a response."""
    return LatencySplit(queued_ns=max(0, written_ns - due_ns))


class OneWay(NamedTuple):
    """A request on its way to the broker.

    Attributes:
        written_ns: when its last byte was written.
        rtt_ns: the round trip of the network on its connection; 0 if it is not known.
    """

    written_ns: int
    rtt_ns: int

    @property
    def arrived_ns(self) -> int:
        """Return when it reached the broker."""
        return self.written_ns + self.rtt_ns // 2


def split_end_to_end(
    due_ns: int, produce: OneWay, fetch: RequestTimes, fetch_rtt_ns: int
) -> LatencySplit:
    """Return the parts of a record's end-to-end latency, from its due time until it was read.

    Args:
        due_ns: when the record should be sent.
        produce: the request that carried it.
        fetch: the timestamps of the fetch that returned it.
        fetch_rtt_ns: the round trip of the network on the fetch's connection.
    """
    waited_ns = max(0, fetch.first_ns - produce.written_ns)
    path_ns = min(waited_ns, produce.rtt_ns // 2 + fetch_rtt_ns // 2)
    asked_ns = OneWay(fetch.written_ns, fetch_rtt_ns).arrived_ns
    asking_ns = min(max(0, asked_ns - produce.arrived_ns), waited_ns - path_ns)
    return LatencySplit(
        queued_ns=max(0, produce.written_ns - due_ns),
        path_ns=path_ns,
        broker_ns=waited_ns - path_ns - asking_ns,
        asking_ns=asking_ns,
        receiving_ns=max(0, fetch.last_ns - fetch.first_ns),
        decoding_ns=max(0, fetch.done_ns - fetch.last_ns),
    )


def joined(first: LatencySplit, second: LatencySplit) -> LatencySplit:
    """Return the sums of the parts of two latencies."""
    return LatencySplit(*(one + other for one, other in zip(first, second, strict=True)))


def scaled(split: LatencySplit, total_ns: int) -> LatencySplit:
    """Return parts of the same proportions that add up to another latency."""
    before_ns = split.total_ns
    if not before_ns:
        return split
    parts = [part_ns * total_ns // before_ns for part_ns in split]
    largest = max(range(len(parts)), key=parts.__getitem__)
    parts[largest] += total_ns - sum(parts)  # what rounding has left
    return LatencySplit(*parts)
