"""A TCP connection told packet by packet, with its times, windows and options, as a capture.

    story = Story().open(client_ms=1, broker_ms=19)
    story.client(25, size=1000)
    story.broker(45)
    story.facts()

Sequence and acknowledgment numbers follow from what was told before unless they are given; times
are milliseconds, of the packets as they pass the vantage point.
"""

import io
from typing import Any

from scapy.layers.inet import IP, TCP
from scapy.layers.l2 import Ether

from kdiag.exchange.model import Connection
from kdiag.exchange.tcp_facts import TcpFacts
from kdiag.pcap.decoder import CaptureDecoder
from kdiag.pcap.reader import CaptureReader
from recordings.capture_writer import Packet, savefile

START_NS = 1_767_323_045_000_000_000
MS = 1_000_000
OPTIONS = [("MSS", 1460), ("SAckOK", b""), ("Timestamp", (1, 0)), ("WScale", 7)]

_ENDS = (("10.0.0.1", 40_000), ("10.0.0.2", 9092))
_FIRST = (2**32 - 500, 5000)


class Story:
    """Writes down one connection; side 0 is the client.

    Attributes:
        packets: what was written, in order.
    """

    def __init__(self) -> None:
        self.packets: list[Packet] = []
        self._sent = [0, 0]

    def open(
        self,
        client_ms: float = 1,
        broker_ms: float = 19,
        *,
        client_options: list[Any] = OPTIONS,
        broker_options: list[Any] = OPTIONS,
        window: int = 65535,
    ) -> "Story":
        """Tell a handshake, with the round trips from the vantage point to both ends."""
        self.packet(0, 0, flags="S", options=client_options, window=window, start=-1, reached=0)
        changes: dict[str, Any] = {
            "options": broker_options,
            "window": window,
            "start": -1,
            "reached": 0,
        }
        self.packet(1, broker_ms, flags="SA", **changes)
        return self.client(broker_ms + client_ms)

    def client(self, time_ms: float, **changes: Any) -> "Story":
        """Tell a packet of the client; what may change is in `packet`."""
        return self.packet(0, time_ms, **changes)

    def broker(self, time_ms: float, **changes: Any) -> "Story":
        """Tell a packet of the broker."""
        return self.packet(1, time_ms, **changes)

    def packet(  # noqa: PLR0913 - a packet has many fields
        self,
        side: int,
        time_ms: float,
        *,
        size: int = 0,
        window: int = 512,
        flags: str = "A",
        start: int | None = None,
        reached: int | None = None,
        options: list[Any] | None = None,
        identity: int = 1,
    ) -> "Story":
        """Tell a packet.

        Args:
            side: who sends it.
            time_ms: when it passes.
            size: payload bytes.
            window: the window field, not shifted.
            flags: as scapy writes them.
            start: where its payload starts in the stream; where the last one ended by default.
            reached: what it acknowledges of the other stream; all by default.
            options: TCP options.
            identity: the identification of the IP packet.
        """
        start = self._sent[side] if start is None else start
        reached = self._sent[1 - side] if reached is None else reached
        (source, source_port), (target, target_port) = _ENDS[side], _ENDS[1 - side]
        tcp = TCP(
            sport=source_port,
            dport=target_port,
            seq=(_FIRST[side] + 1 + start) % 2**32,
            ack=(_FIRST[1 - side] + 1 + reached) % 2**32 if "A" in flags else 0,
            flags=flags,
            window=window,
            options=options or [],
        )
        data = bytes(Ether() / IP(src=source, dst=target, id=identity) / tcp / (b"x" * size))
        self.packets.append(Packet(data, START_NS + round(time_ms * MS)))
        self._sent[side] = max(self._sent[side], start + size)
        return self

    def connection(self, *, block_packets: int = 1000) -> Connection:
        """Return the connection as kdiag sees it, read some packets at a time."""
        reader = CaptureReader([io.BytesIO(savefile(self.packets))])
        decoder = CaptureDecoder(reader.addresses)
        decoder.follow_tcp()
        items = []
        for batch in reader.read_segments():
            for first in range(0, len(batch.packet), block_packets):
                columns: Any = batch[1:]
                rows = slice(first, first + block_packets)
                columns = (None if each is None else each[rows] for each in columns)
                items += decoder.feed(batch.__class__(batch.data, *columns))
        (connection,) = (each for each in items + decoder.finish() if isinstance(each, Connection))
        return connection

    def facts(self) -> TcpFacts:
        """Return what TCP did."""
        facts = self.connection().tcp
        assert facts is not None
        return facts
