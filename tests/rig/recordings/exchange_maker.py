"""Exchanges, and captures of them, made from messages with kdiag's own encoder."""

import struct
from collections.abc import Iterable
from typing import Any

from kdiag.exchange.model import Connection, Exchange, Protocol, Status
from kdiag.wire.api.heartbeat import HeartbeatRequest, HeartbeatResponse
from kdiag.wire.api.request_header import RequestHeader
from kdiag.wire.api.response_header import ResponseHeader
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import encode
from kdiag.wire.frame import Frame
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from kdiag.wire.schema import Struct, info_of
from recordings.capture_writer import Packet, savefile

START_NS = 1_767_323_045_000_000_006
"""2026-01-02T03:04:05.000000006Z."""

LATENCY_NS = 2_500_000
CLIENT, BROKER = "10.0.0.1:40000", "10.0.0.2:9092"


def request_bytes(
    message: Struct, version: int, *, correlation_id: int = 7, client_id: str | None = "app"
) -> bytes:
    """Return a request's frame without its length."""
    api = API_BY_KEY[_api_key(message)]
    header = RequestHeader(
        request_api_key=api.key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id=client_id,
    )
    return encode(header, api.request_header_version(version)) + encode(message, version)


def response_bytes(message: Struct, version: int, *, correlation_id: int = 7) -> bytes:
    """Return a response's frame without its length."""
    header_version = API_BY_KEY[_api_key(message)].response_header_version(version)
    header = encode(ResponseHeader(correlation_id=correlation_id), header_version)
    return header + encode(message, version)


def _api_key(message: Struct) -> int:
    api_key = info_of(type(message)).api_key
    assert api_key is not None
    return api_key


def whole_frame(data: bytes, time_ns: int = START_NS, packet: int = 1) -> Frame:
    """Return a frame of which nothing is missing, in one packet."""
    return Frame(data, len(data), time_ns, time_ns, packet, packet)


def cut_frame(data: bytes, kept: int, time_ns: int = START_NS) -> Frame:
    """Return a frame of which only the first bytes were captured."""
    return Frame(data[:kept], len(data), time_ns, time_ns, 1, 1, gap_bytes=len(data) - kept)


def make_connection(number: int = 1, **changes: Any) -> Connection:
    """Return a connection that carries Kafka."""
    facts: dict[str, Any] = {
        "number": number,
        "connection_id": f"tcp-{CLIENT}-{BROKER}-{START_NS}",
        "client": CLIENT,
        "broker": BROKER,
        "first_ns": START_NS,
        "last_ns": START_NS,
        "protocol": Protocol.KAFKA,
    }
    return Connection(**facts | changes)


def make_exchange(
    request: Struct | bytes | None,
    response: Struct | bytes | None = None,
    *,
    version: int | None,
    **changes: Any,
) -> Exchange:
    """Return an exchange of two messages, or of frames given as bytes.

    Args:
        request: the request, or its frame without length; None if it was not seen.
        response: likewise.
        version: of both.
        changes: other values for attributes of the exchange.
    """
    api_key = None
    frames: list[Frame | None] = []
    for side, delay_ns in ((request, 0), (response, LATENCY_NS)):
        data = side
        if isinstance(data, Struct):
            assert version is not None
            api_key = _api_key(data)
            write = response_bytes if side is response else request_bytes
            data = write(data, version)
        packet = 2 if delay_ns else 1
        frames.append(None if data is None else whole_frame(data, START_NS + delay_ns, packet))
    facts: dict[str, Any] = {
        "number": 1,
        "connection": make_connection(),
        "api_key": api_key,
        "version": version,
        "correlation_id": 7,
        "client_id": "app",
        "request": frames[0],
        "response": frames[1],
        "pairing": Status.OK,
    }
    return Exchange(**facts | changes)


def make_heartbeat(latency_ns: int | None) -> Exchange:
    """Return a heartbeat that took so long; None for one that was not answered."""
    response = None if latency_ns is None else HeartbeatResponse()
    exchange = make_exchange(HeartbeatRequest(), response, version=4)
    if exchange.response is not None:
        exchange.response.first_byte_ns = START_NS + (latency_ns or 0)
    return exchange


def make_batch(*values: bytes, **header: Any) -> bytes:
    """Return a record batch of values without keys."""
    records = [Record(offset, 1_000, None, value) for offset, value in enumerate(values)]
    return write_batch(records, BatchHeader(**header))


def capture_of(frames: Iterable[tuple[bool, bytes]]) -> bytes:
    """Return a capture file of one connection with its handshake.

    Args:
        frames: in the order of the wire: whether it is a response, and the frame without length.
    """
    packets = []
    sequences = [1000, 5000]
    time_ns = START_NS
    handshake = [(0, b"", 0x02), (1, b"", 0x12), (0, b"", 0x10)]
    data = [(int(side), struct.pack(">i", len(frame)) + frame, 0x18) for side, frame in frames]
    for side, payload, flags in [*handshake, *data]:
        packets.append(Packet(_ethernet(side, payload, flags, sequences), time_ns))
        sequences[side] += len(payload) + (1 if flags & 0x02 else 0)
        time_ns += 1_000_000
    return savefile(packets)


def _ethernet(side: int, payload: bytes, flags: int, sequences: list[int]) -> bytes:
    """Return an Ethernet frame between 10.0.0.1:40000 and 10.0.0.2:9092."""
    ends = [(bytes([10, 0, 0, 1]), 40000), (bytes([10, 0, 0, 2]), 9092)]
    (source, source_port), (target, target_port) = ends[side], ends[1 - side]
    ip = struct.pack(">BBHHHBBH", 0x45, 0, 40 + len(payload), 7, 0x4000, 64, 6, 0)
    numbers = (source_port, target_port, sequences[side], sequences[1 - side])
    tcp = struct.pack(">HHIIBBHHH", *numbers, 5 << 4, flags, 501, 0, 0)
    return b"\x02" * 12 + b"\x08\x00" + ip + source + target + tcp + payload
