import numpy as np
import numpy.typing as npt
import pytest
from scapy.contrib.erspan import ERSPAN_II, ERSPAN_III, ERSPAN_PlatformSpecific
from scapy.contrib.geneve import GENEVE, GeneveOptions
from scapy.contrib.gtp import GTP_U_Header
from scapy.contrib.mpls import MPLS
from scapy.layers.inet import TCP, UDP
from scapy.layers.ipsec import AH
from scapy.layers.l2 import ARP, GRE, Dot1Q
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet, Raw

from kdiag.pcap.packets.descent import Descent
from kdiag.pcap.packets.index import STEPS
from kdiag.pcap.packets.ip import read_ipv4
from kdiag.pcap.packets.layer import ProtocolLayer
from kdiag.pcap.packets.tunnel import unwrap as send_payloads
from recordings.capture_writer import block_of
from recordings.inner_packets import ETHER, INNER, INNER6, OUTER
from tiers.cases import for_each

PLAIN = bytes(INNER)
GPE, GTP = OUTER / UDP(dport=4790), OUTER / UDP(dport=2152)
MIRROR = OUTER / GRE(proto=0x22EB, seqnum_present=1)
ADDRESS = ARP(psrc="10.0.0.1", hwsrc="02:00:00:00:00:01")
OPTION = GeneveOptions(classid=0x0102, type=1, data=bytes(8))
TWO_EXTENSIONS = bytes.fromhex("36ff000000000007 000100c0 01000085 0200000000000000")


def unwrap(data: npt.NDArray[np.uint8], packets: ProtocolLayer) -> list[ProtocolLayer]:
    """Return the IP packets inside IPv4 packets."""
    descent = Descent(data)
    send_payloads(descent, read_ipv4(data, packets))
    descent.run(STEPS)
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


TUNNELS = {
    "VXLAN": OUTER / UDP(dport=4789) / VXLAN(vni=42) / ETHER / INNER,
    "flannel": OUTER / UDP(dport=8472) / VXLAN(vni=42) / ETHER / INNER,
    "VLAN": OUTER / UDP(dport=4789) / VXLAN(vni=42) / ETHER / Dot1Q(vlan=7) / INNER,
    "GPE": GPE / VXLAN(flags=0x0C, vni=42, NextProtocol=1) / INNER,
    "GPE Ethernet": GPE / VXLAN(flags=0x0C, vni=42, NextProtocol=3) / ETHER / INNER,
    "GPE plain": GPE / VXLAN(flags=0x08, vni=42) / ETHER / INNER,
    "GPE MPLS": GPE / VXLAN(flags=0x0C, NextProtocol=5) / MPLS(s=1) / INNER,
    "Geneve": OUTER / UDP(dport=6081) / GENEVE(vni=7) / ETHER / INNER,
    "Geneve IP": OUTER / UDP(dport=6081) / GENEVE(vni=7, proto=0x0800) / INNER,
    "Geneve options": OUTER / UDP(dport=6081) / GENEVE(options=[OPTION, OPTION]) / ETHER / INNER,
    "GTP-U": GTP / GTP_U_Header(gtp_type=255, teid=7) / INNER,
    "GTP-U sequence": GTP / GTP_U_Header(gtp_type=255, teid=7, S=1, seq=5) / INNER,
    "GTP-U extension": GTP / (bytes.fromhex("34ff000000000007 00000085 01100900") + PLAIN),
    "GTP-U extensions": GTP / (TWO_EXTENSIONS + PLAIN),
    "GRE": OUTER / GRE() / INNER,
    "GRE key": OUTER / GRE(key_present=1, key=7) / INNER,
    "GRE all": OUTER / GRE(chksum_present=1, key_present=1, seqnum_present=1) / INNER,
    "GRE bridge": OUTER / GRE(proto=0x6558) / ETHER / INNER,
    "GRE in UDP": OUTER / UDP(dport=4754) / GRE() / INNER,
    "ERSPAN I": OUTER / GRE(proto=0x88BE) / ETHER / INNER,
    "ERSPAN II": OUTER / GRE(proto=0x88BE, seqnum_present=1) / ERSPAN_II(vlan=7) / ETHER / INNER,
    "ERSPAN III": MIRROR / ERSPAN_III(vlan=7) / ETHER / INNER,
    "ERSPAN III IP": MIRROR / ERSPAN_III(ft=2) / INNER,
    "ERSPAN III more": MIRROR / ERSPAN_III(o=1) / ERSPAN_PlatformSpecific() / ETHER / INNER,
    "AH": OUTER / AH(nh=4, payloadlen=4, icv=bytes(12)) / INNER,
    "IP in IP": OUTER / INNER,
}
OTHERS = {
    "TCP": OUTER / TCP(),
    "other port": OUTER / UDP(dport=53) / VXLAN(vni=42) / ETHER / INNER,
    "no network": OUTER / UDP(dport=4789) / VXLAN(flags=0) / ETHER / INNER,
    "ARP": OUTER / UDP(dport=4789) / VXLAN(vni=42) / ETHER / ADDRESS,
    "GPE other": GPE / VXLAN(flags=0x0C, NextProtocol=9) / INNER,
    "Geneve 1": OUTER / UDP(dport=6081) / GENEVE(version=1) / ETHER / INNER,
    "GTP-U echo": GTP / GTP_U_Header(gtp_type=1) / INNER,
    "GTP-U Ethernet": GTP / GTP_U_Header(gtp_type=255) / ETHER / INNER,
    "GTP-U empty extension": GTP / (TWO_EXTENSIONS[:12] + bytes(40) + PLAIN),
    "PPTP without PPP": OUTER / GRE(version=1) / INNER,
    "routed": OUTER / GRE(routing_present=1) / INNER,
    "GRE with ARP": OUTER / GRE(proto=0x0806) / Raw(b"arp"),
    "ERSPAN III other": MIRROR / ERSPAN_III(ft=5) / INNER,
}


@pytest.mark.thorough
@for_each("tunnel", TUNNELS.values(), ids=TUNNELS)
def test_the_inner_packet_is_found(tunnel: Packet) -> None:
    """Whatever the tunnel's header is, the IP packet behind it is read."""
    assert inside(OUTER / TCP(), tunnel, OUTER / UDP()) == [(1, PLAIN)]


def test_the_inner_packet_may_be_ipv6() -> None:
    """The versions of the inner and the outer packet need not be the same."""
    assert inside(OUTER / INNER6, OUTER / GRE() / INNER6) == [
        (0, bytes(INNER6)),
        (1, bytes(INNER6)),
    ]


@pytest.mark.thorough
@for_each("packet", OTHERS.values(), ids=OTHERS)
def test_other_packets_are_no_tunnels(packet: Packet) -> None:
    """Ports, flags and types decide."""
    assert inside(packet) == []


@pytest.mark.thorough
@for_each("tunnel", TUNNELS.values(), ids=TUNNELS)
def test_tunnels_may_be_cut_anywhere(tunnel: Packet) -> None:
    """A header that is not whole leads nowhere."""
    whole = bytes(tunnel)
    for size in range(20, len(whole)):
        block = block_of([whole[:size]], 101)
        layer = ProtocolLayer(np.arange(1), block.offset, block.captured, block.original)
        for packets in unwrap(block.data, layer):
            assert (packets.offset + packets.captured <= len(block.data)).all()
