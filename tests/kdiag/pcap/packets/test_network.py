"""The networks that packets were seen in."""

import numpy as np
import pytest
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import Dot1AD, Dot1Q, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet

from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.packets.index import PacketIndex
from kdiag.pcap.packets.layer import Payloads, ProtocolLayer
from kdiag.pcap.packets.network import Networks
from recordings.capture_writer import block_of

TALK = IP(src="10.0.0.1", dst="10.0.0.2") / TCP(sport=4000, dport=9092)
TALK6 = IPv6(src="::1", dst="::2") / TCP(sport=4000, dport=9092)
ENDS = ("10.0.0.1:4000", "10.0.0.2:9092")


def overlay(number: int, inner: Packet) -> Packet:
    """Return a packet in a VXLAN network."""
    outer = IP(src="10.9.9.1", dst="10.9.9.2") / UDP(dport=4789)
    return Ether() / outer / VXLAN(vni=number) / Ether() / inner


def ends_of(*packets: Packet, separates_networks: bool = True) -> tuple[PacketIndex, list[int]]:
    """Return the senders of packets, as numbers, and the index that has them."""
    index = PacketIndex(separates_networks=separates_networks)
    block = block_of([bytes(packet) for packet in packets], 1)
    return index, index.index_block(block).source.tolist()


def test_tags_make_a_path_from_the_outside_in() -> None:
    """The same tags in another order are another network."""
    networks = Networks(3)
    networks.enter(np.array([1, 2]), np.array([7, 8]))
    networks.enter(np.array([1, 2]), np.array([8, 7]))

    assert networks.of_row.tolist() == [0, (7 << 24) + 8, (8 << 24) + 7]


def test_however_many_tags_there_are_the_number_stays_one() -> None:
    """It never becomes negative or too large for 64 bits."""
    networks = Networks(1)
    for _ in range(8):
        networks.enter(np.array([0]), np.array([(1 << 24) - 1], np.uint32))

    assert 0 < networks.of_row[0] < 1 << 62


def test_addresses_outside_of_any_network_stay_as_they_are() -> None:
    """Their numbers are those that they have without networks."""
    no = np.zeros(1, np.int64)
    layer = ProtocolLayer(no, no, no, no)
    payloads = Payloads(layer, no, no.astype(np.uint64), no.astype(np.uint64), no, no, no != 0)

    assert Networks(1).apart(payloads, AddressBook()) is payloads


@pytest.mark.thorough
def test_the_same_address_in_another_network_is_another_end() -> None:
    """VLANs, stacked VLANs and overlays tell them apart; their text is the same."""
    packets = [
        Ether() / TALK,
        Ether() / Dot1Q(vlan=7) / TALK,
        Ether() / Dot1Q(vlan=8) / TALK,
        Ether() / Dot1AD(vlan=7) / Dot1Q(vlan=8) / TALK,
        overlay(5, TALK),
        overlay(6, TALK),
        overlay(5, Dot1Q(vlan=7) / TALK),
        Ether() / Dot1Q(vlan=7) / TALK6,
        overlay(5, TALK6),
    ]
    index, ends = ends_of(*packets)

    assert len(set(ends)) == len(packets)
    texts = {index.addresses.endpoint_text(end) for end in ends}
    assert texts == {"10.0.0.1:4000", "[::1]:4000"}


def test_both_directions_of_a_network_meet() -> None:
    """Priority bits beside the VLAN id make no difference."""
    back = IP(src="10.0.0.2", dst="10.0.0.1") / TCP(sport=9092, dport=4000)
    index = PacketIndex(separates_networks=True)
    packets = [Ether() / Dot1Q(vlan=7, prio=3) / TALK, Ether() / Dot1Q(vlan=7) / back]
    batch = index.index_block(block_of([bytes(packet) for packet in packets], 1))

    assert batch.source.tolist() == batch.destination.tolist()[::-1]
    assert tuple(map(index.addresses.endpoint_text, batch.source.tolist())) == ENDS


def test_usually_networks_are_not_told_apart() -> None:
    """A switch mirrors a packet in the VLAN where it came in and in that where it went out."""
    _, ends = ends_of(Ether() / TALK, overlay(5, TALK), separates_networks=False)

    assert len(set(ends)) == 1
