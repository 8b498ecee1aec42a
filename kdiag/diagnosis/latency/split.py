"""One latency and where its time went: in the client, on the network, or at the broker.

    due         it should be sent              queued
    written     its last byte is handed over   path (both ways), broker
    first       the answer's first byte        receiving
    last        the answer's last byte         decoding
    done        the program has the answer

The parts of a latency add up to it. A record has come to its end when a consumer has it; then the
answer is that of a fetch, which may not have been at the broker yet when the record came there:

    produce     written ------> at the broker
    fetch           written ---------> at the broker, first, last, done
                                 asking

The path is the round trip of the network; one way is half of it.
"""

from typing import NamedTuple


class RequestTimes(NamedTuple):
    """When what happened to one request, on one clock.

    Attributes:
        due_ns: when it should be sent.
        written_ns: when its last byte was handed to the system.
        first_ns: when the first byte of the answer was there.
        last_ns: when the last byte of the answer was there.
        done_ns: when the answer was decoded.
    """

    due_ns: int
    written_ns: int
    first_ns: int
    last_ns: int
    done_ns: int


class LatencySplit(NamedTuple):
    """The parts of one latency.

    Attributes:
        queued_ns: from when it was due until its last byte was handed over.
        path_ns: the round trip of the network.
        broker_ns: until the answer's first byte, without the path.
        asking_ns: while the broker had the record, but no fetch that waits for it.
        receiving_ns: from the answer's first byte to its last.
        decoding_ns: until the program had the answer.
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
        """Return what the network took."""
        return self.path_ns + self.receiving_ns

    @property
    def client_ns(self) -> int:
        """Return what the client took, or did not ask for."""
        return self.queued_ns + self.asking_ns + self.decoding_ns


def split_request(moments: RequestTimes, rtt_ns: int) -> LatencySplit:
    """Return the parts of a request's latency.

    Args:
        moments: when it happened.
        rtt_ns: the round trip of the network on its connection; 0 if nobody knows.
    """
    waited_ns = max(0, moments.first_ns - moments.written_ns)
    path_ns = min(rtt_ns, waited_ns)
    return LatencySplit(
        queued_ns=max(0, moments.written_ns - moments.due_ns),
        path_ns=path_ns,
        broker_ns=waited_ns - path_ns,
        receiving_ns=max(0, moments.last_ns - moments.first_ns),
        decoding_ns=max(0, moments.done_ns - moments.last_ns),
    )


def split_handover(due_ns: int, written_ns: int) -> LatencySplit:
    """Return the parts of the latency of a request that has no answer."""
    return LatencySplit(queued_ns=max(0, written_ns - due_ns))


class OneWay(NamedTuple):
    """A request on its way to the broker.

    Attributes:
        written_ns: when its last byte was handed over.
        rtt_ns: the round trip of the network on its connection; 0 if nobody knows.
    """

    written_ns: int
    rtt_ns: int

    @property
    def arrived_ns(self) -> int:
        """Return when it was at the broker."""
        return self.written_ns + self.rtt_ns // 2


def split_end_to_end(
    due_ns: int, produce: OneWay, fetch: RequestTimes, fetch_rtt_ns: int
) -> LatencySplit:
    """Return the parts of the time from a record's place on the schedule until it was read.

    Args:
        due_ns: when the record should be sent.
        produce: the request that carried it.
        fetch: the moments of the fetch that brought it.
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
    """Return the parts of one latency that follows another."""
    return LatencySplit(*(one + other for one, other in zip(first, second, strict=True)))


def scaled(split: LatencySplit, total_ns: int) -> LatencySplit:
    """Return parts in the same proportions that add up to another latency."""
    before_ns = split.total_ns
    if not before_ns:
        return split
    parts = [part_ns * total_ns // before_ns for part_ns in split]
    largest = max(range(len(parts)), key=parts.__getitem__)
    parts[largest] += total_ns - sum(parts)  # what rounding has left
    return LatencySplit(*parts)
