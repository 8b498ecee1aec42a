"""Link layers: from the first byte of a captured frame to the IP header inside it.

Source: the LINKTYPE_ registry of tcpdump.org; IEEE 802.1Q and 802.1ad for VLAN tags.
"""

from collections.abc import Callable, Mapping
from typing import Final, TypeAlias

import numpy as np
import numpy.typing as npt

from kdiag.pcap.files.block import gather, is_any
from kdiag.pcap.packets.layer import ProtocolLayer
from kdiag.pcap.packets.network import Networks

_U16: Final = np.dtype([("value", ">u2")])
_TAG: Final = np.dtype([("control", ">u2"), ("ethertype", ">u2")])
ETHERTYPE_IPV4: Final = 0x0800
ETHERTYPE_IPV6: Final = 0x86DD
_VLAN_TAGS: Final = (0x8100, 0x88A8, 0x9100)
_VLAN_BYTES: Final = 4
_VLAN_ID: Final = 0x0FFF
_VLAN_DEPTH: Final = 4
_FAMILY_BYTES: Final = 4

Strip: TypeAlias = Callable[[npt.NDArray[np.uint8], ProtocolLayer, Networks | None], ProtocolLayer]


def strip_ethernet(
    data: npt.NDArray[np.uint8], frames: ProtocolLayer, networks: Networks | None = None
) -> ProtocolLayer:
    """Return the IP packets inside Ethernet frames, VLAN tags taken off.

    Args:
        data: where the frames lie.
        frames: those.
        networks: learns of the VLANs, if it is given.
    """
    return _strip_ethertype(data, frames, networks, type_at=12, header_bytes=14)


def _strip_sll(
    data: npt.NDArray[np.uint8], frames: ProtocolLayer, networks: Networks | None = None
) -> ProtocolLayer:
    return _strip_ethertype(data, frames, networks, type_at=14, header_bytes=16)


def _strip_sll2(
    data: npt.NDArray[np.uint8], frames: ProtocolLayer, networks: Networks | None = None
) -> ProtocolLayer:
    return _strip_ethertype(data, frames, networks, type_at=0, header_bytes=20)


def _strip_family(
    _data: npt.NDArray[np.uint8], frames: ProtocolLayer, _networks: Networks | None = None
) -> ProtocolLayer:
    """Skip the address family, whose number for IPv6 differs by system; the IP version decides."""
    return frames.skip(_FAMILY_BYTES).pick(frames.captured > _FAMILY_BYTES)


def _strip_nothing(
    _data: npt.NDArray[np.uint8], frames: ProtocolLayer, _networks: Networks | None = None
) -> ProtocolLayer:
    return frames


def _strip_ethertype(
    data: npt.NDArray[np.uint8],
    frames: ProtocolLayer,
    networks: Networks | None,
    *,
    type_at: int,
    header_bytes: int,
) -> ProtocolLayer:
    frames = frames.pick(frames.captured >= header_bytes)
    ethertype = gather(data, frames.offset + type_at, _U16)["value"].astype(np.int64)
    frames = frames.skip(header_bytes)
    for _ in range(_VLAN_DEPTH):
        tagged = is_any(ethertype, _VLAN_TAGS) & (frames.captured >= _VLAN_BYTES)
        if not tagged.any():
            break
        tag = gather(data, frames.offset[tagged], _TAG)
        ethertype[tagged] = tag["ethertype"]
        if networks is not None:
            networks.enter(frames.row[tagged], tag["control"] & _VLAN_ID)
        frames = frames.skip(tagged * np.int64(_VLAN_BYTES))
    return frames.pick((ethertype == ETHERTYPE_IPV4) | (ethertype == ETHERTYPE_IPV6))


STRIP: Final[Mapping[int, Strip]] = {
    0: _strip_family,  # NULL: loopback of BSD and macOS, family in the byte order of the host
    1: strip_ethernet,
    12: _strip_nothing,  # RAW, as some systems number it
    14: _strip_nothing,
    101: _strip_nothing,
    108: _strip_family,  # LOOP: loopback of OpenBSD
    113: _strip_sll,  # Linux `-i any`
    228: _strip_nothing,  # IPV4
    229: _strip_nothing,  # IPV6
    276: _strip_sll2,  # Linux `-i any`, libpcap 1.10
}
"""How to reach the IP header, by link type."""
