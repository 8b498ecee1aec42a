"""Link layers: from the first byte of a captured frame to the IP header inside it.

Source: the LINKTYPE_ registry of tcpdump.org; IEEE 802.1Q and 802.1ad for VLAN tags.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.pcap.files.block import gather, is_any
from kdiag.pcap.packets.descent import ETHERTYPE, LINK_TYPE, Descent, Encapsulation, Step
from kdiag.pcap.packets.layer import ProtocolLayer

LINKTYPE_ETHERNET: Final = 1
ETHERTYPE_IPV4: Final = 0x0800
ETHERTYPE_IPV6: Final = 0x86DD
ETHERTYPE_LLC: Final = 4
"""Linux's number for what has a length in the place of an ethertype."""

_U16: Final = np.dtype([("value", ">u2")])
_TAG: Final = np.dtype([("control", ">u2"), ("ethertype", ">u2")])
_VLAN_TAGS: Final = (0x8100, 0x88A8, 0x9100)
_VLAN_BYTES: Final = 4
_VLAN_ID: Final = 0x0FFF
_VLAN_DEPTH: Final = 4
_FAMILY_BYTES: Final = 4
_MAX_LENGTH: Final = 1500  # larger numbers in the place of an ethertype are one


def read_ethertypes(
    descent: Descent, packets: ProtocolLayer, ethertype: npt.NDArray[np.integer]
) -> None:
    """Send packets on by their ethertypes, VLAN tags taken off.

    Args:
        descent: where to.
        packets: each behind its ethertype.
        ethertype: of each.
    """
    ethertype = ethertype.astype(np.int64)
    for _ in range(_VLAN_DEPTH):
        tagged = is_any(ethertype, _VLAN_TAGS) & (packets.captured >= _VLAN_BYTES)
        if not tagged.any():
            break
        tag = gather(descent.data, packets.offset[tagged], _TAG)
        ethertype[tagged] = tag["ethertype"]
        descent.enter(packets.row[tagged], tag["control"] & _VLAN_ID)
        packets = packets.skip(tagged * np.int64(_VLAN_BYTES))
    is_ip = (ethertype == ETHERTYPE_IPV4) | (ethertype == ETHERTYPE_IPV6)
    descent.reach_ip(packets.pick(is_ip))
    if not is_ip.all():
        others = ethertype[~is_ip]
        others = np.where(others <= _MAX_LENGTH, ETHERTYPE_LLC, others)
        descent.sort(ETHERTYPE, others, packets.pick(~is_ip))


def _step(type_at: int, header_bytes: int) -> Step:
    """Return the step for a header with an ethertype in it."""

    def read(descent: Descent, frames: ProtocolLayer) -> None:
        frames = frames.pick(frames.captured >= header_bytes)
        ethertype = gather(descent.data, frames.offset + type_at, _U16)["value"]
        read_ethertypes(descent, frames.skip(header_bytes), ethertype)

    return read


def _read_family(descent: Descent, frames: ProtocolLayer) -> None:
    """Skip the address family, whose number for IPv6 differs by system; the IP version decides."""
    descent.reach_ip(frames.skip(_FAMILY_BYTES).pick(frames.captured > _FAMILY_BYTES))


def _read_bridged(descent: Descent, frames: ProtocolLayer) -> None:
    descent.send(LINK_TYPE, LINKTYPE_ETHERNET, frames)


def _read_nothing(descent: Descent, frames: ProtocolLayer) -> None:
    descent.reach_ip(frames)


STEPS: Final[Mapping[Encapsulation, Step]] = {
    Encapsulation(space, number): step
    for space, number, step in (
        (LINK_TYPE, 0, _read_family),  # NULL: of BSD and macOS, in the byte order of the host
        (LINK_TYPE, LINKTYPE_ETHERNET, _step(12, 14)),
        (LINK_TYPE, 12, _read_nothing),  # RAW, as some systems number it
        (LINK_TYPE, 14, _read_nothing),
        (LINK_TYPE, 101, _read_nothing),
        (LINK_TYPE, 108, _read_family),  # LOOP: loopback of OpenBSD
        (LINK_TYPE, 113, _step(14, 16)),  # LINUX_SLL: Linux `-i any`
        (LINK_TYPE, 228, _read_nothing),  # IPV4
        (LINK_TYPE, 229, _read_nothing),  # IPV6
        (LINK_TYPE, 276, _step(0, 20)),  # LINUX_SLL2: Linux `-i any`, libpcap 1.10
        (ETHERTYPE, 0x6558, _read_bridged),
    )
}
"""How to read each link layer, and what an ethertype can announce."""
