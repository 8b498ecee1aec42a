"""Labels between link layer and IP: MPLS, its pseudowires, and service function chains (NSH).

Labels do not say what follows the last of them. It is IP where its first bytes are a header of IP
that fits; else it is a pseudowire that carries Ethernet, behind a control word of four bytes that
begins with four zero bits, or without one.

Source: RFC 3032 and 4928 (MPLS), RFC 4448 (Ethernet in pseudowires), RFC 8300 (NSH).
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.pcap.encapsulation import ETHERTYPE, IP_PROTOCOL, LINK_TYPE, UDP_PORT, Encapsulation
from kdiag.pcap.files.block import gather, is_any
from kdiag.pcap.packets.descent import Descent, Step
from kdiag.pcap.packets.layer import ProtocolLayer
from kdiag.pcap.packets.link import (
    ETHERTYPE_IPV4,
    ETHERTYPE_IPV6,
    ETHERTYPE_MPLS,
    ETHERTYPE_NSH,
    LINKTYPE_ETHERNET,
    VLAN_TAGS,
    read_u16,
)

_MAX_LABELS: Final = 32
_LABEL: Final = np.dtype([("value", ">u4")])
_LAST_LABEL: Final = 0x100
_START: Final = np.dtype([("first", "u1"), ("second", "u1"), ("total", ">u2"), ("payload", ">u2")])
_CONTROL_WORD_BYTES: Final = 4
_MACS_BYTES: Final = 12
_ETHERNET_BYTES: Final = 14
_INSIDE: Final = (ETHERTYPE_IPV4, ETHERTYPE_IPV6, 0x0806, ETHERTYPE_MPLS, *VLAN_TAGS)
_IPV4, _IPV6 = 4, 6
_IPV4_BYTES, _IPV6_BYTES = 20, 40

_NSH: Final = np.dtype([("size", ">u2"), ("kind", "u1"), ("next", "u1")])
_NSH_SIZE: Final = 0x3F
_NSH_VERSION: Final = 0xC000
_NEXT_IP: Final = (1, 2)
_NEXT: Final = {
    3: Encapsulation(LINK_TYPE, LINKTYPE_ETHERNET),
    4: Encapsulation(ETHERTYPE, ETHERTYPE_NSH),
    5: Encapsulation(ETHERTYPE, ETHERTYPE_MPLS),
}


def _read_mpls(descent: Descent, packets: ProtocolLayer) -> None:
    for _ in range(_MAX_LABELS):
        packets = descent.headed(packets, _LABEL.itemsize)
        label = gather(descent.data, packets.offset, _LABEL)["value"]
        packets = packets.skip(_LABEL.itemsize)
        is_last = (label & _LAST_LABEL) != 0
        _read_labelled(descent, packets.pick(is_last))
        packets = packets.pick(~is_last)
        if not len(packets.row):
            break


def _read_labelled(descent: Descent, packets: ProtocolLayer) -> None:
    """Send on what follows the last label."""
    packets = descent.headed(packets, _START.itemsize)
    is_ip = _looks_like_ip(descent, packets)
    descent.reach_ip(packets.pick(is_ip))
    frames = packets.pick(~is_ip)
    frames = descent.headed(frames, _CONTROL_WORD_BYTES + _ETHERNET_BYTES)
    is_bare = is_any(read_u16(descent, frames.skip(_MACS_BYTES)), _INSIDE)
    has_word = ~is_bare & (descent.data[frames.offset] >> 4 == 0)
    descent.send(LINK_TYPE, LINKTYPE_ETHERNET, frames.skip(has_word * _CONTROL_WORD_BYTES))


def _looks_like_ip(descent: Descent, packets: ProtocolLayer) -> npt.NDArray[np.bool_]:
    """Return which packets have the length that a header of IP at their beginning gives."""
    start = gather(descent.data, packets.offset, _START)
    version = start["first"] >> 4
    total, payload = start["total"].astype(np.int64), start["payload"].astype(np.int64)
    fits = (total == 0) | ((total >= _IPV4_BYTES) & (total <= packets.wire))
    is_ipv4 = (version == _IPV4) & ((start["first"] & 15) >= _IPV4_BYTES // 4) & fits
    is_ipv6 = (version == _IPV6) & (payload + _IPV6_BYTES <= packets.wire)
    fits_either: npt.NDArray[np.bool_] = is_ipv4 | is_ipv6
    return fits_either


def send_next(descent: Descent, numbers: npt.NDArray[np.integer], packets: ProtocolLayer) -> None:
    """Send packets on by the numbers that NSH and VXLAN-GPE have for what follows."""
    descent.reach_ip(packets.pick(is_any(numbers, _NEXT_IP)))
    for number, following in _NEXT.items():
        descent.send(*following, packets.pick(numbers == number))


def _read_nsh(descent: Descent, packets: ProtocolLayer) -> None:
    packets = descent.headed(packets, _NSH.itemsize)
    header = gather(descent.data, packets.offset, _NSH)
    size = (header["size"] & _NSH_SIZE).astype(np.int64) * 4
    good = (size >= 2 * _NSH.itemsize) & ((header["size"] & _NSH_VERSION) == 0)
    send_next(descent, header["next"][good], packets.skip(size).pick(good))


STEPS: Final[Mapping[Encapsulation, Step]] = {
    Encapsulation(ETHERTYPE, ETHERTYPE_MPLS): _read_mpls,
    Encapsulation(ETHERTYPE, 0x8848): _read_mpls,  # with labels assigned upstream
    Encapsulation(ETHERTYPE, ETHERTYPE_NSH): _read_nsh,
    Encapsulation(IP_PROTOCOL, 137): _read_mpls,
    Encapsulation(UDP_PORT, 6635): _read_mpls,
}
"""How to read labels, wherever they stand."""
