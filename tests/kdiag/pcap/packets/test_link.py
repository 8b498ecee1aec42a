import struct

import numpy as np
import pytest

from kdiag.pcap.encapsulation import LINK_TYPE
from kdiag.pcap.packets.descent import Descent
from kdiag.pcap.packets.layer import ProtocolLayer
from kdiag.pcap.packets.link import STEPS
from recordings.capture_writer import block_of
from tiers.cases import for_each

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


@for_each(
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
        (10, b"\x50" + MACS + b"\xaa\xaa\x03\0\0\0\x08\x00"),
        (109, bytes(12)),
        (117, b"\x3d\x02" + bytes(62)),
        (178, b"MGC\x80\0\6" + bytes(6) + MACS + b"\x08\x00"),
        (178, b"MGC\x01" + MACS + b"\x08\x00"),
        (242, bytes(40) + b"\x08\x00\0\0"),
        (1, MACS + b"\x92\x00\0\x64\x81\0\0\x0a\x08\x00"),
        (1, MACS + b"\x89\x26\0\5\0\1\x08\x00"),
        (1, MACS + b"\x89\x09\1\1\0\1\0\x11\x08\x00"),
        (1, MACS + b"\x88\xe5\x20\0\0\0\0\7" + bytes(8) + b"\x08\x00"),
        (1, MACS + b"\x88\xe5\x00\0\0\0\0\7" + b"\x08\x00"),
    ],
)
def test_the_ip_packet_is_found_behind_every_known_link_header(
    link_type: int, header: bytes
) -> None:
    """Also behind tags: VN-Tag, Cisco's metadata, MACsec without encryption."""
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


@for_each("tag", [0x8100, 0x88A8, 0x9100])
@for_each("depth", [1, 2, 4, 9, 40])
def test_vlan_tags_are_taken_off(tag: int, depth: int) -> None:
    """Tagged frames of any depth that occurs stand beside untagged ones."""
    tagged = MACS + struct.pack(">HH", tag, 0xE00A) * depth + b"\x08\x00" + IPV4
    assert strip(1, tagged, MACS + b"\x86\xdd" + IPV6) == [(0, IPV4), (1, IPV6)]


def test_tags_without_end_lead_nowhere() -> None:
    """A frame of nothing but tags is no IP packet."""
    assert strip(1, MACS + b"\x81\x00\x00\x01" * 20) == []
    assert strip(1, MACS + b"\x81\x00\x00\x01" * 2000 + b"\x08\x00" + IPV4) == []


@pytest.mark.parametrize("vendor", ["000000", "0000f8"])
def test_a_frame_with_a_length_may_hold_ip_behind_llc_and_snap(vendor: str) -> None:
    """As on token rings and in wireless networks; trees that span bridges are left out."""
    snap = bytes.fromhex("aaaa03" + vendor + "0800") + IPV4
    tagged = bytes.fromhex("aaaa03" + vendor + "8100000786dd") + IPV6
    frames = [MACS + struct.pack(">H", len(each)) + each for each in (snap, tagged)]
    tree = MACS + struct.pack(">H", 38) + bytes.fromhex("424203") + bytes(35)

    assert strip(1, *frames, tree) == [(0, IPV4), (1, IPV6)]
    assert strip(113, bytes(14) + b"\x00\x04" + snap) == [(0, IPV4)]


def test_llc_may_announce_ip_by_itself() -> None:
    """It has a number for IPv4; other vendors and forms lead nowhere."""
    frames = [
        MACS + b"\x00\x20" + bytes.fromhex(head) + IPV4
        for head in ("060603", "060613", "aaaa0300000c0800", "aaaa7f0000000800")
    ]

    assert strip(1, *frames) == [(0, IPV4)]


def nflog(order: str, payload: bytes, *, fields: int = 2) -> bytes:
    """Return a packet as Linux's firewall logs it, on a host of some byte order."""
    head = struct.pack(order + "HH", 8, 1) + bytes(4)
    prefix = (struct.pack(order + "HH", 7, 10) + b"in\0\0") * (fields - 1)
    body = struct.pack(order + "HH", 4 + len(payload), 9) + payload
    return b"\x02\0\0\x1e" + head + prefix + body + bytes(-len(payload) % 4)


@pytest.mark.parametrize("order", ["<", ">"])
def test_the_firewalls_log_is_read_in_either_byte_order(order: str) -> None:
    """The packet is one of many fields, whose padding is not a part of it."""
    odd = IPV4 + b"x"
    frames = [nflog(order, IPV4), nflog(order, odd, fields=12), nflog(order, IPV6, fields=1)]

    assert strip(239, *frames) == [(2, IPV6), (0, IPV4), (1, odd)]
    assert strip(239, nflog(order, IPV4, fields=400), nflog(order, b"")) == [(1, b"")]


def pktap(link_type: int, frame: bytes, *, size: int = 108, record: int = 1) -> bytes:
    """Return a frame as macOS records it on several interfaces at once."""
    return struct.pack("<III", size, record, link_type) + bytes(size - 12) + frame


def test_macos_names_the_link_type_of_each_packet() -> None:
    """It stands behind a header of any length."""
    ether = MACS + b"\x08\x00" + IPV4
    family = struct.pack("<I", 2) + IPV4
    frames = [pktap(1, ether), pktap(0, family), pktap(12, IPV6, size=156), pktap(258, ether)]

    assert strip(258, *frames) == [(0, IPV4), (1, IPV4), (2, IPV6)]
    assert strip(258, pktap(1, ether, record=2), pktap(189, ether), b"\0" * 200) == []


@for_each("link_type", LINK_TYPES)
def test_a_cut_link_header_holds_no_packet(link_type: int) -> None:
    """A frame may be cut anywhere, and may be empty."""
    header = MACS + b"\x81\x00\x00\x01\x81\x00\x00\x01\x08\x00"
    frames = [header[:size] for size in range(len(header) + 1)]
    for row, packet in strip(link_type, *frames):
        assert frames[row].endswith(packet)
    assert strip(link_type) == []


def test_what_is_encrypted_or_damaged_before_ip_is_passed_over() -> None:
    """MACsec with encryption, Junos without its magic number or with no link layer, FDDI tokens."""
    assert strip(1, MACS + b"\x88\xe5\x2c" + bytes(13) + b"\x08\x00" + IPV4) == []
    assert strip(178, b"MGX\x80\0\0" + MACS + b"\x08\x00" + IPV4) == []
    assert strip(178, b"MGC\x02" + bytes(4) + IPV4) == []
    assert strip(10, b"\x80" + MACS + b"\xaa\xaa\x03\0\0\0\x08\x00" + IPV4) == []
