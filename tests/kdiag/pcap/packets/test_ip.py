from collections.abc import Callable
from functools import reduce
from operator import truediv
from typing import NamedTuple

import numpy as np
import pytest
from scapy.layers.inet import IP, TCP, IPOption_NOP, IPOption_RR
from scapy.layers.inet6 import (
    IPv6,
    IPv6ExtHdrDestOpt,
    IPv6ExtHdrFragment,
    IPv6ExtHdrHopByHop,
    IPv6ExtHdrRouting,
    PadN,
)
from scapy.layers.ipsec import AH
from scapy.packet import Raw

from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.packets.ip import read_ipv4, read_ipv6
from kdiag.pcap.packets.layer import Payloads, ProtocolLayer
from recordings.capture_writer import Packet, block_of
from tiers.cases import for_each

RAW_IP = 101
V4 = IP(src="10.0.0.1", dst="192.168.255.254")
V6 = IPv6(src="2001:db8::1", dst="2001:db8::2")


class Payload(NamedTuple):
    """What one IP packet carries."""

    row: int
    protocol: int
    captured: bytes
    wire_bytes: int


def read(*packets: bytes | Packet) -> list[Payload]:
    """Return the payloads of IP packets of one version."""
    block, payloads = payloads_of(*packets)
    return [
        Payload(row, protocol, block[offset : offset + captured], wire)
        for (row, offset, captured, wire), protocol in zip(
            zip(*(column.tolist() for column in payloads.layer), strict=True),
            payloads.protocol.tolist(),
            strict=True,
        )
    ]


def payloads_of(*packets: bytes | Packet) -> tuple[bytes, Payloads]:
    """Return the bytes of IP packets of one version, and their payloads."""
    block = block_of(packets, RAW_IP)
    layer = ProtocolLayer(np.arange(len(packets)), block.offset, block.captured, block.original)
    if block.data[0] >> 4 == 4:
        return block.data.tobytes(), read_ipv4(block.data, layer)
    return block.data.tobytes(), read_ipv6(block.data, layer, AddressBook())


def test_an_ipv4_payload_follows_the_options() -> None:
    """The header is as long as it says."""
    options = [IPOption_NOP(), IPOption_RR(routers=["1.2.3.4", "5.6.7.8"])]
    packets = [bytes(V4 / Raw(b"plain")), bytes(V4.copy() / Raw(b"")), b""]
    packets[2] = bytes(IP(options=options, proto=17) / Raw(b"optional"))
    assert read(*packets) == [
        Payload(0, 0, b"plain", 5),
        Payload(1, 0, b"", 0),
        Payload(2, 17, b"optional", 8),
    ]


def test_addresses_are_those_of_the_header() -> None:
    """An IPv4 address is its own number; IPv6 addresses are numbered."""
    _, v4 = payloads_of(bytes(V4 / TCP()))
    assert (v4.source.tolist(), v4.destination.tolist()) == ([0x0A000001], [0xC0A8FFFE])
    _, v6 = payloads_of(bytes(V6 / TCP()), bytes(V6 / TCP()))
    assert (v6.source - 2**32).tolist() == [0, 0]
    assert (v6.destination - 2**32).tolist() == [1, 1]


@pytest.mark.parametrize("packet", [V4, V6], ids=["IPv4", "IPv6"])
def test_padding_is_no_payload(packet: IP | IPv6) -> None:
    """Short frames are filled up to 60 bytes, which the IP length does not count."""
    (payload,) = read(bytes(packet / Raw(b"abc")) + bytes(20))
    assert (payload.captured, payload.wire_bytes) == (b"abc", 3)


@pytest.mark.parametrize("packet", [V4, V6], ids=["IPv4", "IPv6"])
def test_a_cut_packet_tells_how_long_it_was(packet: IP | IPv6) -> None:
    """Captured bytes are counted apart from those on the wire."""
    whole = bytes(packet / Raw(bytes(1000)))
    (payload,) = read(Packet(whole[:100], 0, len(whole)))
    assert len(payload.captured) == 100 - (len(whole) - 1000)
    assert payload.wire_bytes == 1000


@pytest.mark.parametrize(
    "packet",
    [
        IP(len=0, proto=6) / Raw(bytes(70_000)),
        IPv6(plen=0, nh=6) / Raw(bytes(70_000)),
    ],
    ids=["IPv4", "IPv6"],
)
def test_a_length_of_zero_means_the_whole_frame(packet: IP | IPv6) -> None:
    """Segmentation offload leaves the length to the network card, which fills it in later."""
    (payload,) = read(bytes(packet))
    assert (payload.protocol, len(payload.captured), payload.wire_bytes) == (6, 70_000, 70_000)


@for_each(
    "packet",
    [
        bytes(V4)[:19],
        b"\x44" + bytes(V4)[1:],
        b"\x4f" + bytes(V4)[1:],
        bytes(IP(len=19) / Raw(b"abc")),
        bytes(V6)[:39],
    ],
    ids=["cut", "header below 20", "header beyond packet", "length below header", "cut IPv6"],
)
def test_an_impossible_header_leaves_the_packet_out(packet: bytes) -> None:
    """Others around it are read."""
    good = bytes((V4 if packet[0] >> 4 == 4 else V6) / Raw(b"good"))
    assert [payload.row for payload in read(good, packet, good)] == [0, 2]


EXTENSIONS: dict[str, Callable[[], object]] = {
    "none": lambda: V6,
    "hop by hop": lambda: V6 / IPv6ExtHdrHopByHop(options=[PadN(optdata=bytes(12))]),
    "routing": lambda: V6 / IPv6ExtHdrRouting(addresses=["::1", "::2"]),
    "destination": lambda: V6 / IPv6ExtHdrDestOpt(),
    "one fragment": lambda: V6 / IPv6ExtHdrFragment(),
    "authentication": lambda: V6 / AH(nh=6, payloadlen=4, icv=bytes(12)),
    "several": lambda: V6 / IPv6ExtHdrHopByHop() / IPv6ExtHdrDestOpt() / IPv6ExtHdrFragment(),
    "two hundred": lambda: reduce(truediv, [V6, *[IPv6ExtHdrDestOpt() for _ in range(200)]]),
}


@pytest.mark.thorough
@for_each("extension", EXTENSIONS)
def test_the_payload_follows_the_extension_headers(extension: str) -> None:
    """However many there are, what counts is behind them."""
    tcp = bytes(TCP(dport=9092) / Raw(b"kafka"))
    packet = EXTENSIONS[extension]() / TCP(dport=9092) / Raw(b"kafka")
    plain = bytes(V6 / TCP(dport=9092) / Raw(b"kafka"))
    for row, payload in enumerate(read(bytes(packet), plain)):
        assert (payload.row, payload.protocol, payload.wire_bytes) == (row, 6, len(tcp))
        assert payload.captured[-5:] == b"kafka"


def test_an_authentication_header_may_stand_in_ipv4() -> None:
    """As in IPv6, what it protects is behind it; a second packet has none."""
    inner = bytes(TCP(dport=9092) / Raw(b"kafka"))
    signed = bytes(V4 / AH(nh=6, payloadlen=4, icv=bytes(12)) / Raw(inner))

    assert read(signed, bytes(V4.copy() / Raw(b"plain"))) == [
        Payload(0, 6, inner, len(inner)),
        Payload(1, 0, b"plain", 5),
    ]


def test_extension_headers_without_end_leave_the_packet_out() -> None:
    """There is a bound to how many are read."""
    endless = bytes(V6.__class__(src="::1", dst="::2", nh=60) / Raw(b"\x3c\0\0\0\0\0\0\0" * 400))

    assert [payload.row for payload in read(endless, bytes(V6 / TCP()))] == [1]


def test_extension_headers_may_be_cut_anywhere() -> None:
    """What is behind the cut is unknown, which is no reason to fail."""
    packet = bytes(V6 / IPv6ExtHdrRouting(addresses=["::1"]) / IPv6ExtHdrDestOpt() / TCP())
    cuts = [Packet(packet[:size], 0, len(packet)) for size in range(1, len(packet))]
    for payload in read(*cuts):
        assert payload.wire_bytes >= len(payload.captured)


def test_fragments_say_where_they_belong() -> None:
    """Identity, start in bytes and whether more follow are the same in both versions."""
    for packet, identity in (
        (IP(id=77, flags="MF", frag=3, proto=6), 77),
        (IPv6() / IPv6ExtHdrFragment(id=0xABCDEF01, m=1, offset=3, nh=6), 0xABCDEF01),
    ):
        _, payloads = payloads_of(bytes(packet / Raw(bytes(16))))
        assert payloads.protocol.tolist() == [6]
        assert payloads.identity.tolist() == [identity]
        assert payloads.start.tolist() == [24]
        assert payloads.more.tolist() == [True]
        assert payloads.layer.wire.tolist() == [16]


def test_a_packet_that_must_not_be_fragmented_is_whole() -> None:
    """The flag is beside the one that says that more follow."""
    _, payloads = payloads_of(bytes(IP(flags="DF") / TCP()))
    assert payloads.fragmented().tolist() == [False]
