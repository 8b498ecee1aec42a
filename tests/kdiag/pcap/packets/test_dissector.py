import subprocess
import sys

import numpy as np
import pytest
from scapy.contrib.avs import AVSWLANHeader
from scapy.contrib.etherip import EtherIP
from scapy.contrib.tzsp import TZSP, TZSPTagEnd
from scapy.layers.dot11 import Dot11, PrismHeader
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, LLC, SNAP, Dot1AH, Ether, MPacketPreamble
from scapy.layers.l2tp import L2TP
from scapy.layers.ppi import PPI
from scapy.layers.ppp import PPP
from scapy.packet import Packet as ScapyPacket
from scapy.packet import Raw

from kdiag.errors import install_command
from kdiag.pcap.encapsulation import ETHERTYPE, LINK_TYPE, UDP_PORT, Encapsulation
from kdiag.pcap.packets.dissector import DISSECTORS, Dissector
from kdiag.pcap.packets.index import PacketIndex
from kdiag.pcap.packets.layer import ProtocolLayer
from recordings.capture_writer import Packet, block_of, tcp_frame
from tiers.cases import for_each

ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
OUTER = IP(src="10.9.9.1", dst="10.9.9.2")
INNER = IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=40000, dport=9092) / Raw(b"kafka")
INNER6 = IPv6(src="::1", dst="::2") / TCP(sport=40000, dport=9092) / Raw(b"kafka")
WIFI = Dot11(type=2, subtype=0, FCfield=1) / LLC() / SNAP()
PPI_TYPE = 192


def read(
    *frames: bytes | Packet | ScapyPacket, link_type: int = 1
) -> tuple[PacketIndex, list[str]]:
    """Return the index, and the ends and the payload of each segment."""
    index = PacketIndex()
    raw = [bytes(each) if isinstance(each, ScapyPacket) else each for each in frames]
    batch = index.index_block(block_of(raw, link_type))
    name = index.addresses.endpoint_text
    spans = zip(batch.payload_offset.tolist(), batch.payload_bytes.tolist(), strict=True)
    payloads = [bytes(batch.data[start : start + size]) for start, size in spans]
    ends = zip(batch.source.tolist(), batch.destination.tolist(), payloads, strict=True)
    return index, [f"{name(one)} {name(two)} {payload!r}" for one, two, payload in ends]


SEGMENT = "10.0.0.1:40000 10.0.0.2:9092 b'kafka'"


@for_each(
    ("link_type", "frame"),
    [
        (119, PrismHeader() / WIFI / INNER),
        (163, AVSWLANHeader() / WIFI / INNER),
        (192, PPI(dlt=1) / ETHER / INNER),
        (192, PPI(dlt=105) / WIFI / INNER),
        (274, MPacketPreamble() / ETHER / INNER),
        (1, ETHER / Dot1AH(isid=7) / ETHER / INNER),
        (1, ETHER / OUTER / EtherIP() / ETHER / INNER),
        (1, ETHER / OUTER / UDP(dport=1701) / L2TP(hdr=2) / PPP() / INNER),
        (1, ETHER / OUTER / UDP(dport=37008) / TZSP() / TZSPTagEnd() / ETHER / INNER),
    ],
    ids=lambda value: value.summary()[:40] if isinstance(value, ScapyPacket) else str(value),
)
def test_what_scapy_knows_comes_back_as_columns(link_type: int, frame: ScapyPacket) -> None:
    """The segment inside is that of a plain packet, in its place between others."""
    assert read(frame, frame, link_type=link_type)[1] == [SEGMENT, SEGMENT]


def test_what_is_inside_may_be_anything_that_columns_read() -> None:
    """IPv6, a tunnel, or another packet for scapy."""
    assert read(PPI(dlt=1) / ETHER / INNER6, link_type=PPI_TYPE)[1] == [
        "[::1]:40000 [::2]:9092 b'kafka'"
    ]
    deep = PPI(dlt=1) / ETHER / OUTER / EtherIP() / ETHER / OUTER / INNER
    assert read(deep, link_type=PPI_TYPE)[1] == [SEGMENT]


def test_a_packet_without_ip_is_no_segment_and_no_failure() -> None:
    """Scapy has looked at it, and there was none."""
    address = ARP(psrc="10.0.0.1", hwsrc="02:00:00:00:00:01")
    index, segments = read(ETHER / Dot1AH(isid=7) / ETHER / address, tcp_frame(b"other"))

    assert segments == ["10.0.0.1:40000 10.0.0.2:9092 b'other'"]
    assert index.dissector.dissected == {Encapsulation(ETHERTYPE, 0x88E7): 1}
    assert index.dissector.notes() == []


def test_a_cut_packet_keeps_its_length_on_the_wire() -> None:
    """A snap length leaves a hole of known size, as in any other packet."""
    whole = bytes(PPI(dlt=1) / ETHER / INNER)
    index = PacketIndex()
    batch = index.index_block(block_of([Packet(whole[:-3], 0, len(whole))], PPI_TYPE))

    assert (batch.payload_bytes.tolist(), batch.wire_bytes.tolist()) == ([2], [5])


def test_only_the_first_bytes_of_a_packet_are_dissected() -> None:
    """A large packet is found as fast as a small one, and whole."""
    large = bytes(range(256)) * 200
    frame = PPI(dlt=1) / ETHER / INNER.copy()
    frame[TCP].remove_payload()

    _, (segment,) = read(bytes(frame / Raw(large)), link_type=PPI_TYPE)

    assert segment.endswith(repr(large))


@pytest.mark.thorough
@for_each("encapsulation", DISSECTORS, ids=str)
def test_any_bytes_can_be_dissected(encapsulation: Encapsulation) -> None:
    """Whatever a dissector comes across, nothing is raised and nothing lies outside its packet."""
    chance = np.random.default_rng(0)
    sizes = range(0, 200, 7)
    frames = [chance.integers(0, 256, size, np.uint8).tobytes() for size in sizes]
    frames += [bytes([value]) * 100_000 for value in (0, 1, 0x45, 0x60, 0xFF)]
    block = block_of(frames)
    packets = ProtocolLayer(np.arange(len(frames)), block.offset, block.captured, block.original)
    found = Dissector().find_ip(block.data, encapsulation, packets)

    assert (found.offset >= block.offset[found.row]).all()
    assert (found.captured >= 0).all()


def test_a_dissector_that_fails_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """The other packets of the block are read; the failures make one line."""
    monkeypatch.setitem(
        DISSECTORS, Encapsulation(LINK_TYPE, PPI_TYPE), "scapy.layers.inet.IPID_count"
    )
    index, segments = read(PPI(dlt=1) / ETHER / INNER, b"x", link_type=PPI_TYPE)

    assert segments == []
    assert index.dissector.notes() == ["scapy fails to dissect 2 packets of link type 192"]


def test_without_scapy_what_was_passed_over_is_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    """One line says how much it was, and what to install."""
    monkeypatch.delitem(sys.modules, "kdiag.pcap.packets.scapy_layers", raising=False)
    monkeypatch.setitem(sys.modules, "scapy.layers.inet", None)
    layer_two = ETHER / OUTER / UDP(dport=1701) / L2TP(hdr=2) / PPP() / INNER
    index, segments = read(tcp_frame(b"kafka"), layer_two, layer_two, ETHER / Dot1AH() / INNER)

    assert segments == [SEGMENT]
    assert index.dissector.lacking == {
        Encapsulation(UDP_PORT, 1701): 2,
        Encapsulation(ETHERTYPE, 0x88E7): 1,
    }
    assert index.dissector.notes() == [
        "2 packets of UDP port 1701, 1 of ethertype 0x88e7 need scapy: " + install_command("scapy")
    ]
    index.dissector.clear()
    assert index.dissector.notes() == []


def test_what_nobody_reads_is_told_apart() -> None:
    """No extra helps there."""
    index, _ = read(b"usb", link_type=189)

    assert index.dissector.notes() == [
        "not read: 1 packet of link type 189 (`kdiag help packets` lists what is read)"
    ]


@pytest.mark.thorough
def test_plain_traffic_does_not_load_scapy() -> None:
    """Neither do ARP, spanning trees and name look-ups, of which every capture has some."""
    frames = [
        bytes(each)
        for each in (
            ETHER / INNER,
            ETHER / ARP(psrc="10.0.0.1", hwsrc="02:00:00:00:00:01"),
            ETHER / OUTER / UDP(dport=53) / Raw(b"name"),
            Ether(type=0x88CC) / Raw(b"neighbour"),
        )
    ]
    program = (
        "import sys\n"
        "from kdiag.pcap.packets.index import PacketIndex\n"
        "from recordings.capture_writer import block_of\n"
        f"PacketIndex().index_block(block_of({frames!r}))\n"
        "print('scapy' in sys.modules)\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONPATH": ":".join(sys.path)},
    )

    assert done.stdout == "False\n"
