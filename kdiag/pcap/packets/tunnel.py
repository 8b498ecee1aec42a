"""Tunnels: the IP packets that other packets carry.

Source: RFC 7348 (VXLAN), RFC 2784 and 2890 (GRE), RFC 2003 and 4213 (IP in IP).
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from kdiag.pcap.files.block import gather, is_any
from kdiag.pcap.packets.layer import PROTOCOL_TCP, Payloads, ProtocolLayer
from kdiag.pcap.packets.link import ETHERTYPE_IPV4, ETHERTYPE_IPV6, strip_ethernet
from kdiag.pcap.packets.network import Networks

_VXLAN: Final = np.dtype(
    [
        ("source_port", ">u2"),
        ("destination_port", ">u2"),
        ("udp", ">u4"),
        ("flags", "u1"),
        ("reserved", "V3"),
        ("network", ">u4"),  # 24 bits of it; 8 are reserved
    ]
)
_VXLAN_PORTS: Final = (4789, 8472)  # the registered port, and the one Linux (flannel) defaults to
_VXLAN_HAS_NETWORK: Final = 0x08
_VXLAN_RESERVED_BITS: Final = 8
_GRE: Final = np.dtype([("flags", ">u2"), ("ethertype", ">u2")])
_GRE_WORDS: Final = (0x8000, 0x2000, 0x1000)  # checksum, key, sequence number: 4 bytes each
_GRE_UNKNOWN: Final = 0x4FFF  # source routing of RFC 1701, version 1 (PPTP)
_ETHERTYPE_BRIDGING: Final = 0x6558

Unwrap: TypeAlias = Callable[
    [npt.NDArray[np.uint8], ProtocolLayer, Networks | None], list[ProtocolLayer]
]


def unwrap(
    data: npt.NDArray[np.uint8], payloads: Payloads, networks: Networks | None = None
) -> list[ProtocolLayer]:
    """Return the IP packets inside payloads that are tunnels.

    Args:
        data: where they lie.
        payloads: of IP packets.
        networks: learns of the networks of the tunnels, if it is given.
    """
    if (payloads.protocol == PROTOCOL_TCP).all():
        return []
    inner: list[ProtocolLayer] = []
    for protocol, unwrap_one in _TUNNELS.items():
        chosen = payloads.protocol == protocol
        if chosen.any():
            inner += unwrap_one(data, payloads.layer.pick(chosen), networks)
    return [packets for packets in inner if len(packets.row)]


def _unwrap_ip(
    _data: npt.NDArray[np.uint8], packets: ProtocolLayer, _networks: Networks | None
) -> list[ProtocolLayer]:
    return [packets]


def _unwrap_vxlan(
    data: npt.NDArray[np.uint8], datagrams: ProtocolLayer, networks: Networks | None
) -> list[ProtocolLayer]:
    datagrams = datagrams.pick(datagrams.captured >= _VXLAN.itemsize)
    header = gather(data, datagrams.offset, _VXLAN)
    chosen = is_any(header["destination_port"], _VXLAN_PORTS)
    chosen &= (header["flags"] & _VXLAN_HAS_NETWORK) != 0
    inner = datagrams.pick(chosen).skip(_VXLAN.itemsize)
    if networks is not None:
        networks.enter(inner.row, header["network"][chosen] >> _VXLAN_RESERVED_BITS)
    return [strip_ethernet(data, inner, networks)]


def _unwrap_gre(
    data: npt.NDArray[np.uint8], packets: ProtocolLayer, networks: Networks | None
) -> list[ProtocolLayer]:
    packets = packets.pick(packets.captured >= _GRE.itemsize)
    header = gather(data, packets.offset, _GRE)
    flags, ethertype = header["flags"].astype(np.int64), header["ethertype"]
    words = sum((flags & word != 0) for word in _GRE_WORDS)
    inner = packets.skip(_GRE.itemsize + 4 * words)
    known = (flags & _GRE_UNKNOWN) == 0
    is_ip = known & ((ethertype == ETHERTYPE_IPV4) | (ethertype == ETHERTYPE_IPV6))
    bridged = known & (ethertype == _ETHERTYPE_BRIDGING)
    return [inner.pick(is_ip), strip_ethernet(data, inner.pick(bridged), networks)]


_TUNNELS: Final[Mapping[int, Unwrap]] = {
    4: _unwrap_ip,
    17: _unwrap_vxlan,
    41: _unwrap_ip,
    47: _unwrap_gre,
}
