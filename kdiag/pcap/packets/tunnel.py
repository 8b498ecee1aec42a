"""Tunnels: the packets that IP packets carry.

Source: RFC 7348 (VXLAN), draft-ietf-nvo3-vxlan-gpe (VXLAN-GPE), RFC 8926 (Geneve), RFC 2784 and
2890 (GRE), RFC 2637 (GRE of PPTP), draft-foschiano-erspan (ERSPAN), 3GPP TS 29.281 (GTP-U), RFC
8086 (GRE in UDP), RFC 2003 and 4213 (IP in IP).
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from kdiag.pcap.encapsulation import ETHERTYPE, IP_PROTOCOL, LINK_TYPE, UDP_PORT, Encapsulation
from kdiag.pcap.files.block import gather, is_any
from kdiag.pcap.packets.descent import Descent, Step
from kdiag.pcap.packets.label import send_next
from kdiag.pcap.packets.layer import PROTOCOL_TCP, Payloads, ProtocolLayer
from kdiag.pcap.packets.link import (
    ETHERTYPE_PPP,
    LINKTYPE_ETHERNET,
    LINKTYPE_PPP,
    read_ethertypes,
)

_UDP: Final = np.dtype([("source", ">u2"), ("destination", ">u2"), ("rest", ">u4")])
_VXLAN: Final = np.dtype(
    [
        ("flags", "u1"),
        ("reserved", "V2"),
        ("next", "u1"),
        ("network", ">u4"),  # 24 bits of it; 8 are reserved
    ]
)
_VXLAN_HAS_NETWORK: Final = 0x08
_VXLAN_HAS_NEXT: Final = 0x04
_RESERVED_BITS: Final = 8
_GENEVE: Final = np.dtype(
    [("options", "u1"), ("flags", "u1"), ("ethertype", ">u2"), ("network", ">u4")]
)
_GENEVE_VERSION: Final = 0xC0
_GENEVE_WORDS: Final = 0x3F
_GRE: Final = np.dtype([("flags", ">u2"), ("ethertype", ">u2")])
_GRE_WORDS: Final = (0x8000, 0x2000, 0x1000)  # checksum, key, sequence number: 4 bytes each
_GRE_UNKNOWN: Final = 0x4FFF  # source routing of RFC 1701, other versions
_PPTP_WORDS: Final = (0x2000, 0x1000, 0x0080)  # key, sequence number, acknowledgment
_PPTP: Final = 0x2001  # version 1, which always has a key
_PPTP_MASK: Final = 0x6F07
_HAS_SEQUENCE: Final = 0x1000
_ETHERTYPE_ERSPAN: Final = 0x88BE
_ETHERTYPE_ERSPAN_3: Final = 0x22EB
_ERSPAN_2_BYTES: Final = 8
_ERSPAN_3: Final = np.dtype([("mirror", "V10"), ("frame", ">u2")])
_ERSPAN_3_FRAME: Final = 0x7C00
_ERSPAN_3_IP: Final = 0x0800
_ERSPAN_3_HAS_MORE: Final = 0x0001
_ERSPAN_3_MORE_BYTES: Final = 8
_GTP: Final = np.dtype([("flags", "u1"), ("kind", "u1"), ("size", ">u2"), ("tunnel", ">u4")])
_GTP_VERSION: Final = 0xF0
_GTP_1: Final = 0x30
_GTP_HAS_OPTIONS: Final = 0x07
_GTP_HAS_EXTENSION: Final = 0x04
_GTP_OPTION_BYTES: Final = 4
_GTP_PACKET: Final = 255
_MAX_GTP_EXTENSIONS: Final = 16
_IP_VERSIONS: Final = (4, 6)


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
    datagrams = descent.headed(datagrams, _UDP.itemsize)
    header = gather(descent.data, datagrams.offset, _UDP)
    ports = header["destination"]
    # Of an answer the source is the port that people know: 53 of DNS.
    told = np.minimum(header["source"], ports)
    descent.sort(UDP_PORT, ports, datagrams.skip(_UDP.itemsize), told)


def _read_vxlan(descent: Descent, packets: ProtocolLayer) -> None:
    packets = descent.headed(packets, _VXLAN.itemsize)
    header = gather(descent.data, packets.offset, _VXLAN)
    has_network = (header["flags"] & _VXLAN_HAS_NETWORK) != 0
    has_next = (header["flags"] & _VXLAN_HAS_NEXT) != 0
    inner = packets.skip(_VXLAN.itemsize)
    network = header["network"][has_network] >> _RESERVED_BITS
    descent.enter(inner.row[has_network], network)
    descent.send(LINK_TYPE, LINKTYPE_ETHERNET, inner.pick(has_network & ~has_next))
    send_next(descent, header["next"][has_next], inner.pick(has_next))


def _read_geneve(descent: Descent, packets: ProtocolLayer) -> None:
    packets = descent.headed(packets, _GENEVE.itemsize)
    header = gather(descent.data, packets.offset, _GENEVE)
    size = _GENEVE.itemsize + (header["options"] & _GENEVE_WORDS).astype(np.int64) * 4
    good = (header["options"] & _GENEVE_VERSION) == 0
    inner, header = packets.skip(size).pick(good), header[good]
    descent.enter(inner.row, header["network"] >> _RESERVED_BITS)
    read_ethertypes(descent, inner, header["ethertype"])


def _read_gtp(descent: Descent, packets: ProtocolLayer) -> None:
    packets = descent.headed(packets, _GTP.itemsize)
    header = gather(descent.data, packets.offset, _GTP)
    flags = header["flags"]
    good = ((flags & _GTP_VERSION) == _GTP_1) & (header["kind"] == _GTP_PACKET)
    has_options = (flags & _GTP_HAS_OPTIONS) != 0
    inner = packets.skip(_GTP.itemsize + has_options * np.int64(_GTP_OPTION_BYTES))
    is_extended = (flags & _GTP_HAS_EXTENSION) != 0
    _reach_user_packets(descent, inner.pick(good & ~is_extended))
    _read_gtp_extensions(descent, inner.pick(good & is_extended))


def _read_gtp_extensions(descent: Descent, packets: ProtocolLayer) -> None:
    """Skip extensions: the byte before each, if it is not 0, is its kind, the first its size."""
    for _ in range(_MAX_GTP_EXTENSIONS):
        packets = packets.pick(packets.captured > 0)
        has_more = descent.data[packets.offset - 1] != 0
        _reach_user_packets(descent, packets.pick(~has_more))
        packets = packets.pick(has_more)
        words = descent.data[packets.offset].astype(np.int64)
        packets = packets.skip(words * 4).pick(words > 0)
        if not len(packets.row):
            break


def _reach_user_packets(descent: Descent, packets: ProtocolLayer) -> None:
    """Take what begins like IP for it; a tunnel for other packets does not say so."""
    packets = packets.pick(packets.captured > 0)
    descent.reach_ip(packets.pick(is_any(descent.data[packets.offset] >> 4, _IP_VERSIONS)))


def _read_gre(descent: Descent, packets: ProtocolLayer) -> None:
    packets = descent.headed(packets, _GRE.itemsize)
    header = gather(descent.data, packets.offset, _GRE)
    flags, ethertype = header["flags"].astype(np.int64), header["ethertype"].astype(np.int64)
    words = sum((flags & word != 0) for word in _GRE_WORDS)
    inner = packets.skip(_GRE.itemsize + 4 * words)
    known = (flags & _GRE_UNKNOWN) == 0
    is_mirror = known & (ethertype == _ETHERTYPE_ERSPAN)
    has_header = is_mirror * np.int64(_ERSPAN_2_BYTES) * ((flags & _HAS_SEQUENCE) != 0)
    descent.send(LINK_TYPE, LINKTYPE_ETHERNET, inner.skip(has_header).pick(is_mirror))
    others = known & ~is_mirror
    read_ethertypes(descent, inner.pick(others), ethertype[others])
    is_pptp = ((flags & _PPTP_MASK) == _PPTP) & (ethertype == ETHERTYPE_PPP)
    words = sum((flags & word != 0) for word in _PPTP_WORDS)
    descent.send(LINK_TYPE, LINKTYPE_PPP, packets.skip(_GRE.itemsize + 4 * words).pick(is_pptp))


def _read_erspan_3(descent: Descent, packets: ProtocolLayer) -> None:
    packets = descent.headed(packets, _ERSPAN_3.itemsize)
    frame = gather(descent.data, packets.offset, _ERSPAN_3)["frame"]
    has_more = (frame & _ERSPAN_3_HAS_MORE).astype(np.int64)
    inner = packets.skip(_ERSPAN_3.itemsize + has_more * _ERSPAN_3_MORE_BYTES)
    kind = frame & _ERSPAN_3_FRAME
    descent.send(LINK_TYPE, LINKTYPE_ETHERNET, inner.pick(kind == 0))
    descent.reach_ip(inner.pick(kind == _ERSPAN_3_IP))


STEPS: Final[Mapping[Encapsulation, Step]] = {
    Encapsulation(ETHERTYPE, _ETHERTYPE_ERSPAN_3): _read_erspan_3,
    Encapsulation(IP_PROTOCOL, 4): _read_ip,
    Encapsulation(IP_PROTOCOL, 17): _read_udp,
    Encapsulation(IP_PROTOCOL, 41): _read_ip,
    Encapsulation(IP_PROTOCOL, 47): _read_gre,
    Encapsulation(UDP_PORT, 2152): _read_gtp,
    Encapsulation(UDP_PORT, 4754): _read_gre,
    Encapsulation(UDP_PORT, 4789): _read_vxlan,  # the registered port
    Encapsulation(UDP_PORT, 4790): _read_vxlan,  # VXLAN-GPE
    Encapsulation(UDP_PORT, 6081): _read_geneve,
    Encapsulation(UDP_PORT, 8472): _read_vxlan,  # the one that Linux (flannel) defaults to
}
"""How to read what IP packets carry."""
