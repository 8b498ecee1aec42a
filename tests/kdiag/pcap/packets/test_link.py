import struct

import numpy as np
import pytest

from kdiag.pcap.packets.descent import LINK_TYPE, Descent
from kdiag.pcap.packets.layer import ProtocolLayer
from kdiag.pcap.packets.link import STEPS
from recordings.capture_writer import block_of

IPV4 = b"\x45" + bytes(19)
IPV6 = b"\x60" + bytes(39)
MACS = bytes(12)
LINK_TYPES = sorted(number for space, number in STEPS if space == LINK_TYPE)


def strip(link_type: int, *frames: bytes) -> list[tuple[int, bytes]]:
    """Return row and bytes of the IP packets inside frames."""
    block = block_of(frames, link_type)
    rows = np.arange(len(frames))
    layer = ProtocolLayer(rows, block.offset, block.captured, block.original)
    descent = Descent(block.data)
    descent.send(LINK_TYPE, link_type, layer)
    descent.run(STEPS)
    return [
        (row, block.data[offset : offset + captured].tobytes())
        for packets in descent.take_ip()
        for row, offset, captured in zip(*(c.tolist() for c in packets[:3]), strict=True)
    ]


@pytest.mark.parametrize(
    ("link_type", "header"),
    [
        (0, struct.pack("<I", 2)),
        (0, struct.pack(">I", 30)),
        (1, MACS + b"\x08\x00"),
        (12, b""),
        (14, b""),
        (101, b""),
        (108, struct.pack(">I", 2)),
        (113, bytes(14) + b"\x08\x00"),
        (228, b""),
        (229, b""),
        (276, b"\x08\x00" + bytes(18)),
    ],
)
def test_the_ip_packet_is_found_behind_every_known_link_header(
    link_type: int, header: bytes
) -> None:
    """Ethernet, BSD loopback, raw IP and both forms of Linux's any interface are read."""
    assert strip(link_type, header + IPV4, header + IPV4 + b"x") == [(0, IPV4), (1, IPV4 + b"x")]


@pytest.mark.parametrize("link_type", [1, 113, 276])
def test_other_protocols_are_left_out(link_type: int) -> None:
    """Between ARP and others, only the IP packets remain, each with its row."""
    place = {1: 12, 113: 14, 276: 0}[link_type]
    size = {1: 14, 113: 16, 276: 20}[link_type]
    frames = []
    for ethertype, body in ((0x0806, b"arp"), (0x0800, IPV4), (0x86DD, IPV6), (0x88CC, b"lldp")):
        header = bytearray(size)
        header[place : place + 2] = ethertype.to_bytes(2)
        frames.append(bytes(header) + body)
    assert strip(link_type, *frames) == [(1, IPV4), (2, IPV6)]


@pytest.mark.parametrize("tag", [0x8100, 0x88A8, 0x9100])
@pytest.mark.parametrize("depth", [1, 2, 3, 4])
def test_vlan_tags_are_taken_off(tag: int, depth: int) -> None:
    """Tagged frames of any depth that occurs stand beside untagged ones."""
    tagged = MACS + struct.pack(">HH", tag, 0xE00A) * depth + b"\x08\x00" + IPV4
    assert strip(1, tagged, MACS + b"\x86\xdd" + IPV6) == [(0, IPV4), (1, IPV6)]


def test_tags_without_end_lead_nowhere() -> None:
    """A frame of nothing but tags is no IP packet."""
    assert strip(1, MACS + b"\x81\x00\x00\x01" * 20) == []


@pytest.mark.parametrize("link_type", LINK_TYPES)
def test_a_cut_link_header_holds_no_packet(link_type: int) -> None:
    """A frame may be cut anywhere, and may be empty."""
    header = MACS + b"\x81\x00\x00\x01\x81\x00\x00\x01\x08\x00"
    frames = [header[:size] for size in range(len(header) + 1)]
    for row, packet in strip(link_type, *frames):
        assert frames[row].endswith(packet)
    assert strip(link_type) == []
