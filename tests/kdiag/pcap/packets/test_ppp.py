import struct

import pytest
from scapy.contrib.chdlc import CHDLC
from scapy.contrib.mpls import MPLS
from scapy.layers.l2 import Dot1Q
from scapy.layers.ppp import DIR_PPP, HDLC, PPP, PPPoE
from scapy.packet import Packet

from recordings.inner_packets import (
    ETHER,
    INNER,
    INNER6,
    OUTER,
    assert_cuts_are_harmless,
    ip_packets,
    payloads,
)
from tiers.cases import for_each

PPP_LINK, SERIAL, PPP_ETHER, CISCO_HDLC, DIRECTED, ETHERNET = 9, 50, 51, 104, 204, 1
FRAMES = [
    (PPP_LINK, PPP() / INNER),
    (PPP_LINK, HDLC() / PPP() / INNER),
    (PPP_LINK, b"\x21" + bytes(INNER)),
    (PPP_LINK, b"\xff\x03\x21" + bytes(INNER)),
    (PPP_LINK, PPP(proto=0x0281) / MPLS(s=1) / INNER),
    (SERIAL, HDLC() / PPP() / INNER),
    (SERIAL, CHDLC() / INNER),
    (SERIAL, CHDLC(address=0x8F) / INNER),
    (PPP_ETHER, PPPoE(sessionid=5) / PPP() / INNER),
    (CISCO_HDLC, CHDLC() / INNER),
    (DIRECTED, DIR_PPP() / PPP() / INNER),
    (ETHERNET, ETHER / PPPoE(sessionid=5) / PPP() / INNER),
    (ETHERNET, ETHER / Dot1Q(vlan=7) / PPPoE(sessionid=5) / PPP() / INNER),
]


@pytest.mark.thorough
@for_each(("link_type", "frame"), FRAMES)
def test_the_ip_packet_inside_ppp_is_found(link_type: int, frame: bytes | Packet) -> None:
    """Whatever framing it has, and however many bytes its protocol takes."""
    assert ip_packets(link_type, frame, b"", frame) == [(0, bytes(INNER)), (2, bytes(INNER))]
    assert payloads(link_type, frame) == [(1, b"kafka")]
    assert_cuts_are_harmless(link_type, frame)


def test_ipv6_has_protocols_of_its_own() -> None:
    """One of PPP's, and the ethertype in Cisco HDLC."""
    assert ip_packets(PPP_LINK, PPP(proto=0x57) / INNER6) == [(0, bytes(INNER6))]
    assert ip_packets(CISCO_HDLC, CHDLC(proto=0x86DD) / INNER6) == [(0, bytes(INNER6))]


@for_each("version", [0x2001, 0x3001, 0x2081, 0x3081])
def test_ppp_inside_of_the_gre_of_pptp_is_found(version: int) -> None:
    """With a sequence number, an acknowledgment, both, or neither."""
    words = 4 * ((version & 0x1000 != 0) + (version & 0x0080 != 0))
    head = struct.pack(">HHHH", version, 0x880B, 0, 7) + bytes(words)
    frame = OUTER.copy()
    frame.proto = 47
    whole = bytes(ETHER / frame / (head + bytes(PPP() / INNER)))

    assert payloads(ETHERNET, whole) == [(1, b"kafka")]
    assert_cuts_are_harmless(ETHERNET, whole)


@for_each(
    ("link_type", "frame"),
    [
        (PPP_LINK, PPP(proto=0xC021) / INNER),
        (PPP_LINK, PPP(proto=0x00FD) / INNER),
        (CISCO_HDLC, CHDLC(proto=0x8035) / INNER),
        (PPP_ETHER, PPPoE(code=0x09) / PPP() / INNER),
    ],
    ids=["LCP", "compressed", "SLARP", "discovery"],
)
def test_what_is_not_ip_leads_nowhere(link_type: int, frame: Packet) -> None:
    """Protocols that set links up carry no data."""
    assert ip_packets(link_type, frame) == []
