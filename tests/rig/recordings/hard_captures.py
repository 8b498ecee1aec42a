"""Makes captures of the hard cases: what TCP, recorders and clients do to a Kafka connection.

Each case is one function that returns packets made with scapy. Where nothing else is said a case is
one connection with its handshake, six Produce requests of up to three segments of 1,460 bytes, one
frame a request, and six small responses: twelve messages. In the `unaligned` cases all requests are
one byte stream cut every 1,460 bytes, so that frames begin inside segments.
"""

from collections.abc import Callable
from pathlib import Path
from typing import Final

from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw
from scapy.utils import PcapWriter

from kdiag.wire.api.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from kdiag.wire.api.request_header import RequestHeader
from kdiag.wire.api.response_header import ResponseHeader
from kdiag.wire.api.sasl_handshake import SaslHandshakeRequest, SaslHandshakeResponse
from kdiag.wire.codec.messages import encode
from kdiag.wire.records.record import Record
from kdiag.wire.records.writer import write_batch
from kdiag.wire.schema import Struct

MSS: Final = 1460
START_S: Final = 1_700_000_000.0
STEP_S: Final = 0.001
FIRST_CORRELATION_ID: Final = 100
PRODUCE, SASL_HANDSHAKE = 0, 17

Packets = list[Packet]


def frame(api_key: int, version: int, correlation_id: int, body: Struct) -> bytes:
    """Return a request's frame with a header of version 1, length included."""
    header = RequestHeader(
        request_api_key=api_key,
        request_api_version=version,
        correlation_id=correlation_id,
        client_id="producer-1",
    )
    return sized(encode(header, 1) + encode(body, version))


def answer(correlation_id: int, version: int, body: Struct) -> bytes:
    """Return a response's frame with a header of version 0, length included."""
    header = ResponseHeader(correlation_id=correlation_id)
    return sized(encode(header, 0) + encode(body, version))


def sized(data: bytes) -> bytes:
    """Return bytes behind their four-byte length."""
    return len(data).to_bytes(4, "big") + data


def produce(correlation_id: int, *, value_bytes: int = 3500, acks: int = 1) -> bytes:
    """Return a Produce v7 request with one record."""
    value = bytes((correlation_id + index) % 251 for index in range(value_bytes))
    return produce_batch(correlation_id, write_batch([Record(0, value=value)]), acks=acks)


def produce_batch(correlation_id: int, records: bytes, *, acks: int = 1) -> bytes:
    """Return a Produce v7 request with the given record batches."""
    partition = PartitionProduceData(index=0, records=records)
    topic = TopicProduceData(name="orders", partition_data=[partition])
    body = ProduceRequest(acks=acks, timeout_ms=30_000, topic_data=[topic])
    return frame(PRODUCE, 7, correlation_id, body)


def produced(correlation_id: int) -> bytes:
    """Return the response to a Produce v7 request."""
    partition = PartitionProduceResponse(index=0, base_offset=correlation_id, log_append_time_ms=-1)
    topic = TopicProduceResponse(name="orders", partition_responses=[partition])
    return answer(correlation_id, 7, ProduceResponse(responses=[topic]))


class Talk:
    """Writes down the packets of one connection as they leave both ends."""

    def __init__(
        self, *, port: int = 9092, client_start: int = 1000, broker_start: int = 5000
    ) -> None:
        self.packets: Packets = []
        self._ports = (40_000, port)
        self._next = [client_start, broker_start]
        self._clock_s = START_S

    def open(self) -> None:
        """Write the handshake."""
        self._add(0, b"", "S", self._next[0])
        self._next[0] += 1
        self._add(1, b"", "SA", self._next[1])
        self._next[1] += 1
        self._add(0, b"", "A", self._next[0])

    def close(self) -> None:
        """Write a FIN of either end."""
        for end in (0, 1):
            self._add(end, b"", "FA", self._next[end])
            self._next[end] += 1
        self._add(0, b"", "A", self._next[0])

    def ask(self, data: bytes, *, mss: int = MSS) -> None:
        """Write what the client sends, in segments."""
        self._send(0, data, mss)

    def tell(self, data: bytes, *, mss: int = MSS) -> None:
        """Write what the broker sends, in segments."""
        self._send(1, data, mss)

    def again(self, end: int, sequence: int, data: bytes) -> None:
        """Write a segment at a place of its own."""
        self._add(end, data, "PA", sequence)

    def next_sequence(self, end: int) -> int:
        """Return the sequence number of the next byte of one end."""
        return self._next[end]

    def _send(self, end: int, data: bytes, mss: int) -> None:
        for start in range(0, len(data), mss):
            part = data[start : start + mss]
            self._add(end, part, "PA", self._next[end])
            self._next[end] += len(part)

    def _add(self, end: int, data: bytes, flags: str, sequence: int) -> None:
        addresses = ("10.0.0.1", "10.0.0.2")
        tcp = TCP(
            sport=self._ports[end],
            dport=self._ports[1 - end],
            seq=sequence % 2**32,
            ack=self._next[1 - end] % 2**32 if flags != "S" else 0,
            flags=flags,
            window=65535,
        )
        packet = Ether() / IP(src=addresses[end], dst=addresses[1 - end]) / tcp
        if data:
            packet = packet / Raw(data)
        packet.time = self._clock_s
        self._clock_s += STEP_S
        self.packets.append(packet)


def restamped(packets: Packets) -> Packets:
    """Return packets with times that follow their order, as a recorder would have seen them."""
    for index, packet in enumerate(packets):
        packet.time = START_S + index * STEP_S
    return packets


def payload_rows(packets: Packets, *, source_port: int = 40_000) -> list[int]:
    """Return which packets carry bytes of one end."""
    return [
        row
        for row, packet in enumerate(packets)
        if packet[TCP].sport == source_port and Raw in packet
    ]


def numbers() -> range:
    """Return the correlation ids of the six requests."""
    return range(FIRST_CORRELATION_ID, FIRST_CORRELATION_ID + 6)


def base(*, mss: int = MSS, value_bytes: int = 3500, **places: int) -> Packets:
    """One frame a request, each answered before the next is sent."""
    talk = Talk(**places)
    talk.open()
    for number in numbers():
        talk.ask(produce(number, value_bytes=value_bytes), mss=mss)
        talk.tell(produced(number), mss=mss)
    talk.close()
    return talk.packets


def unaligned() -> Packets:
    """All requests as one byte stream, then all responses."""
    talk = Talk()
    talk.open()
    talk.ask(b"".join(produce(number) for number in numbers()))
    for number in numbers():
        talk.tell(produced(number))
    talk.close()
    return talk.packets


def coalesced() -> Packets:
    """Small requests that share segments, and responses that share one."""
    talk = Talk()
    talk.open()
    talk.ask(b"".join(produce(number, value_bytes=100) for number in numbers()))
    talk.tell(b"".join(produced(number) for number in numbers()))
    talk.close()
    return talk.packets


def split_length_prefix() -> Packets:
    """Each length prefix is cut after its second byte."""
    talk = Talk()
    talk.open()
    for number in numbers():
        request = produce(number)
        talk.ask(request[:2])
        talk.ask(request[2:])
        talk.tell(produced(number))
    talk.close()
    return talk.packets


def swapped(first: int, second: int) -> Packets:
    """Two data segments of the client change places."""
    packets = base()
    rows = payload_rows(packets)
    one, other = rows[first], rows[second]
    packets[one], packets[other] = packets[other], packets[one]
    return restamped(packets)


def early_next_frame() -> Packets:
    """A pipelined request's first segment comes before the last one of the request before."""
    talk = Talk()
    talk.open()
    talk.ask(produce(100))
    talk.ask(produce(101))
    talk.tell(produced(100))
    talk.tell(produced(101))
    rows = payload_rows(talk.packets)
    one, other = rows[2], rows[3]
    talk.packets[one], talk.packets[other] = talk.packets[other], talk.packets[one]
    return restamped(talk.packets)


def retransmitted() -> Packets:
    """Each data segment of the client is sent twice."""
    packets: Packets = []
    for packet in base():
        packets.append(packet)
        if Raw in packet and packet[TCP].sport == 40_000:
            packets.append(packet.copy())
    return restamped(packets)


def seen_twice() -> Packets:
    """The recorder saw every packet at two places."""
    return restamped([copy for packet in base() for copy in (packet, packet.copy())])


def overlapping() -> Packets:
    """A retransmission starts inside what was sent and carries new bytes at its end."""
    talk = Talk()
    talk.open()
    data = produce(100)
    start = talk.next_sequence(0)
    talk.ask(data[:1460])
    talk.again(0, start + 700, data[700:2160])
    talk.again(0, start + 1460, data[1460:])
    talk._next[0] = start + len(data)
    talk.tell(produced(100))
    talk.ask(produce(101))
    talk.tell(produced(101))
    return talk.packets


def without_client_segment(number: int, packets: Packets) -> Packets:
    """The recorder lost one data segment of the client."""
    del packets[payload_rows(packets)[number]]
    return packets


def from_client_segment(number: int, packets: Packets) -> Packets:
    """The recorder started with a data segment of the client."""
    return packets[payload_rows(packets)[number] :]


def reused_whole() -> Packets:
    """Two whole connections one after the other, three requests each."""
    packets: Packets = []
    for start in (1000, 900_000_000):
        talk = Talk(client_start=start)
        talk.open()
        for number in list(numbers())[:3]:
            talk.ask(produce(number))
            talk.tell(produced(number))
        talk.close()
        packets += talk.packets
    return restamped(packets)


def unacknowledged_mixed() -> Packets:
    """Three requests, the second with acks=0: five messages."""
    talk = Talk()
    talk.open()
    for number, acks in ((100, 1), (101, 0), (102, -1)):
        talk.ask(produce(number, acks=acks))
        if acks:
            talk.tell(produced(number))
    talk.close()
    return talk.packets


def sasl_handshake_v0() -> Packets:
    """A handshake of version 0, a bare token each way, then a request: six messages."""
    talk = Talk()
    talk.open()
    talk.ask(frame(SASL_HANDSHAKE, 0, 100, SaslHandshakeRequest(mechanism="PLAIN")))
    talk.tell(answer(100, 0, SaslHandshakeResponse(mechanisms=["PLAIN"])))
    talk.ask(sized(b"\0alice\0alice-secret"))
    talk.tell(sized(b""))
    talk.ask(produce(101))
    talk.tell(produced(101))
    talk.close()
    return talk.packets


def one_batch(records: bytes, *, mss: int = MSS) -> Packets:
    """One request with the given batches, and its response."""
    talk = Talk()
    talk.open()
    talk.ask(produce_batch(100, records), mss=mss)
    talk.tell(produced(100))
    talk.close()
    return talk.packets


def one_sided(packets: Packets, *, source_port: int) -> Packets:
    """The recorder saw only what one end sent."""
    return [packet for packet in packets if packet[TCP].sport == source_port]


def with_keep_alives() -> Packets:
    """Between the requests the client probes with the last byte that it sent."""
    talk = Talk()
    talk.open()
    for number in numbers():
        talk.ask(produce(number))
        talk.tell(produced(number))
        talk.again(0, talk.next_sequence(0) - 1, b"\0")
    talk.close()
    return talk.packets


def write(packets: Packets, path: Path, *, snap_bytes: int | None = None) -> Path:
    """Write packets to a pcap file, each cut to the snap length; return the path."""
    writer = PcapWriter(str(path), linktype=1, sync=False)
    writer.write_header(None)
    for packet in packets:
        data = bytes(packet)
        kept = data if snap_bytes is None else data[:snap_bytes]
        seconds = int(packet.time)
        microseconds = round((float(packet.time) - seconds) * 10**6)
        writer.write_packet(
            kept, sec=seconds, usec=microseconds, caplen=len(kept), wirelen=len(data)
        )
    writer.close()
    return path


CASES: Final[dict[str, tuple[Callable[[], Packets], tuple[int, int, int, int]]]] = {
    # name: (what makes it, (whole frames of exchanges, partial frames, unmatched, connections))
    "base": (base, (12, 0, 0, 1)),
    "seven-byte segments": (lambda: base(mss=7, value_bytes=350), (12, 0, 0, 1)),
    "coalesced": (coalesced, (12, 0, 0, 1)),
    "unaligned": (unaligned, (12, 0, 0, 1)),
    "length prefix split": (split_length_prefix, (12, 0, 0, 1)),
    "first two segments swapped": (lambda: swapped(0, 1), (12, 0, 0, 1)),
    "last two segments swapped": (lambda: swapped(-2, -1), (12, 0, 0, 1)),
    "next frame before the end of this one": (early_next_frame, (4, 0, 0, 1)),
    "exact retransmissions": (retransmitted, (12, 0, 0, 1)),
    "every packet twice": (seen_twice, (12, 0, 0, 1)),
    "overlapping retransmission with new bytes": (overlapping, (4, 0, 0, 1)),
    "segment lost inside a frame": (lambda: without_client_segment(1, base()), (11, 1, 0, 1)),
    "segment with a header lost": (lambda: without_client_segment(3, base()), (10, 0, 1, 1)),
    "segment over a frame boundary lost": (
        lambda: without_client_segment(2, unaligned()),
        (9, 1, 1, 1),
    ),
    "started inside a frame, unaligned": (
        lambda: from_client_segment(1, unaligned()),
        (10, 0, 1, 1),
    ),
    "started inside a frame, aligned": (lambda: from_client_segment(1, base()), (10, 0, 1, 1)),
    "sequence numbers wrap": (
        lambda: base(client_start=2**32 - 5000, broker_start=2**32 - 60),
        (12, 0, 0, 1),
    ),
    "ports reused": (reused_whole, (12, 0, 0, 2)),
    "another port": (lambda: base(port=19092), (12, 0, 0, 1)),
    "acks=0 among others": (unacknowledged_mixed, (5, 0, 0, 1)),
    "SASL handshake v0 with bare tokens": (sasl_handshake_v0, (6, 0, 0, 1)),
    "keep-alive probes": (with_keep_alives, (12, 0, 0, 1)),
}
