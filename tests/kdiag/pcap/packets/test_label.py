import struct

import pytest
from scapy.contrib.mpls import MPLS, EoMCW
from scapy.layers.inet import UDP
from scapy.layers.l2 import ARP, GRE, Dot1Q, Ether
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

ETHERNET = 1
LABELS = MPLS(label=100, s=0) / MPLS(label=200, s=1)
ZEROS = Ether(src="02:00:00:00:00:01", dst="00:1b:21:3c:9d:f8")
"""A frame whose first four bits look like those of a control word."""
FOURS = Ether(src="02:00:00:00:00:01", dst="45:00:05:dc:00:01")
SIXES = Ether(src="02:00:00:00:00:01", dst="60:00:00:00:ff:ff")
"""Frames that begin as IP packets do."""


def nsh(following: int, inner: bytes | Packet, *, words: int = 6, version: int = 0) -> bytes:
    """Return a packet behind a header of a service function chain."""
    head = struct.pack(">HBBI", version << 14 | 63 << 6 | words, 1, following, 0x00002A01)
    return head + bytes(4 * words - len(head)) + bytes(inner)


@pytest.mark.thorough
@for_each(
    "frame",
    [
        ETHER / MPLS(s=1) / INNER,
        ETHER / LABELS / INNER,
        ETHER / Dot1Q(vlan=3) / LABELS / INNER,
        Ether(type=0x8848) / LABELS / INNER,
        ETHER / LABELS / ETHER / INNER,
        ETHER / LABELS / EoMCW() / ETHER / INNER,
        ETHER / LABELS / ZEROS / INNER,
        ETHER / LABELS / EoMCW(seq=9) / ZEROS / INNER,
        ETHER / LABELS / EoMCW() / ETHER / Dot1Q(vlan=7) / INNER,
        ETHER / LABELS / FOURS / INNER,
        ETHER / LABELS / SIXES / INNER,
        ETHER / LABELS / ETHER / LABELS / INNER,
        ETHER / OUTER / GRE(proto=0x8847) / LABELS / INNER,
        ETHER / OUTER / UDP(dport=6635) / LABELS / INNER,
        ETHER / OUTER.__class__(src="1.1.1.1", dst="2.2.2.2", proto=137) / bytes(LABELS / INNER),
    ],
)
def test_labels_are_taken_off(frame: Packet) -> None:
    """Behind the last is an IP packet, or a frame with or without a control word."""
    assert payloads(ETHERNET, frame, ETHER / INNER) == [(1, b"kafka"), (2, b"kafka")]
    assert_cuts_are_harmless(ETHERNET, frame)


def test_labelled_packets_may_be_ipv6() -> None:
    """The label does not say so; the header does."""
    assert ip_packets(ETHERNET, ETHER / LABELS / INNER6) == [(0, bytes(INNER6))]


def test_many_labels_are_taken_off_and_endless_ones_lead_nowhere() -> None:
    """Nobody stacks more than a few."""
    deep = ETHER / (bytes(MPLS(s=0)) * 20 + bytes(MPLS(s=1) / INNER))
    deep.type = 0x8847
    endless = ETHER / (bytes(MPLS(s=0)) * 300)
    endless.type = 0x8847

    assert ip_packets(ETHERNET, deep, endless) == [(0, bytes(INNER))]


def test_a_pseudowire_may_carry_anything() -> None:
    """What is not IP leads nowhere."""
    address = ARP(psrc="10.0.0.1", hwsrc="02:00:00:00:00:01")
    assert ip_packets(ETHERNET, ETHER / LABELS / ETHER / address) == []
    assert ip_packets(ETHERNET, ETHER / LABELS / (b"\x45" + bytes(100))) == [
        (0, b"\x45" + bytes(100))
    ]


@pytest.mark.thorough
@for_each(
    ("following", "inner"),
    [
        (1, INNER),
        (2, INNER6),
        (3, ETHER / INNER),
        (4, nsh(1, INNER)),
        (5, LABELS / INNER),
    ],
    ids=["IPv4", "IPv6", "Ethernet", "NSH", "MPLS"],
)
@for_each("words", [2, 6, 40])
def test_service_function_chains_are_followed(
    following: int, inner: bytes | Packet, words: int
) -> None:
    """Whatever metadata their headers hold."""
    frame = bytes(Ether(type=0x894F)) + nsh(following, inner, words=words)

    assert payloads(ETHERNET, frame) == [(1, b"kafka")]
    assert_cuts_are_harmless(ETHERNET, frame)


def test_impossible_chains_lead_nowhere() -> None:
    """A header has two words at least, and only version 0 is known."""
    head = bytes(Ether(type=0x894F))
    short, newer = nsh(1, INNER, words=2), nsh(1, INNER, version=1)

    assert ip_packets(ETHERNET, head + short[:1] + b"\xc1" + short[2:], head + newer) == []
