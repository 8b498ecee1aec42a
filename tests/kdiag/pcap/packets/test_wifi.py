import struct

import pytest
from scapy.layers.dot11 import Dot11, Dot11Beacon, Dot11FCS, Dot11QoS, RadioTap
from scapy.layers.l2 import LLC, SNAP, Dot1Q
from scapy.packet import Packet

from recordings.inner_packets import INNER, INNER6, assert_cuts_are_harmless, ip_packets, payloads
from tiers.cases import for_each

PLAIN, MONITORED = 105, 127
TO_NETWORK, FROM_NETWORK, BETWEEN, ENCRYPTED, ORDERED = 1, 2, 3, 0x40, 0x80
HEADER = LLC() / SNAP()


def data(flags: int = TO_NETWORK, **fields: int) -> Packet:
    """Return the header of a data frame."""
    made: Packet = Dot11(type=2, subtype=fields.pop("subtype", 0), FCfield=flags)
    for name, value in fields.items():
        setattr(made, name, value)
    return made


FRAMES = [
    (PLAIN, data() / HEADER / INNER),
    (PLAIN, data(FROM_NETWORK) / HEADER / INNER),
    (PLAIN, data(BETWEEN) / HEADER / INNER),
    (PLAIN, data(subtype=8) / Dot11QoS() / HEADER / INNER),
    (PLAIN, data(subtype=8) / Dot11QoS() / HEADER / Dot1Q(vlan=4) / INNER),
    (PLAIN, data(ORDERED, subtype=8) / Dot11QoS() / (bytes(4) + bytes(HEADER / INNER))),
    (PLAIN, data(subtype=8) / Dot11QoS(A_MSDU_Present=1) / (bytes(14) + bytes(HEADER / INNER))),
    (MONITORED, RadioTap() / data() / HEADER / INNER),
    (MONITORED, RadioTap(present="TSFT+Flags+Rate", mac_timestamp=1) / data() / HEADER / INNER),
    (MONITORED, RadioTap(present="Flags", Flags="FCS") / Dot11FCS(type=2) / HEADER / INNER),
    (
        MONITORED,
        RadioTap(present="Flags", Flags=0x20)
        / data(subtype=8)
        / Dot11QoS()
        / (bytes(2) + bytes(HEADER / INNER)),
    ),
    (
        MONITORED,
        RadioTap(present="TSFT+Flags", mac_timestamp=1, Flags=0x20)
        / data(BETWEEN)
        / (bytes(2) + bytes(HEADER / INNER)),
    ),
]


@pytest.mark.thorough
@for_each(("link_type", "frame"), FRAMES)
def test_the_ip_packet_inside_a_data_frame_is_found(link_type: int, frame: Packet) -> None:
    """Headers have two sizes or more, and cards put their own in front."""
    assert payloads(link_type, frame, b"", frame) == [(1, b"kafka"), (3, b"kafka")]
    assert_cuts_are_harmless(link_type, frame)


def test_ipv6_is_found_too() -> None:
    """What follows is an ethertype, as on any network."""
    assert ip_packets(PLAIN, data() / HEADER / INNER6) == [(0, bytes(INNER6))]


@pytest.mark.parametrize("words", [2, 3, 8])
def test_a_bit_map_may_have_several_words(words: int) -> None:
    """The flags stand behind all of them."""
    maps = [1 << 31 | 2] + [1 << 31] * (words - 2) + [0]
    fields = struct.pack(f"<{words}I", *maps) + b"\x20\0\0\0"
    head = struct.pack("<HH", 0, 4 + len(fields)) + fields
    frame = head + bytes(data(subtype=8) / Dot11QoS()) + bytes(2) + bytes(HEADER / INNER)

    assert payloads(MONITORED, frame) == [(1, b"kafka")]
    assert_cuts_are_harmless(MONITORED, frame)


@for_each(
    "frame",
    [
        data(TO_NETWORK | ENCRYPTED) / HEADER / INNER,
        data(subtype=4) / HEADER / INNER,
        data(SC=1) / HEADER / INNER,
        Dot11(type=0, subtype=8) / Dot11Beacon() / INNER,
        Dot11(type=1, subtype=13) / INNER,
    ],
    ids=["encrypted", "no data", "later fragment", "beacon", "acknowledgment"],
)
def test_other_frames_lead_nowhere(frame: Packet) -> None:
    """Those that manage the network, and those that cannot be read."""
    assert ip_packets(PLAIN, frame) == []


def test_a_radiotap_header_that_cannot_be_leads_nowhere() -> None:
    """It is longer than its frame, or shorter than itself."""
    good = bytes(RadioTap() / data() / HEADER / INNER)

    for size in (0, 7, 4000):
        assert ip_packets(MONITORED, good[:2] + struct.pack("<H", size) + good[4:]) == []
