"""A TCP connection that never was: the packets that would have carried its frames."""

from contextlib import suppress
from enum import IntEnum
from typing import Final, NamedTuple, Self

from kdiag.exchange.model import Connection
from kdiag.pcap.writer.packet import (
    ACK,
    FIN,
    MAX_PAYLOAD_BYTES,
    PSH,
    RST,
    SYN,
    Endpoint,
    Segment,
    tcp_packet,
)
from kdiag.pcap.writer.savefile import SavefileWriter
from kdiag.wire.frame import LENGTH_BYTES, Frame

_UNSPECIFIED: Final = bytes(4)
_PORT: Final = 9092
_SEQUENCE_TICK_NS: Final = 4_000
"""RFC 9293: a port that is used again starts elsewhere, as a clock has gone on since."""


class Sender(IntEnum):
    """The end that sends."""

    CLIENT = 0
    BROKER = 1


class Delivery(NamedTuple):
    """A frame on its way.

    Attributes:
        side: who sends it.
        first: the bytes that are seen at first.
        last: those that are seen when it is complete; empty when that is at once.
        missing_bytes: how many bytes of it were lost.
    """

    side: Sender
    first: bytes
    last: bytes
    missing_bytes: int

    @classmethod
    def of_frame(cls, side: Sender, frame: Frame) -> Self:
        """Return the delivery of a frame, in two parts if it took time."""
        prefix = (frame.size & 0xFFFFFFFF).to_bytes(LENGTH_BYTES)
        payload = prefix + frame.data
        if frame.first_byte_ns == frame.last_byte_ns:
            split = len(payload)
        else:  # the last segment, or half where one would be enough
            split = max((len(payload) - 1) // MAX_PAYLOAD_BYTES * MAX_PAYLOAD_BYTES, 2)
        missing_bytes = frame.size - len(frame.data) - frame.unsent_bytes
        return cls(side, payload[:split], payload[split:], missing_bytes)

    @property
    def size(self) -> int:
        """Return how many bytes travel."""
        return len(self.first) + len(self.last)


class SyntheticConnection:
    """Writes the packets of one connection, in the order of the calls.

    Attributes:
        connection: whose ends and times it has.
        ends: client and broker.
        last_frame_ns: when the last of the frames that are known was complete.
        seen_ns: when the last packet that is written was seen; no later one is seen earlier.
    """

    def __init__(self, connection: Connection, file: SavefileWriter) -> None:
        """Make one that writes nothing yet."""
        self.connection = connection
        self.last_frame_ns = 0
        self.seen_ns = 0
        self._file = file
        self.ends = _ends(connection)
        self._sequences = [connection.first_ns // _SEQUENCE_TICK_NS + connection.number] * 2
        self._unfinished: list[Delivery | None] = [None, None]

    def open(self, time_ns: int) -> None:
        """Write the handshake."""
        self._send(Sender.CLIENT, SYN, time_ns)
        self._send(Sender.BROKER, SYN | ACK, time_ns)
        self._send(Sender.CLIENT, ACK, time_ns)

    def begin(self, delivery: Delivery, time_ns: int) -> None:
        """Write the first part of a frame, which ends the frame before it on its side."""
        before = self._unfinished[delivery.side]
        if before is not None:
            self.send_rest(before, time_ns)
        self._send_bytes(delivery.side, delivery.first, time_ns)
        self._unfinished[delivery.side] = delivery
        if not delivery.last:
            self.send_rest(delivery, time_ns)

    def send_rest(self, delivery: Delivery, time_ns: int) -> None:
        """Write the last part of a frame, unless that was done."""
        if self._unfinished[delivery.side] is delivery:
            self._unfinished[delivery.side] = None
            self._send_bytes(delivery.side, delivery.last, time_ns)
            self._sequences[delivery.side] += delivery.missing_bytes

    def close(self, time_ns: int) -> None:
        """Write the end of the connection."""
        for delivery in self._unfinished:
            if delivery is not None:
                self.send_rest(delivery, time_ns)
        is_reset = self.connection.close_reason == "rst"
        closer = Sender.CLIENT
        if self.connection.closed_by == "broker" or (is_reset and not self.connection.closed_by):
            closer = Sender.BROKER
        if is_reset:
            self._send(closer, RST | ACK, time_ns)
            return
        other = Sender(1 - closer)
        self._send(closer, FIN | ACK, time_ns)
        self._send(other, FIN | ACK, time_ns)
        self._send(closer, ACK, time_ns)

    def _send_bytes(self, side: Sender, payload: bytes, time_ns: int) -> None:
        for start in range(0, len(payload), MAX_PAYLOAD_BYTES):
            self._send(side, PSH | ACK, time_ns, payload[start : start + MAX_PAYLOAD_BYTES])

    def _send(self, side: Sender, flags: int, time_ns: int, payload: bytes = b"") -> None:
        self.seen_ns = max(self.seen_ns, time_ns)
        acknowledged = self._sequences[1 - side] if flags & ACK else 0
        segment = Segment(self._sequences[side], acknowledged, flags, payload)
        packet = tcp_packet(self.ends[side], self.ends[1 - side], segment)
        self._file.packet(packet, self.seen_ns)
        self._sequences[side] += len(payload) + (1 if flags & (SYN | FIN) else 0)


def _ends(connection: Connection) -> tuple[Endpoint, Endpoint]:
    """Return the ends of a connection; stand-ins for one that broke before they could be named."""
    with suppress(ValueError):
        client = Endpoint.of_text(connection.client)
        broker = Endpoint.of_text(connection.broker)
        if len(client.address) == len(broker.address):
            return client, broker
    # Of a port each, so that several are told apart.
    return Endpoint(_UNSPECIFIED, 1 + connection.number % (_PORT - 1)), Endpoint(
        _UNSPECIFIED, _PORT
    )
