"""The same twelve messages as recorders write them down: link types, tunnels, fragments, formats.

Each function turns the packets of `hard_captures.base` into the bytes of a capture file.
"""

import gzip
import struct
from collections.abc import Callable
from typing import Final

import lz4.frame
import zstandard
from scapy.contrib.erspan import ERSPAN_II
from scapy.contrib.geneve import GENEVE
from scapy.contrib.gtp import GTP_U_Header
from scapy.contrib.mpls import MPLS, EoMCW
from scapy.layers.dot11 import Dot11, RadioTap
from scapy.layers.inet import IP, TCP, UDP, fragment
from scapy.layers.inet6 import IPv6
from scapy.layers.l2 import GRE, LLC, SNAP, Dot1AD, Dot1Q, Ether
from scapy.layers.l2tp import L2TP
from scapy.layers.pflog import PFLog
from scapy.layers.ppp import PPP, PPPoE
from scapy.layers.vxlan import VXLAN
from scapy.packet import Packet

from recordings.capture_writer import NANOSECONDS, Section, savefile
from recordings.capture_writer import Packet as Written
from recordings.hard_captures import Packets, base

ETHERNET, NULL_LOOPBACK, RAW_IP, COOKED, COOKED_2 = 1, 0, 101, 113, 276
OUTER: Final = Ether() / IP(src="10.9.0.1", dst="10.9.0.2")
_NS_PER_MS: Final = 1_000_000
_BROADCAST: Final = "ff:ff:ff:ff:ff:ff"
"""For IPv6 scapy would otherwise ask the network who has the address, for a second a packet."""


def file_of(packets: list[bytes], *, link_type: int = ETHERNET, magic: int | None = None) -> bytes:
    """Return packets, a millisecond apart, as a classic capture file."""
    written = [Written(data, (number + 1) * _NS_PER_MS) for number, data in enumerate(packets)]
    if magic is None:
        return savefile(written, link_type=link_type)
    return savefile(written, link_type=link_type, magic=magic)


def datagrams() -> Packets:
    """Return the IP packets, without what carried them."""
    return [packet[IP] for packet in base()]


def wrapped(wrap: Callable[[Packet], Packet], *, link_type: int = ETHERNET) -> bytes:
    """Return a capture of the IP packets, each inside something."""
    return file_of([bytes(wrap(packet)) for packet in datagrams()], link_type=link_type)


def headed(head: bytes, *, link_type: int) -> bytes:
    """Return a capture of the IP packets, each behind the same bytes."""
    return file_of([head + bytes(packet) for packet in datagrams()], link_type=link_type)


def ipv6(packet: Packet) -> Packet:
    """Return a packet as one of IPv6."""
    source, destination = (f"2001:db8::{packet[IP].src[-1]}", f"2001:db8::{packet[IP].dst[-1]}")
    tcp = packet[TCP].copy()
    del tcp.chksum
    found: Packet = Ether(dst=_BROADCAST) / IPv6(src=source, dst=destination) / tcp
    return found


def fragmented() -> bytes:
    """Return a capture in which every large packet comes in fragments of IPv4."""
    pieces = []
    for number, packet in enumerate(datagrams()):
        packet.id = number + 1
        packet.flags = 0
        pieces += [bytes(Ether() / piece) for piece in fragment(packet, 600)]  # type: ignore[no-untyped-call]
    return file_of(pieces)


def offloaded() -> bytes:
    """Return a capture whose IP packets state a length of 0, as segmentation offload leaves it."""
    found = []
    for packet in base():
        data = bytearray(bytes(packet))
        data[16:18] = bytes(2)
        found.append(bytes(data))
    return file_of(found)


def pcapng() -> bytes:
    """Return a pcapng file."""
    section = Section()
    blocks = section.start() + section.interface()
    for number, packet in enumerate(base()):
        blocks += section.packet(bytes(packet), number + 1)
    return blocks


def plain() -> bytes:
    """Return a classic file."""
    return file_of([bytes(packet) for packet in base()])


def cut_off() -> bytes:
    """Return a classic file that ends in the middle of one more packet."""
    return plain() + struct.pack("<IIII", 5, 0, 100, 100) + bytes(40)


WRAPPED: Final[dict[str, Callable[[], bytes]]] = {
    "802.1Q": lambda: wrapped(lambda packet: Ether() / Dot1Q(vlan=7) / packet),
    "QinQ": lambda: wrapped(lambda packet: Ether() / Dot1AD(vlan=7) / Dot1Q(vlan=8) / packet),
    "raw IP": lambda: headed(b"", link_type=RAW_IP),
    "Linux cooked": lambda: headed(bytes(14) + b"\x08\x00", link_type=COOKED),
    "Linux cooked 2": lambda: headed(b"\x08\x00" + bytes(18), link_type=COOKED_2),
    "loopback": lambda: headed(struct.pack("<I", 2), link_type=NULL_LOOPBACK),
    "IPv6": lambda: wrapped(ipv6),
    "IPv4 fragments": fragmented,
    "VXLAN": lambda: wrapped(
        lambda packet: (
            Ether() / IP(src="10.9.0.1", dst="10.9.0.2") / UDP() / VXLAN(vni=5) / Ether() / packet
        )
    ),
    "GRE": lambda: wrapped(
        lambda packet: Ether() / IP(src="10.9.0.1", dst="10.9.0.2") / GRE() / packet
    ),
    "PPP": lambda: wrapped(lambda packet: PPP() / packet, link_type=9),
    "PPPoE": lambda: wrapped(lambda packet: Ether() / PPPoE(sessionid=3) / PPP() / packet),
    "MPLS": lambda: wrapped(lambda packet: Ether() / MPLS(label=9, s=0) / MPLS(s=1) / packet),
    "pseudowire": lambda: wrapped(lambda packet: Ether() / MPLS(s=1) / EoMCW() / Ether() / packet),
    "Geneve": lambda: wrapped(lambda packet: OUTER / UDP() / GENEVE(vni=5) / Ether() / packet),
    "GTP-U": lambda: wrapped(
        lambda packet: OUTER / UDP() / GTP_U_Header(gtp_type=255, teid=7) / packet
    ),
    "ERSPAN": lambda: wrapped(
        lambda packet: OUTER / GRE(seqnum_present=1) / ERSPAN_II() / Ether() / packet
    ),
    "802.11": lambda: wrapped(
        lambda packet: RadioTap() / Dot11(type=2, FCfield=1) / LLC() / SNAP() / packet,
        link_type=127,
    ),
    "pflog": lambda: wrapped(lambda packet: PFLog(addrfamily=2) / packet, link_type=117),
    "L2TP, by scapy": lambda: wrapped(lambda packet: OUTER / UDP() / L2TP(hdr=2) / PPP() / packet),
    "pcapng": pcapng,
    "nanoseconds": lambda: file_of([bytes(each) for each in base()], magic=NANOSECONDS),
    "gzip": lambda: gzip.compress(plain()),
    "zstd": lambda: zstandard.ZstdCompressor().compress(plain()),
    "lz4": lambda: bytes(lz4.frame.compress(plain())),
    "cut in the middle of a packet": cut_off,
    "IP length 0": offloaded,
}
"""Row 19 of the table of hard cases."""


def tenants(*wraps: Callable[[Packet], Packet]) -> bytes:
    """Return a capture in which every IP packet comes once for each tenant."""
    return file_of([bytes(wrap(packet)) for packet in datagrams() for wrap in wraps])


def overlay(number: int) -> Callable[[Packet], Packet]:
    """Return what puts an IP packet into a VXLAN network."""
    outer = Ether() / IP(src="10.9.0.1", dst="10.9.0.2") / UDP() / VXLAN(vni=number) / Ether()
    return lambda packet: outer / packet


def virtual(number: int) -> Callable[[Packet], Packet]:
    """Return what puts an IP packet into a Geneve network."""
    return lambda packet: OUTER / UDP() / GENEVE(vni=number) / Ether() / packet


TENANTS: Final[dict[str, Callable[[], bytes]]] = {
    "VLANs": lambda: tenants(*(lambda ip, n=n: Ether() / Dot1Q(vlan=n) / ip for n in (7, 8))),
    "a VLAN and none": lambda: tenants(
        lambda packet: Ether() / packet, lambda packet: Ether() / Dot1Q(vlan=8) / packet
    ),
    "VXLAN networks": lambda: tenants(overlay(5), overlay(6)),
    "Geneve networks": lambda: tenants(virtual(5), virtual(6)),
}
"""Captures of two tenants with the same addresses, by what tells them apart."""
