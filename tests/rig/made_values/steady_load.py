"""Captures of a client that writes at a steady rate, with latencies as brokers have them.

Answers that follow each other are alike (what makes one late makes the next late), now and then
everything pauses, and each run is a little faster or slower than the others.
"""

import math
import random
import struct
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse
from kdiag.wire.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from recordings.capture_writer import Packet, savefile
from recordings.exchange_maker import START_NS, make_batch, request_bytes, response_bytes

_MS: Final = 1_000_000
_VERSION: Final = 7
_ALIKE: Final = 0.8
_SPREAD: Final = 0.35
_DRIFT: Final = 0.04
_PAUSE_CHANCE: Final = 0.004
_PAUSE_MS: Final = 30.0


class Load(NamedTuple):
    """A load.

    Attributes:
        requests: how many.
        every_ms: how far apart.
        latency_ms: of a usual answer.
        delay_ms: of every answer, on top.
        records: of a batch.
        acks: of each request.
        clients: their ids, in turns.
    """

    requests: int = 400
    every_ms: float = 20.0
    latency_ms: float = 2.0
    delay_ms: float = 0.0
    records: int = 10
    acks: int = 1
    clients: tuple[str, ...] = ("writer",)


USUAL: Final = Load()


def write_load(file: Path, seed: int, load: Load = USUAL) -> Path:
    """Write a capture of a load; return its file."""
    packets = sorted(_packets(random.Random(seed), load), key=lambda one: one.time_ns)
    file.write_bytes(savefile(packets))
    return file


def _latencies(chance: random.Random, load: Load) -> Iterator[float]:
    """Yield latencies in milliseconds."""
    usual = load.latency_ms * math.exp(chance.gauss(0, _DRIFT))
    state = pause_ms = 0.0
    for _ in range(load.requests):
        state = _ALIKE * state + math.sqrt(1 - _ALIKE**2) * chance.gauss(0, 1)
        pause_ms = max(0.0, pause_ms - load.every_ms)
        if chance.random() < _PAUSE_CHANCE:
            pause_ms = _PAUSE_MS
        yield usual * math.exp(_SPREAD * state) + min(pause_ms, load.every_ms / 2) + load.delay_ms


def _packets(chance: random.Random, load: Load) -> Iterator[Packet]:
    """Yield the packets of all clients, connection by connection."""
    talks = [_Talk(40_000 + number) for number in range(len(load.clients))]
    for talk in talks:
        yield from talk.opening()
    for number, latency_ms in enumerate(_latencies(chance, load)):
        place = number % len(load.clients)
        client_id, talk = load.clients[place], talks[place]
        asked_ns = START_NS + round((1 + number) * load.every_ms * _MS)
        is_write = number % 10 != 0
        made = _produce(chance, load) if is_write else (MetadataRequest(), MetadataResponse())
        version = _VERSION if is_write else 1
        request = request_bytes(made[0], version, correlation_id=number, client_id=client_id)
        yield talk.send(0, request, asked_ns)
        response = response_bytes(made[1], version, correlation_id=number)
        yield talk.send(1, response, asked_ns + round(latency_ms * _MS))


def _produce(chance: random.Random, load: Load) -> tuple[ProduceRequest, ProduceResponse]:
    count = max(1, round(load.records * chance.uniform(0.7, 1.3)))
    batch = make_batch(*(b"x" * 100 for _ in range(count)))
    partition = PartitionProduceData(index=0, records=batch)
    topic = TopicProduceData(name="orders", partition_data=[partition])
    answer = TopicProduceResponse(
        name="orders", partition_responses=[PartitionProduceResponse(index=0, error_code=0)]
    )
    request = ProduceRequest(acks=load.acks, timeout_ms=30_000, topic_data=[topic])
    return request, ProduceResponse(responses=[answer])


class _Talk:
    """A connection, packet by packet."""

    def __init__(self, port: int) -> None:
        self._ends = ((bytes([10, 0, 0, 1]), port), (bytes([10, 0, 0, 2]), 9092))
        self._sequences = [1000, 5000]

    def opening(self) -> Iterator[Packet]:
        """Yield the handshake."""
        for number, (side, flags) in enumerate(((0, 0x02), (1, 0x12), (0, 0x10))):
            yield self._packet(side, b"", flags, START_NS + number * 1000)

    def send(self, side: int, frame: bytes, time_ns: int) -> Packet:
        """Return a frame on its way."""
        return self._packet(side, struct.pack(">i", len(frame)) + frame, 0x18, time_ns)

    def _packet(self, side: int, payload: bytes, flags: int, time_ns: int) -> Packet:
        (source, source_port), (target, target_port) = self._ends[side], self._ends[1 - side]
        ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(payload), 7, 0x4000, 64, 6, 0)
        numbers = (source_port, target_port, self._sequences[side], self._sequences[1 - side])
        tcp = struct.pack(">HHIIBBHHH", *numbers, 5 << 4, flags, 501, 0, 0)
        self._sequences[side] += len(payload) + (1 if flags & 0x02 else 0)
        return Packet(b"\x02" * 12 + b"\x08\x00" + ip + source + target + tcp + payload, time_ns)
