"""PPP and Cisco HDLC, as link layers and inside of Ethernet and GRE.

A PPP frame begins with its protocol, behind the bytes FF 03 where it has an address; a protocol
below 256 may have one byte.

Source: RFC 1661 and 1662 (PPP), RFC 2516 (PPPoE), RFC 2637 (PPTP); the LINKTYPE_ registry.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np

from kdiag.pcap.encapsulation import ETHERTYPE, LINK_TYPE, Encapsulation
from kdiag.pcap.files.block import gather, is_any
from kdiag.pcap.packets.descent import Descent, Step
from kdiag.pcap.packets.layer import ProtocolLayer
from kdiag.pcap.packets.link import (
    ETHERTYPE_MPLS,
    ETHERTYPE_PPP,
    LINKTYPE_CISCO_HDLC,
    LINKTYPE_PPP,
    read_ethertypes,
    read_u16,
)

_ADDRESS_AND_CONTROL: Final = 0xFF03
_CISCO_ADDRESSES: Final = (0x0F, 0x8F)  # unicast and broadcast
_IPV4, _IPV6, _MPLS = 0x0021, 0x0057, 0x0281
_LEAST_BYTES: Final = 2
_PPPOE: Final = np.dtype([("version", "u1"), ("code", "u1"), ("session", ">u2"), ("size", ">u2")])


def _read_ppp(descent: Descent, frames: ProtocolLayer) -> None:
    frames = descent.headed(frames, _LEAST_BYTES)
    has_address = read_u16(descent, frames) == _ADDRESS_AND_CONTROL
    frames = frames.skip(has_address * np.int64(2))
    frames = descent.headed(frames, _LEAST_BYTES)
    protocol = read_u16(descent, frames)
    is_short = (protocol & 0x0100) != 0  # the last byte of a protocol is odd, no other one is
    protocol = np.where(is_short, protocol >> 8, protocol)
    packets = frames.skip(np.where(is_short, 1, 2))
    descent.reach_ip(packets.pick(is_any(protocol, (_IPV4, _IPV6))))
    descent.send(ETHERTYPE, ETHERTYPE_MPLS, packets.pick(protocol == _MPLS))


def _read_serial(descent: Descent, frames: ProtocolLayer) -> None:
    """Read what routers record of serial lines: PPP or Cisco HDLC, told by the address."""
    frames = descent.headed(frames, _LEAST_BYTES)
    is_cisco = is_any(read_u16(descent, frames) >> 8, _CISCO_ADDRESSES)
    descent.send(LINK_TYPE, LINKTYPE_CISCO_HDLC, frames.pick(is_cisco))
    descent.send(LINK_TYPE, LINKTYPE_PPP, frames.pick(~is_cisco))


def _read_cisco_hdlc(descent: Descent, frames: ProtocolLayer) -> None:
    frames = descent.headed(frames, 2 * _LEAST_BYTES)
    read_ethertypes(descent, frames.skip(4), read_u16(descent, frames.skip(2)))


def _read_pppoe(descent: Descent, packets: ProtocolLayer) -> None:
    packets = descent.headed(packets, _PPPOE.itemsize)
    is_session = gather(descent.data, packets.offset, _PPPOE)["code"] == 0
    descent.send(LINK_TYPE, LINKTYPE_PPP, packets.pick(is_session).skip(_PPPOE.itemsize))


def _read_directed(descent: Descent, frames: ProtocolLayer) -> None:
    descent.send(LINK_TYPE, LINKTYPE_PPP, frames.skip(1))


def _read_inner(descent: Descent, frames: ProtocolLayer) -> None:
    descent.send(LINK_TYPE, LINKTYPE_PPP, frames)


STEPS: Final[Mapping[Encapsulation, Step]] = {
    Encapsulation(LINK_TYPE, LINKTYPE_PPP): _read_ppp,
    Encapsulation(LINK_TYPE, 50): _read_serial,  # PPP_HDLC
    Encapsulation(LINK_TYPE, 51): _read_pppoe,  # PPP_ETHER
    Encapsulation(LINK_TYPE, LINKTYPE_CISCO_HDLC): _read_cisco_hdlc,
    Encapsulation(LINK_TYPE, 204): _read_directed,  # PPP_WITH_DIR
    Encapsulation(ETHERTYPE, ETHERTYPE_PPP): _read_inner,
    Encapsulation(ETHERTYPE, 0x8864): _read_pppoe,
}
"""How to read PPP, wherever it stands."""
