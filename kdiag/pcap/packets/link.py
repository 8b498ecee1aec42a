"""Link layers: from the first byte of a captured frame to the IP header inside it.

Source: the LINKTYPE_ registry of tcpdump.org; IEEE 802.1Q and 802.1ad (VLAN tags), IEEE 802.2 and
RFC 1042 (LLC and SNAP), 802.1AE (MACsec) and 802.1BR (VN-Tag); libpcap's `nflog.h`, OpenBSD's
`if_pflog.h`, Apple's `pktap.h`; Wireshark's `packet-juniper.c` and `packet-cisco-metadata.c`.
"""

from collections.abc import Mapping
from typing import Final

import numpy as np
import numpy.typing as npt

from kdiag.pcap.encapsulation import ETHERTYPE, LINK_TYPE, Encapsulation
from kdiag.pcap.files.block import gather, is_any
from kdiag.pcap.packets.descent import Descent, Step
from kdiag.pcap.packets.layer import ProtocolLayer

LINKTYPE_ETHERNET: Final = 1
LINKTYPE_PPP: Final = 9
LINKTYPE_CISCO_HDLC: Final = 104
ETHERTYPE_IPV4: Final = 0x0800
ETHERTYPE_IPV6: Final = 0x86DD
ETHERTYPE_MPLS: Final = 0x8847
ETHERTYPE_NSH: Final = 0x894F
ETHERTYPE_PPP: Final = 0x880B
ETHERTYPE_LLC: Final = 4
"""Linux's number for what has a length in the place of an ethertype."""
ETHERTYPE_MACSEC: Final = 0x88E5
VLAN_TAGS: Final = (0x8100, 0x88A8, 0x9100, 0x9200)

_U16: Final = np.dtype([("value", ">u2")])
_TAG: Final = np.dtype([("control", ">u2"), ("ethertype", ">u2")])
_VLAN_BYTES: Final = 4
_VLAN_ID: Final = 0x0FFF
_MAX_VLAN_TAGS: Final = 64
_FAMILY_BYTES: Final = 4
_MAX_LENGTH: Final = 1500  # larger numbers in the place of an ethertype are one

_LLC: Final = np.dtype([("target", "u1"), ("source", "u1"), ("control", "u1")])
_SNAP: Final = np.dtype([("vendor_high", "u1"), ("vendor", ">u2"), ("ethertype", ">u2")])
_SNAP_POINT, _IP_POINT = 0xAA, 0x06
_UNNUMBERED: Final = 0x03
_BRIDGES: Final = 0xF8  # the vendor of IEEE 802.1H, beside 0

_NFLOG_BYTES: Final = 4
_NFLOG_PAYLOAD: Final = 9
_MOST_NFLOG_KINDS: Final = 256
_MAX_NFLOG_FIELDS: Final = 32
_BYTE: Final = np.dtype([("value", "u1")])
_ENC_BYTES: Final = 12
_FDDI_BYTES: Final = 13
_FDDI_LLC, _FDDI_KIND = 0x50, 0xF0
_JUNIPER: Final = np.dtype([("magic", ">u2"), ("end", "u1"), ("flags", "u1"), ("extension", ">u2")])
_JUNIPER_MAGIC: Final = (0x4D47, 0x43)
_JUNIPER_BYTES: Final = 4
_JUNIPER_EXTENDED, _JUNIPER_BARE = 0x80, 0x02
_CMD_LENGTH_AT: Final = 1
_CMD_BYTES: Final = 2
_CMD_OPTION_BYTES: Final = 4
_MACSEC_BYTES: Final = 6
_MACSEC_SCI_BYTES: Final = 8
_MACSEC_HAS_SCI, _MACSEC_ENCRYPTED = 0x20, 0x0C
_ETHERTYPE_BYTES: Final = 2
_PKTAP: Final = np.dtype([("size", "<u4"), ("record", "<u4"), ("link_type", "<u4")])
_PKTAP_PACKET: Final = 1


def read_u16(descent: Descent, packets: ProtocolLayer) -> npt.NDArray[np.int64]:
    """Return the first two bytes of packets, which have that many, as numbers."""
    return gather(descent.data, packets.offset, _U16)["value"].astype(np.int64)


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
    for _ in range(_MAX_VLAN_TAGS):
        tagged = is_any(ethertype, VLAN_TAGS) & (packets.captured >= _VLAN_BYTES)
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
        frames = descent.headed(frames, header_bytes)
        ethertype = gather(descent.data, frames.offset + type_at, _U16)["value"]
        read_ethertypes(descent, frames.skip(header_bytes), ethertype)

    return read


def _read_llc(descent: Descent, frames: ProtocolLayer) -> None:
    frames = descent.headed(frames, _LLC.itemsize)
    header = gather(descent.data, frames.offset, _LLC)
    is_plain = header["control"] == _UNNUMBERED
    packets = frames.skip(_LLC.itemsize)
    descent.reach_ip(packets.pick(is_plain & (header["target"] == _IP_POINT)))
    packets = packets.pick(is_plain & (header["target"] == _SNAP_POINT))
    packets = descent.headed(packets, _SNAP.itemsize)
    snap = gather(descent.data, packets.offset, _SNAP)
    known = (snap["vendor_high"] == 0) & is_any(snap["vendor"], (0, _BRIDGES))
    packets = packets.skip(_SNAP.itemsize).pick(known)
    read_ethertypes(descent, packets, snap["ethertype"][known])


def _read_nflog(descent: Descent, frames: ProtocolLayer) -> None:
    """Find the packet among the fields that Linux's firewall logs."""
    fields = frames.skip(_NFLOG_BYTES)
    fields = descent.headed(fields, _NFLOG_BYTES)
    is_big = _nflog_number(descent, fields, 2, is_big=True) < _MOST_NFLOG_KINDS
    for _ in range(_MAX_NFLOG_FIELDS):
        size = _nflog_number(descent, fields, 0, is_big=is_big)
        is_payload = _nflog_number(descent, fields, 2, is_big=is_big) == _NFLOG_PAYLOAD
        descent.reach_ip(fields.within(size).skip(_NFLOG_BYTES).pick(is_payload))
        following = fields.skip((size + 3) & ~3)
        goes_on = ~is_payload & (size >= _NFLOG_BYTES) & (following.captured >= _NFLOG_BYTES)
        fields, is_big = following.pick(goes_on), is_big[goes_on]
        if not len(fields.row):
            break


def _nflog_number(
    descent: Descent, fields: ProtocolLayer, at: int, *, is_big: npt.NDArray[np.bool_] | bool
) -> npt.NDArray[np.int64]:
    """Return a number of each field, which has the byte order of the host that logged it."""
    number = read_u16(descent, fields.skip(at))
    return np.where(is_big, number, (number & 0xFF) << 8 | number >> 8)


def _read_pktap(descent: Descent, frames: ProtocolLayer) -> None:
    frames = descent.headed(frames, _PKTAP.itemsize)
    header = gather(descent.data, frames.offset, _PKTAP)
    size = header["size"].astype(np.int64)
    good = (header["record"] == _PKTAP_PACKET) & (size >= _PKTAP.itemsize)
    inner = frames.skip(size).pick(good)
    descent.sort(LINK_TYPE, header["link_type"][good], inner)


def _read_family(descent: Descent, frames: ProtocolLayer) -> None:
    """Skip the address family, whose number for IPv6 differs by system; the IP version decides."""
    descent.reach_ip(frames.skip(_FAMILY_BYTES).pick(frames.captured > _FAMILY_BYTES))


def read_u8(descent: Descent, packets: ProtocolLayer, at: int = 0) -> npt.NDArray[np.int64]:
    """Return a byte of packets, which have that many, as numbers."""
    return gather(descent.data, packets.offset + at, _BYTE)["value"].astype(np.int64)


def _read_pflog(descent: Descent, frames: ProtocolLayer) -> None:
    """Skip the header of OpenBSD's firewall, which states its size, aligned to words."""
    frames = descent.headed(frames, _FAMILY_BYTES)
    packets = frames.skip((read_u8(descent, frames) + 3) & ~3)
    descent.reach_ip(packets.pick(packets.captured > 0))


def _read_enc(descent: Descent, frames: ProtocolLayer) -> None:
    """Skip the header of OpenBSD's IPsec interface: family, SPI and flags."""
    descent.reach_ip(frames.skip(_ENC_BYTES).pick(frames.captured > _ENC_BYTES))


def _read_fddi(descent: Descent, frames: ProtocolLayer) -> None:
    frames = descent.headed(frames, _FDDI_BYTES)
    is_llc = read_u8(descent, frames) & _FDDI_KIND == _FDDI_LLC
    descent.send(ETHERTYPE, ETHERTYPE_LLC, frames.skip(_FDDI_BYTES).pick(is_llc))


def _read_juniper_ethernet(descent: Descent, frames: ProtocolLayer) -> None:
    """Skip what Junos puts before an Ethernet frame: a magic number, flags, extensions."""
    frames = descent.headed(frames, _JUNIPER.itemsize)
    header = gather(descent.data, frames.offset, _JUNIPER)
    flags = header["flags"]
    is_good = (header["magic"] == _JUNIPER_MAGIC[0]) & (header["end"] == _JUNIPER_MAGIC[1])
    is_good &= flags & _JUNIPER_BARE == 0
    extension = header["extension"].astype(np.int64) + _ETHERTYPE_BYTES
    size = _JUNIPER_BYTES + np.where(flags & _JUNIPER_EXTENDED, extension, 0)
    descent.send(LINK_TYPE, LINKTYPE_ETHERNET, frames.skip(size).pick(is_good))


def _read_cisco_metadata(descent: Descent, frames: ProtocolLayer) -> None:
    """Skip the tag of Cisco TrustSec: a version, the number of options, each of four bytes."""
    frames = descent.headed(frames, _CMD_BYTES)
    options = read_u8(descent, frames, _CMD_LENGTH_AT)
    _read_ethertype_behind(descent, frames.skip(_CMD_BYTES + options * _CMD_OPTION_BYTES))


def _read_macsec(descent: Descent, frames: ProtocolLayer) -> None:
    """Skip the tag of frames that are protected and not encrypted."""
    frames = descent.headed(frames, _MACSEC_BYTES)
    control = read_u8(descent, frames)
    size = _MACSEC_BYTES + np.where(control & _MACSEC_HAS_SCI, _MACSEC_SCI_BYTES, 0)
    is_plain = control & _MACSEC_ENCRYPTED == 0
    _read_ethertype_behind(descent, frames.skip(size).pick(is_plain))


def _read_ethertype_behind(descent: Descent, packets: ProtocolLayer) -> None:
    """Send packets on by the ethertype that they begin with."""
    packets = descent.headed(packets, _ETHERTYPE_BYTES)
    ethertype = read_u16(descent, packets)
    read_ethertypes(descent, packets.skip(_ETHERTYPE_BYTES), ethertype)


def _read_bridged(descent: Descent, frames: ProtocolLayer) -> None:
    descent.send(LINK_TYPE, LINKTYPE_ETHERNET, frames)


def _read_nothing(descent: Descent, frames: ProtocolLayer) -> None:
    descent.reach_ip(frames)


STEPS: Final[Mapping[Encapsulation, Step]] = {
    Encapsulation(space, number): step
    for space, number, step in (
        (LINK_TYPE, 0, _read_family),  # NULL: of BSD and macOS, in the byte order of the host
        (LINK_TYPE, LINKTYPE_ETHERNET, _step(12, 14)),
        (LINK_TYPE, 10, _read_fddi),
        (LINK_TYPE, 12, _read_nothing),  # RAW, as some systems number it
        (LINK_TYPE, 14, _read_nothing),
        (LINK_TYPE, 101, _read_nothing),
        (LINK_TYPE, 108, _read_family),  # LOOP: loopback of OpenBSD
        (LINK_TYPE, 109, _read_enc),
        (LINK_TYPE, 113, _step(14, 16)),  # LINUX_SLL: Linux `-i any`
        (LINK_TYPE, 117, _read_pflog),
        (LINK_TYPE, 178, _read_juniper_ethernet),
        (LINK_TYPE, 228, _read_nothing),  # IPV4
        (LINK_TYPE, 229, _read_nothing),  # IPV6
        (LINK_TYPE, 239, _read_nflog),
        (LINK_TYPE, 242, _step(40, 44)),  # IPoIB, behind its address
        (LINK_TYPE, 258, _read_pktap),
        (LINK_TYPE, 276, _step(0, 20)),  # LINUX_SLL2: Linux `-i any`, libpcap 1.10
        (ETHERTYPE, ETHERTYPE_LLC, _read_llc),
        (ETHERTYPE, 0x6558, _read_bridged),
        (ETHERTYPE, ETHERTYPE_MACSEC, _read_macsec),
        (ETHERTYPE, 0x8909, _read_cisco_metadata),
        (ETHERTYPE, 0x8926, _step(4, 6)),  # VN-Tag
    )
}
"""How to read each link layer, and what an ethertype can announce."""
