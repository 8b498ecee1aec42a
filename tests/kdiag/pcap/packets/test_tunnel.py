import numpy as np
import numpy.typing as npt
import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import ARP, GRE, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from kdiag.pcap.packets import link, tunnel
from kdiag.pcap.packets.descent import Descent
from kdiag.pcap.packets.ip import read_ipv4
from kdiag.pcap.packets.layer import ProtocolLayer
from recordings.capture_writer import block_of

OUTER = IP(src="10.9.9.1", dst="10.9.9.2")
ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
INNER = IP(src="10.0.0.1", dst="10.0.0.2") / TCP(dport=9092) / Raw(b"kafka")
INNER6 = IPv6(src="::1", dst="::2") / TCP(dport=9092) / Raw(b"kafka")


def unwrap(data: npt.NDArray[np.uint8], packets: ProtocolLayer) -> list[ProtocolLayer]:
    """Return the IP packets inside IPv4 packets."""
    descent = Descent(data)
    tunnel.unwrap(descent, read_ipv4(data, packets))
    descent.run({**link.STEPS, **tunnel.STEPS})
    return descent.take_ip()


def inside(*packets: Packet) -> list[tuple[int, bytes]]:
    """Return row and bytes of the IP packets inside IPv4 packets that are tunnels."""
    block = block_of([bytes(packet) for packet in packets], 101)
    layer = ProtocolLayer(np.arange(len(packets)), block.offset, block.captured, block.original)
    return [
        (row, block.data[offset : offset + captured].tobytes())
        for inner in unwrap(block.data, layer)
        for row, offset, captured in zip(*(c.tolist() for c in inner[:3]), strict=True)
    ]


@pytest.mark.parametrize(
    "tunnel",
    [
        OUTER / UDP(dport=4789) / VXLAN(vni=42) / ETHER / INNER,
        OUTER / UDP(dport=8472) / VXLAN(vni=42) / ETHER / INNER,
        OUTER / UDP(dport=4789) / VXLAN(vni=42) / ETHER / Dot1Q(vlan=7) / INNER,
        OUTER / GRE() / INNER,
        OUTER / GRE(key_present=1, key=7) / INNER,
        OUTER / GRE(chksum_present=1, key_present=1, seqnum_present=1) / INNER,
        OUTER / GRE(proto=0x6558) / ETHER / INNER,
        OUTER / INNER,
    ],
    ids=["VXLAN", "flannel", "VLAN", "GRE", "GRE key", "GRE all", "GRE bridge", "IP in IP"],
)
def test_the_inner_packet_is_found(tunnel: Packet) -> None:
    """Whatever the tunnel's header is, the IP packet behind it is read."""
    assert inside(OUTER / TCP(), tunnel, OUTER / UDP()) == [(1, bytes(INNER))]


def test_the_inner_packet_may_be_ipv6() -> None:
    """The versions of the inner and the outer packet need not be the same."""
    assert inside(OUTER / INNER6, OUTER / GRE() / INNER6) == [
        (0, bytes(INNER6)),
        (1, bytes(INNER6)),
    ]


@pytest.mark.parametrize(
    "packet",
    [
        OUTER / TCP(),
        OUTER / UDP(dport=53) / VXLAN(vni=42) / ETHER / INNER,
        OUTER / UDP(dport=4789) / VXLAN(flags=0) / ETHER / INNER,
        OUTER
        / UDP(dport=4789)
        / VXLAN(vni=42)
        / ETHER
        / ARP(psrc="10.0.0.1", hwsrc="02:00:00:00:00:01"),
        OUTER / GRE(version=1) / INNER,
        OUTER / GRE(routing_present=1) / INNER,
        OUTER / GRE(proto=0x0806) / Raw(b"arp"),
    ],
    ids=["TCP", "other port", "no network", "ARP", "PPTP", "routed", "GRE with ARP"],
)
def test_other_packets_are_no_tunnels(packet: Packet) -> None:
    """Ports, flags and types decide."""
    assert inside(packet) == []


def test_tunnels_may_be_cut_anywhere() -> None:
    """A header that is not whole leads nowhere."""
    for packet in (OUTER / UDP(dport=4789) / VXLAN(vni=1) / ETHER / INNER, OUTER / GRE() / INNER):
        whole = bytes(packet)
        for size in range(20, len(whole)):
            block = block_of([whole[:size]], 101)
            layer = ProtocolLayer(np.arange(1), block.offset, block.captured, block.original)
            for packets in unwrap(block.data, layer):
                assert (packets.offset + packets.captured <= len(block.data)).all()
