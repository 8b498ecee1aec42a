"""Tunnels: the IP packets that other packets carry.

Source: RFC 7348 (VXLAN), RFC 2784 and 2890 (GRE), RFC 2003 and 4213 (IP in IP).
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from kdiag.pcap.files.block import gather
from kdiag.pcap.packets.descent import (
    IP_PROTOCOL,
    LINK_TYPE,
    UDP_PORT,
    Descent,
    Encapsulation,
    Step,
)
from kdiag.pcap.packets.layer import PROTOCOL_TCP, Payloads, ProtocolLayer
from kdiag.pcap.packets.link import LINKTYPE_ETHERNET, read_ethertypes

_UDP: Final = np.dtype([("source", ">u2"), ("destination", ">u2"), ("rest", ">u4")])
_VXLAN: Final = np.dtype(
    [
        ("flags", "u1"),
        ("reserved", "V3"),
        ("network", ">u4"),  # 24 bits of it; 8 are reserved
    ]
)
_VXLAN_HAS_NETWORK: Final = 0x08
_VXLAN_RESERVED_BITS: Final = 8
_GRE: Final = np.dtype([("flags", ">u2"), ("ethertype", ">u2")])
_GRE_WORDS: Final = (0x8000, 0x2000, 0x1000)  # checksum, key, sequence number: 4 bytes each
_GRE_UNKNOWN: Final = 0x4FFF  # source routing of RFC 1701, version 1 (PPTP)


def unwrap(descent: Descent, payloads: Payloads) -> None:
    """Send on what IP packets carry, but for TCP.

    Args:
        descent: where to.
        payloads: of the packets.
    """
    others = payloads.protocol != PROTOCOL_TCP
    if others.any():
        descent.sort(IP_PROTOCOL, payloads.protocol[others], payloads.layer.pick(others))


def _read_ip(descent: Descent, packets: ProtocolLayer) -> None:
    descent.reach_ip(packets)


def _read_udp(descent: Descent, datagrams: ProtocolLayer) -> None:
    datagrams = datagrams.pick(datagrams.captured >= _UDP.itemsize)
    ports = gather(descent.data, datagrams.offset, _UDP)["destination"]
    descent.sort(UDP_PORT, ports, datagrams.skip(_UDP.itemsize))


def _read_vxlan(descent: Descent, packets: ProtocolLayer) -> None:
    packets = packets.pick(packets.captured >= _VXLAN.itemsize)
    header = gather(descent.data, packets.offset, _VXLAN)
    chosen = (header["flags"] & _VXLAN_HAS_NETWORK) != 0
    inner = packets.pick(chosen).skip(_VXLAN.itemsize)
    descent.enter(inner.row, header["network"][chosen] >> _VXLAN_RESERVED_BITS)
    descent.send(LINK_TYPE, LINKTYPE_ETHERNET, inner)


def _read_gre(descent: Descent, packets: ProtocolLayer) -> None:
    packets = packets.pick(packets.captured >= _GRE.itemsize)
    header = gather(descent.data, packets.offset, _GRE)
    flags, ethertype = header["flags"].astype(np.int64), header["ethertype"]
    words = sum((flags & word != 0) for word in _GRE_WORDS)
    inner = packets.skip(_GRE.itemsize + 4 * words)
    known = (flags & _GRE_UNKNOWN) == 0
    read_ethertypes(descent, inner.pick(known), ethertype[known])


STEPS: Final[Mapping[Encapsulation, Step]] = {
    Encapsulation(IP_PROTOCOL, 4): _read_ip,
    Encapsulation(IP_PROTOCOL, 17): _read_udp,
    Encapsulation(IP_PROTOCOL, 41): _read_ip,
    Encapsulation(IP_PROTOCOL, 47): _read_gre,
    Encapsulation(UDP_PORT, 4789): _read_vxlan,  # the registered port
    Encapsulation(UDP_PORT, 8472): _read_vxlan,  # the one that Linux (flannel) defaults to
}
"""How to read what IP packets carry."""
