"""Packets inside packets: what the descent to IP finds in frames that scapy has crafted."""

from typing import Final

import numpy as np
from scapy.layers.inet import IP, TCP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Ether
from scapy.packet import Packet, Raw

from kdiag.pcap.encapsulation import LINK_TYPE
from kdiag.pcap.packets.descent import Descent
from kdiag.pcap.packets.index import STEPS, PacketIndex
from kdiag.pcap.packets.layer import ProtocolLayer
from recordings.capture_writer import block_of

# scapy looks for a route and asks the network where an address is left out.
ETHER: Final = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
OUTER: Final = IP(src="10.9.9.1", dst="10.9.9.2")
INNER: Final = IP(src="10.0.0.1", dst="10.0.0.2") / TCP(dport=9092) / Raw(b"kafka")
INNER6: Final = IPv6(src="::1", dst="::2") / TCP(dport=9092) / Raw(b"kafka")


def ip_packets(link_type: int, *frames: bytes | Packet) -> list[tuple[int, bytes]]:
    """Return row and bytes of the IP packets behind the link headers of frames."""
    block = block_of([bytes(frame) for frame in frames], link_type)
    descent = Descent(block.data)
    rows = np.arange(len(frames))
    frame_layer = ProtocolLayer(rows, block.offset, block.captured, block.original)
    descent.send(LINK_TYPE, link_type, frame_layer)
    descent.run(STEPS)
    return [
        (row, block.data[offset : offset + captured].tobytes())
        for packets in descent.take_ip()
        for row, offset, captured in zip(*(c.tolist() for c in packets[:3]), strict=True)
    ]


def payloads(link_type: int, *frames: bytes | Packet) -> list[tuple[int, bytes]]:
    """Return packet number and payload of the TCP segments in frames, through all tunnels."""
    index = PacketIndex()
    batch = index.index_block(block_of([bytes(frame) for frame in frames], link_type))
    assert not index.dissector.dissected, "scapy was asked"
    spans = zip(batch.payload_offset.tolist(), batch.payload_bytes.tolist(), strict=True)
    found = [bytes(batch.data[start : start + size]) for start, size in spans]
    return list(zip(batch.packet.tolist(), found, strict=True))


def assert_cuts_are_harmless(link_type: int, frame: bytes | Packet) -> None:
    """Read every beginning of a frame: what is found lies in it, and nothing is raised."""
    whole = bytes(frame)
    cuts = [whole[:size] for size in range(len(whole) + 1)]
    for row, packet in ip_packets(link_type, *cuts):
        assert cuts[row].endswith(packet)
    payloads(link_type, *cuts)
