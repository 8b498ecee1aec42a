"""A client and a broker that a delayed link parts, and what tcpdump sees at either end of it.

    with DelayedPath(tmp_path, "--delay-ms", "10") as path:
        path.produce(Load(100_000, number=20), Buffers(broker_receive=32768))
    path.captures["client"]

Client and broker are sockets of this process, each in its own network namespace, which send frames
of Kafka's protocol to each other as fast as they are let. Congestion control is Reno, which every
Linux has and which minds every loss. Needs root.
"""

import os
import socket
import struct
from contextlib import ExitStack
from pathlib import Path
from threading import Event, Thread
from typing import NamedTuple, Self

from delays.delayed_network import ADDRESSES, DelayedNetwork
from kdiag.wire.api import fetch, produce
from recordings.exchange_maker import make_batch, request_bytes, response_bytes

PORT = 9092

_TIMEOUT_S = 60.0
_CHUNK_BYTES = 1 << 16
_CORRELATION_ID = struct.Struct(">i")


class Load(NamedTuple):
    """What is sent.

    Attributes:
        frame_bytes: size of the record batch in each request or response.
        number: how many.
        in_flight: how many requests may wait for their responses.
        pause_s: for how long the receiver of the batches rests after each 64 KiB.
    """

    frame_bytes: int
    number: int
    in_flight: int = 5
    pause_s: float = 0.0


class Buffers(NamedTuple):
    """Socket buffers that are set; 0 leaves one to the kernel."""

    client_send: int = 0
    client_receive: int = 0
    broker_send: int = 0
    broker_receive: int = 0


class Talk(NamedTuple):
    """The frames of a kind of exchange, their length included, with correlation id 0."""

    request: bytes
    response: bytes


def producing(size: int) -> Talk:
    """Return a Produce request with a batch of about `size` bytes, and its response."""
    data = produce.PartitionProduceData(records=make_batch(os.urandom(size)))
    topic = produce.TopicProduceData(name="orders", partition_data=[data])
    answer = produce.TopicProduceResponse(
        name="orders", partition_responses=[produce.PartitionProduceResponse()]
    )
    request = produce.ProduceRequest(acks=1, topic_data=[topic])
    response = produce.ProduceResponse(responses=[answer])
    return _talk(request_bytes(request, 9), response_bytes(response, 9))


def fetching(size: int) -> Talk:
    """Return a Fetch request, and its response with a batch of about `size` bytes."""
    asked = fetch.FetchTopic(topic="orders", partitions=[fetch.FetchPartition()])
    data = fetch.PartitionData(records=make_batch(os.urandom(size)))
    answer = fetch.FetchableTopicResponse(topic="orders", partitions=[data])
    request = fetch.FetchRequest(max_wait_ms=500, min_bytes=1, topics=[asked])
    response = fetch.FetchResponse(responses=[answer])
    return _talk(request_bytes(request, 12), response_bytes(response, 12))


def _talk(request: bytes, response: bytes) -> Talk:
    return Talk(*(_CORRELATION_ID.pack(len(each)) + each for each in (request, response)))


class DelayedPath:
    """Two namespaces with a link between them, recorded at both ends while it is open.

    Attributes:
        captures: the capture of either end, complete once the path is closed.
    """

    def __init__(self, folder: Path, *link_options: str) -> None:
        self.captures = {end: folder / f"{end}.pcap" for end in ADDRESSES}
        self._network = DelayedNetwork(*link_options)
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        with ExitStack() as stack:
            stack.enter_context(self._network)
            stack.enter_context(self._network.recording(self.captures))
            self._stack = stack.pop_all()
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def produce(self, load: Load, buffers: Buffers = Buffers()) -> None:  # noqa: B008 - immutable
        """Have the client send batches to the broker."""
        self._exchange(producing(load.frame_bytes), load, buffers)

    def consume(self, load: Load, buffers: Buffers = Buffers()) -> None:  # noqa: B008 - immutable
        """Have the client fetch batches from the broker."""
        self._exchange(fetching(load.frame_bytes), load, buffers)

    def _exchange(self, talk: Talk, load: Load, buffers: Buffers) -> None:
        with ExitStack() as stack:
            client, broker = (stack.enter_context(each) for each in self._connect(buffers, stack))
            is_produce = len(talk.request) > len(talk.response)
            pauses = (0.0, load.pause_s) if is_produce else (load.pause_s, 0.0)
            answering = Thread(target=_answer, args=(broker, talk, load.number, pauses[1]))
            answering.start()
            _ask(client, talk, load, pauses[0])
            answering.join(_TIMEOUT_S)

    def _connect(self, buffers: Buffers, stack: ExitStack) -> tuple[socket.socket, socket.socket]:
        """Return the two ends of a new connection."""
        with self._network.inside("broker"):
            listener = stack.enter_context(socket.socket())
        _set_buffers(listener, buffers.broker_send, buffers.broker_receive)
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((ADDRESSES["broker"], PORT))
        listener.listen()
        listener.settimeout(_TIMEOUT_S)
        with self._network.inside("client"):
            client = socket.socket()
        _set_buffers(client, buffers.client_send, buffers.client_receive)
        client.settimeout(_TIMEOUT_S)
        client.connect((ADDRESSES["broker"], PORT))
        broker, _ = listener.accept()
        broker.settimeout(_TIMEOUT_S)
        for end in (client, broker):
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            end.setsockopt(socket.IPPROTO_TCP, socket.TCP_CONGESTION, b"reno")
        return client, broker


def _set_buffers(end: socket.socket, send: int, receive: int) -> None:
    for option, size in ((socket.SO_SNDBUF, send), (socket.SO_RCVBUF, receive)):
        if size:
            end.setsockopt(socket.SOL_SOCKET, option, size)


def _ask(client: socket.socket, talk: Talk, load: Load, pause_s: float) -> None:
    """Send requests and read responses until all are answered."""
    answered = 0
    for number in range(load.number):
        if number - answered >= load.in_flight:
            _read_frame(client, pause_s)
            answered += 1
        client.sendall(talk.request[:8] + _CORRELATION_ID.pack(number) + talk.request[12:])
    for _ in range(load.number - answered):
        _read_frame(client, pause_s)


def _answer(broker: socket.socket, talk: Talk, count: int, pause_s: float) -> None:
    """Answer each request as soon as it is read."""
    for number in range(count):
        _read_frame(broker, pause_s)
        broker.sendall(talk.response[:4] + _CORRELATION_ID.pack(number) + talk.response[8:])


def _read_frame(end: socket.socket, pause_s: float) -> None:
    """Read a frame to its end, resting after each piece."""
    left = _CORRELATION_ID.unpack(_read(end, 4, 0.0))[0]
    _read(end, left, pause_s)


def _read(end: socket.socket, size: int, pause_s: float) -> bytes:
    parts = bytearray()
    rested = 0
    while len(parts) < size:
        part = end.recv(min(size - len(parts), _CHUNK_BYTES))
        if not part:
            raise ConnectionError("the other end hung up")
        parts += part
        if pause_s and len(parts) - rested >= _CHUNK_BYTES:
            rested = len(parts)
            Event().wait(pause_s)
    return bytes(parts)
