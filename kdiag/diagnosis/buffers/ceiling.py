"""Ceilings: the rate that a path allows a client, predicted from sizes and round trips.

How it works. In each round trip no more bytes go than the tightest of these allows:

    the sender's buffer      1.5  times its size: the kernel doubles it and needs part of that
    the receiver's buffer    1.12 times its size, likewise, as it is advertised in windows
    a request cycle          the bytes that the client sends, or asks for, before it waits for a
                             response; it takes the round trip of a request and the time to send;
                             BBR spreads a lone request over about half of a round trip
    the rate                 of the link, as given

The factors are measured: on Linux 6.18, 20 and 80 ms, raw TCP and Kafka, 32 KiB to 4 MiB. The
broker's kernel, its largest buffers and its congestion control, is assumed to be like this one. The
time of a client between two cycles is not counted: kafka-python asks for more when it has read all
records of a fetch, and over 20 ms reached 23 MB/s instead of the predicted 33.

Example: a round trip of 20.5 ms, Java's producer with a send buffer of 128 KiB, a broker with a
receive buffer of 100 KiB: min(1.5 * 131072, 1.12 * 102400) / 20.5 ms is 5.6 MB/s, by the broker's
buffer. But 5 batches of 16 KiB take 22 ms for their responses and 0.7 ms to send, which makes
3.6 MB/s: the batches are the tighter bound.
"""

from collections.abc import Iterator
from enum import StrEnum
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.buffers.facts import (
    BYTES_PER_MB,
    LEFT_TO_KERNEL,
    BrokerPath,
    KernelLimits,
    LoadDirection,
)

SEND_FACTOR: Final = 1.5
"""Bytes in flight for each byte of a send buffer, as sizes are set."""
RECEIVE_FACTOR: Final = 1.12
"""Bytes in flight for each byte of a receive buffer, as sizes are set."""

_BBR: Final = "bbr"
_PACED_ROUND_TRIPS: Final = 0.45
_NEAR_THE_RATE: Final = 0.95
"""From which part of the rate on the rate holds a cycle, whose bytes take time to send."""
_BITS: Final = 8
_DIGITS: Final = 2
_KIB: Final = 1 << 10


class Bound(StrEnum):
    """The bounds of a transfer."""

    CLIENT_BUFFER = "client_buffer"
    BROKER_BUFFER = "broker_buffer"
    BATCHES_IN_FLIGHT = "batches_in_flight"
    FETCH_SIZE = "fetch_size"
    RATE = "rate"
    """The rate to make room for: no other bound is tighter."""
    PATH = "path"
    """None of the buffers: the network, the broker or this machine."""


class ClientDefaults(NamedTuple):
    """The defaults of a client in one direction.

    Attributes:
        client: `java`, `librdkafka` or `kafka-python`.
        direction: the direction of the records.
        setting: the client's setting of its buffer.
        buffer_bytes: the size of the buffer, or `LEFT_TO_KERNEL`.
        cycle: the settings that make up a request cycle.
        cycle_bytes: its size; None if it is not limited.
        requests: its number of requests, which are in flight at the same time.
    """

    client: str
    direction: LoadDirection
    setting: str
    buffer_bytes: int
    cycle: str
    cycle_bytes: int | None
    requests: int = 1


class Ceiling(NamedTuple):
    """The predicted rate of a client.

    Attributes:
        client: as in `ClientDefaults`.
        direction: the direction of the records.
        setting: the defaults that matter.
        mb_per_s: the rate, in 10**6 bytes per second.
        bound_by: the tightest bound.
        bound_bytes: the bytes that it allows in a round trip; None for the rate.
    """

    client: str
    direction: LoadDirection
    setting: str
    mb_per_s: float
    bound_by: Bound
    bound_bytes: int | None


CLIENT_DEFAULTS: Final = (
    ClientDefaults(
        "java",
        LoadDirection.PRODUCE,
        "send.buffer.bytes=131072",
        128 * _KIB,
        "5 x batch.size=16384",
        5 * 16 * _KIB,
        5,
    ),
    ClientDefaults(
        "java",
        LoadDirection.FETCH,
        "receive.buffer.bytes=65536",
        64 * _KIB,
        "max.partition.fetch.bytes=1048576",
        1024 * _KIB,
    ),
    ClientDefaults(
        "librdkafka",
        LoadDirection.PRODUCE,
        "socket.send.buffer.bytes=0",
        LEFT_TO_KERNEL,
        "batch.size=1000000",
        None,  # a million requests may be in flight
    ),
    ClientDefaults(
        "librdkafka",
        LoadDirection.FETCH,
        "socket.receive.buffer.bytes=0",
        LEFT_TO_KERNEL,
        "fetch.message.max.bytes=1048576",
        1024 * _KIB,
    ),
    ClientDefaults(
        "kafka-python",
        LoadDirection.PRODUCE,
        "no SO_SNDBUF",
        LEFT_TO_KERNEL,
        "batch_size=16384",
        16 * _KIB,  # idempotent, as it is by default, it has one batch of a partition in flight
    ),
    ClientDefaults(
        "kafka-python",
        LoadDirection.FETCH,
        "no SO_RCVBUF",
        LEFT_TO_KERNEL,
        "max_partition_fetch_bytes=1048576",
        1024 * _KIB,
    ),
)
"""Kafka 4.x, librdkafka 2.x, kafka-python 3.0; producers and consumers of one partition."""


def ceilings(path: BrokerPath, limits: KernelLimits, bits_per_s: int) -> list[Ceiling]:
    """Return the ceilings of clients with their defaults; none if the round trip is not known.

    Args:
        path: the path to the broker.
        limits: the limits of this machine's kernel, which stand for the broker's as well.
        bits_per_s: the rate to make room for.
    """
    return [ceiling(each, path, limits, bits_per_s) for each in CLIENT_DEFAULTS if path.rtt_ns]


def ceiling(
    client: ClientDefaults, path: BrokerPath, limits: KernelLimits, bits_per_s: int
) -> Ceiling:
    """Return the ceiling of a client; the arguments are those of `ceilings`."""
    assert path.rtt_ns
    bounds = list(_bounds(client, path, limits))
    rate = bits_per_s / _BITS / BYTES_PER_MB
    has_bbr = path.facts is not None and path.facts.congestion_control == _BBR
    is_paced = has_bbr and client.requests == 1
    held = [
        (_rate_of(bound, size, path, rate, is_paced=is_paced), bound, size)
        for bound, size in bounds
    ]
    mb_per_s, bound, size = min([*held, (rate, Bound.RATE, None)], key=lambda each: each[0])
    if mb_per_s >= _NEAR_THE_RATE * rate:
        bound, size = Bound.RATE, None
    return Ceiling(
        client.client,
        client.direction,
        f"{client.setting}, {client.cycle}",
        round(mb_per_s, _DIGITS),
        bound,
        size,
    )


def _bounds(
    client: ClientDefaults, path: BrokerPath, limits: KernelLimits
) -> Iterator[tuple[Bound, int]]:
    """Yield the bytes that each bound allows in a round trip."""
    is_produce = client.direction is LoadDirection.PRODUCE
    own, size = client.buffer_bytes, client.cycle_bytes
    sent = limits.send_bytes(own if is_produce else path.config.send_buffer_bytes)
    received = limits.receive_bytes(path.config.receive_buffer_bytes if is_produce else own)
    senders, receivers = (
        (Bound.CLIENT_BUFFER, Bound.BROKER_BUFFER)
        if is_produce
        else (Bound.BROKER_BUFFER, Bound.CLIENT_BUFFER)
    )
    if sent is not None:
        yield senders, round(SEND_FACTOR * sent)
    if received is not None:
        yield receivers, round(RECEIVE_FACTOR * received)
    if size is not None:
        yield Bound.BATCHES_IN_FLIGHT if is_produce else Bound.FETCH_SIZE, size


def _rate_of(
    bound: Bound, size: int, path: BrokerPath, rate_mb_per_s: float, *, is_paced: bool
) -> float:
    """Return the rate with that many bytes in each round trip, in 10**6 bytes per second."""
    assert path.rtt_ns
    time_s = path.rtt_ns / NS_PER_S
    if bound in {Bound.BATCHES_IN_FLIGHT, Bound.FETCH_SIZE}:
        sending_s = size / rate_mb_per_s / BYTES_PER_MB
        if is_paced:
            sending_s = max(sending_s, _PACED_ROUND_TRIPS * time_s)
        time_s = max(path.request_rtt_ns or 0, path.rtt_ns) / NS_PER_S + sending_s
    return size / time_s / BYTES_PER_MB
