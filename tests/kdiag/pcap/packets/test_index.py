from ipaddress import ip_address
from typing import Any, NamedTuple

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scapy.contrib.geneve import GENEVE
from scapy.layers.inet import IP, TCP, UDP
from scapy.layers.inet6 import ICMPv6EchoRequest, IPv6, IPv6ExtHdrDestOpt, IPv6ExtHdrFragment
from scapy.layers.l2 import ARP, LLC, Dot1Q, Dot3, Ether
from scapy.layers.vxlan import VXLAN
from scapy.packet import Raw

from kdiag.pcap.encapsulation import (
    ETHERTYPE,
    IP_LAYER,
    IP_PROTOCOL,
    LINK_TYPE,
    TCP_LAYER,
    UDP_PORT,
    UDP_TUNNELS,
    Cause,
    Encapsulation,
    Obstacle,
)
from kdiag.pcap.packets.index import STEPS, PacketIndex, SegmentBatch
from recordings.capture_writer import Packet, block_of, tcp_frame
from tiers.cases import for_each

# scapy looks for a route and asks the network where an address is left out.
ETHER = Ether(src="02:00:00:00:00:01", dst="02:00:00:00:00:02")
IPV4 = IP(src="10.0.0.1", dst="10.0.0.2")
IPV6 = IPv6(src="::1", dst="::2")


OUTER = ETHER / IP(src="10.9.9.1", dst="10.9.9.2", proto=0)
LINK_TYPES, ETHERTYPES, PROTOCOLS_OF_IP, UDP_PORTS = (
    sorted(number for space, number in STEPS if space == wanted)
    for wanted in (LINK_TYPE, ETHERTYPE, IP_PROTOCOL, UDP_PORT)
)


class Segment(NamedTuple):
    """One row of a batch, readable."""

    packet: int
    time_ns: int
    source: str
    destination: str
    sequence: int
    acknowledgment: int
    flags: int
    window: int
    payload: bytes
    wire_bytes: int


def segments_of(index: PacketIndex, batch: SegmentBatch) -> list[Segment]:
    """Return the rows of a batch."""
    name = index.addresses.endpoint_text
    ends = batch.payload_offset + batch.payload_bytes
    columns = batch._replace(payload_bytes=ends)[1:]
    rows: list[list[Any]] = [column.tolist() for column in columns if column is not None]
    return [
        Segment._make(
            (
                *row[:2],
                *map(name, row[2:4]),
                *row[4:8],
                bytes(batch.data[slice(*row[8:10])]),
                row[10],
            )
        )
        for row in zip(*rows, strict=True)
    ]


def read(*frames: bytes | Packet, link_type: int = 1) -> tuple[PacketIndex, list[Segment]]:
    """Return the index and the TCP segments of frames."""
    index = PacketIndex()
    return index, segments_of(index, index.index_block(block_of(frames, link_type)))


def accounted(index: PacketIndex) -> int:
    """Return how many packets are a segment, joined to another packet's fragment or passed over."""
    passed_over = index.passed_over().packets
    return index.tcp_packets + index.defragmenter.absorbed + passed_over


def test_a_segment_is_what_its_headers_say() -> None:
    """Every column holds the field of its name."""
    _, segments = read(
        Packet(tcp_frame(b"kafka", 0xFEDCBA98, padding=9), 1_700_000_000_123_456_789)
    )
    assert segments == [
        Segment(
            packet=1,
            time_ns=1_700_000_000_123_456_789,
            source="10.0.0.1:40000",
            destination="10.0.0.2:9092",
            sequence=0xFEDCBA98,
            acknowledgment=77,
            flags=0x18,
            window=501,
            payload=b"kafka",
            wire_bytes=5,
        )
    ]


def test_the_identification_of_a_packet_is_kept() -> None:
    """IPv6 has none."""
    index = PacketIndex()
    packets = [IPV4.copy() / TCP(), IPV4.copy() / TCP(), IPV6.copy() / TCP()]
    packets[0].id, packets[1].id = 65_535, 7
    batch = index.index_block(block_of([bytes(ETHER / packet) for packet in packets]))

    assert batch.identity is not None
    assert batch.identity.tolist() == [65_535, 7, 0]


def test_columns_have_the_types_they_promise() -> None:
    """Also when there are no segments, for whoever puts batches together."""
    index = PacketIndex()
    for frames in ([tcp_frame(b"x")], [b"noise"], []):
        batch = index.index_block(block_of(frames))
        for name, kind in SegmentBatch.__annotations__.items():
            if name not in {"data", "syn_options"}:
                column = getattr(batch, name)
                assert str(column.dtype) in str(kind), name
                assert len(column) == len(batch.packet)


IPV4_HEADERS = st.builds(
    IP,
    src=st.ip_addresses(v=4).map(str),
    dst=st.ip_addresses(v=4).map(str),
    id=st.integers(0, 65535),
    flags=st.sampled_from(["", "DF"]),
    options=st.sampled_from([b"", b"\x01\x01\x01\x00", b"\x07\x0b\x04" + bytes(9)]),
)
IPV6_HEADERS = st.builds(
    IPv6, src=st.ip_addresses(v=6).map(str), dst=st.ip_addresses(v=6).map(str)
) | st.builds(
    lambda header, extension: header / extension,
    st.builds(IPv6, src=st.ip_addresses(v=6).map(str), dst=st.just("::1")),
    st.sampled_from([IPv6ExtHdrDestOpt(), IPv6ExtHdrFragment(id=5)]),
)
TCP_HEADERS = st.builds(
    TCP,
    sport=st.integers(0, 65535),
    dport=st.integers(0, 65535),
    seq=st.integers(0, 2**32 - 1),
    ack=st.integers(0, 2**32 - 1),
    flags=st.integers(0, 255),
    window=st.integers(0, 65535),
    options=st.sampled_from(
        [[], [("NOP", None)] * 4, [("MSS", 1460), ("WScale", 7)], [("Timestamp", (1, 2))]]
    ),
)
FRAMES = st.builds(
    lambda link, ip, tcp, payload: link / ip / tcp / Raw(payload),
    st.sampled_from([ETHER, ETHER / Dot1Q(vlan=9), ETHER / Dot1Q(vlan=1) / Dot1Q(vlan=2)]),
    IPV4_HEADERS | IPV6_HEADERS,
    TCP_HEADERS | st.just(UDP(sport=1, dport=2)),
    st.binary(max_size=60),
) | st.just(ETHER / ARP())


@pytest.mark.thorough
@given(frames=st.lists(FRAMES, max_size=12))
def test_segments_are_those_that_scapy_finds(frames: list[Any]) -> None:
    """Headers of any mixture of shapes are read as another implementation reads them."""
    packets = [bytes(frame) for frame in frames]
    expected = []
    for number, packet in enumerate(packets):
        whole = Ether(packet)
        if (tcp := whole.getlayer(TCP)) is not None:
            ip: Any = whole.getlayer(IP) or whole.getlayer(IPv6)
            host = "[{}]" if isinstance(ip, IPv6) else "{}"
            payload = bytes(packet)[-len(tcp.payload) :] if len(tcp.payload) else b""
            expected.append(
                Segment(
                    number + 1,
                    number,
                    f"{host.format(ip_address(ip.src))}:{tcp.sport}",
                    f"{host.format(ip_address(ip.dst))}:{tcp.dport}",
                    *(tcp.seq, tcp.ack, int(tcp.flags) & 255, tcp.window),
                    payload,
                    len(payload),
                )
            )
    index, segments = read(*packets)
    assert segments == expected
    assert index.packets == len(packets)
    assert index.tcp_packets == len(expected)
    assert index.bad_packets == index.fragments == 0
    assert accounted(index) == len(packets)


@given(
    link_type=st.sampled_from(LINK_TYPES),
    frames=st.lists(st.binary(max_size=120), max_size=20),
    start=st.sampled_from(
        [
            b"",
            b"\x45",
            b"\x60",
            bytes(12) + b"\x08\x00\x45",
            tcp_frame(b"")[:24],
            *(bytes(12) + number.to_bytes(2) for number in ETHERTYPES),
            *(
                bytes(OUTER)[:23] + bytes([number]) + bytes(OUTER)[24:]
                for number in PROTOCOLS_OF_IP
            ),
            *(bytes(OUTER / UDP(dport=number)) for number in UDP_PORTS),
        ]
    ),
)
def test_any_bytes_can_be_indexed(link_type: int, frames: list[bytes], start: bytes) -> None:
    """Nothing fails, and no payload reaches beyond its packet."""
    block = block_of([Packet(start + frame, 0, 200) for frame in frames], link_type)
    index = PacketIndex()
    batch = index.index_block(block)
    rows = batch.packet - 1
    assert (batch.payload_bytes >= 0).all()
    assert (batch.payload_bytes <= batch.wire_bytes).all()
    in_place = (batch.payload_offset < len(block.data)) & (batch.payload_bytes > 0)
    ends = (batch.payload_offset + batch.payload_bytes)[in_place]
    assert (ends <= (block.offset + block.captured)[rows[in_place]]).all()
    assert index.tcp_packets + index.bad_packets <= len(frames)
    assert accounted(index) == len(frames)


@for_each("size", range(54, 74))
def test_a_cut_packet_keeps_its_length_on_the_wire(size: int) -> None:
    """A snap length leaves a hole of known size in the stream."""
    whole = tcp_frame(bytes(range(20)))
    index, (segment,) = read(Packet(whole[:size], 0, len(whole)))
    assert segment.payload == bytes(range(size - 54))
    assert segment.wire_bytes == 20
    assert index.cut_packets == 1


def test_a_cut_in_the_options_leaves_no_payload() -> None:
    """The fixed fields are enough to know how many bytes are missing."""
    whole = bytes(ETHER / IPV4 / TCP(options=[("Timestamp", (1, 2))]) / Raw(b"gone"))
    for size in range(50, 66):
        _, (segment,) = read(Packet(whole[:size], 0, len(whole)))
        assert (segment.payload, segment.wire_bytes) == (b"", 4)


@for_each(
    "frame",
    [
        tcp_frame(b"")[:49],
        tcp_frame(b"")[:46] + b"\x40" + tcp_frame(b"")[47:],
        tcp_frame(b"")[:46] + b"\xf0" + tcp_frame(b"")[47:],
        tcp_frame(b"")[:20],
        tcp_frame(b"")[:14] + b"\x95" + tcp_frame(b"")[15:],
    ],
    ids=["cut TCP", "TCP below 20", "TCP beyond packet", "cut IP", "IP version 9"],
)
def test_impossible_headers_are_counted(frame: bytes) -> None:
    """A packet that can't be read is neither a segment nor passed over in silence."""
    index, segments = read(tcp_frame(b"good"), frame)
    assert [segment.packet for segment in segments] == [1]
    assert (index.packets, index.tcp_packets, index.bad_packets) == (2, 1, 1)


def test_packets_are_numbered_and_counted_over_blocks() -> None:
    """Packets without TCP have numbers too."""
    index = PacketIndex()
    first = index.index_block(block_of([tcp_frame(b"a"), bytes(ETHER / ARP())]))
    second = index.index_block(block_of([bytes(ETHER / IPV4 / UDP()), tcp_frame(b"b")]))
    assert first.packet.tolist() == [1]
    assert second.packet.tolist() == [4]
    assert (index.packets, index.tcp_packets, index.bad_packets) == (4, 2, 0)
    assert index.passed_over().text() == "1 ARP, 1 DNS (UDP 53)"
    assert index.bytes == 2 * 55 + 42 + 42


def test_unknown_link_types_are_counted() -> None:
    """Nothing is guessed about them; the others of the block are read."""
    block = block_of([tcp_frame(b"a"), b"radio", b"radio"])
    block = block._replace(link_type=np.array([1, 189, 189]))
    index = PacketIndex()
    assert index.index_block(block).packet.tolist() == [1]
    assert index.dissector.unknown == {Encapsulation(LINK_TYPE, 189): 2}
    assert index.packets == 3


def test_segments_stand_in_the_order_of_their_packets() -> None:
    """Link types and IP versions are dealt with one after the other, and mixed again."""
    four, six = bytes(IPV4 / TCP() / b"4"), bytes(IPV6 / TCP() / b"6")
    ether = bytes(ETHER).replace(b"\x90\x00", b"\x86\xdd")
    block = block_of([six, ether[:14] + six, four, tcp_frame(b"e"), four])
    block = block._replace(link_type=np.array([101, 1, 101, 1, 101]))
    index = PacketIndex()
    segments = segments_of(index, index.index_block(block))
    assert [segment.packet for segment in segments] == [1, 2, 3, 4, 5]
    assert [segment.payload for segment in segments] == [b"6", b"6", b"4", b"e", b"4"]


def fragments_of(headers: Any, payload: bytes, version: int = 4) -> list[bytes]:
    """Return frames with the fragments of an IP packet, the last one first."""
    body = bytes(headers.__class__(bytes(headers / Raw(payload))))
    frames = []
    for start in range(0, len(body), 1000):
        more = start + 1000 < len(body)
        if version == 4:
            ip: Any = IPV4.copy()
            ip.flags, ip.frag, ip.proto = "MF" * more, start // 8, PROTOCOLS[type(headers)]
        else:
            next_header = PROTOCOLS[type(headers)]
            ip = IPV6 / IPv6ExtHdrFragment(nh=next_header, m=more, offset=start // 8, id=9)
        frames.append(bytes(ETHER / ip / Raw(body[start : start + 1000])))
    return frames[::-1]


PROTOCOLS = {TCP: 6, UDP: 17, IPv6ExtHdrDestOpt: 60}


@pytest.mark.parametrize("version", [4, 6])
def test_fragments_give_the_segment_of_the_whole_packet(version: int) -> None:
    """It stands where its last fragment stood, between other packets."""
    payload = bytes(range(256)) * 12
    frames = fragments_of(TCP(seq=5), payload, version)
    index, segments = read(tcp_frame(b"a"), *frames, tcp_frame(b"b"))
    assert [segment.payload for segment in segments] == [b"a", payload, b"b"]
    assert [segment.packet for segment in segments] == [1, 5, 6]
    assert segments[1].sequence == 5
    assert index.fragments == len(frames) == 4
    assert (index.tcp_packets, index.bad_packets) == (3, 0)
    assert (index.passed_over().packets, accounted(index)) == (0, 6)


def test_extension_headers_inside_fragments_are_read() -> None:
    """A fragmented packet may begin with options for its destination."""
    _, (segment,) = read(*fragments_of(IPv6ExtHdrDestOpt() / TCP(), bytes(3000), version=6))
    assert segment.payload == bytes(3000)


def test_a_tunnel_is_read_although_it_is_fragmented() -> None:
    """An overlay network on a link of the same MTU fragments its outer packets."""
    outer = UDP(dport=4789) / VXLAN(vni=3) / ETHER / IP(src="10.1.0.1", dst="10.1.0.2")
    frames = fragments_of(outer / TCP(dport=9092), bytes(1400))
    index, (segment,) = read(*frames)
    assert segment.destination == "10.1.0.2:9092"
    assert segment.payload == bytes(1400)
    assert (index.fragments, index.tcp_packets) == (2, 1)


def test_tunnels_in_tunnels_have_an_end() -> None:
    """Two levels are read; a packet of nothing but tunnels is not followed for ever."""
    inner = IPV4 / TCP() / Raw(b"deep")
    _, (segment,) = read(bytes(IPV4 / IPV4 / inner), link_type=101)
    assert segment.payload == b"deep"
    bomb = inner
    for _ in range(40):
        bomb = IPV4 / bomb
    index, segments = read(bytes(bomb), link_type=101)
    assert segments == []
    assert index.passed_over().counts == {Cause(Obstacle.TOO_DEEP, IP_PROTOCOL, 4): 1}


def test_fragments_without_their_rest_are_counted_by_protocol() -> None:
    """Those that wait at the end as well as those that were given up."""
    frames = [frame for _ in range(3) for frame in fragments_of(TCP(), bytes(3000))[:-1]]
    index, segments = read(*frames, tcp_frame(b"a"))

    assert len(segments) == 1
    assert index.passed_over().counts == {Cause(Obstacle.LOST_FRAGMENT, IP_PROTOCOL, 6): 9}


def test_what_is_passed_over_is_told_by_what_it_is() -> None:
    """Of an answer the port that people know; a header that is cut is not a bad one."""
    switch = LLC(dsap=0x42, ssap=0x42, ctrl=3) / Raw(bytes(40))
    frames = [
        Packet(tcp_frame(b"x" * 100)[:size], original=154) for size in (10, 13, 20, 33, 40, 50)
    ]
    index, _ = read(
        *frames,
        tcp_frame(b"")[:46] + b"\x40" + tcp_frame(b"")[47:],
        bytes(ETHER / IPV4 / UDP(sport=40000, dport=53)),
        bytes(ETHER / IPV4 / UDP(sport=53, dport=40000)),
        bytes(ETHER / IPV4 / UDP(sport=1, dport=4789) / Raw(b"none")),
        bytes(Dot3(src="02:00:00:00:00:01", dst="02:00:00:00:00:02") / switch),
        bytes(ETHER / IPV6 / ICMPv6EchoRequest()),
    )

    assert index.passed_over().counts == {
        Cause(Obstacle.CUT, LINK_TYPE, 1): 2,
        Cause(Obstacle.CUT, IP_LAYER): 2,
        Cause(Obstacle.CUT, TCP_LAYER): 1,
        Cause(Obstacle.BAD, TCP_LAYER): 1,
        Cause(Obstacle.NOT_READ, UDP_PORT, 53): 2,
        Cause(Obstacle.BAD, UDP_PORT, 4789): 1,
        Cause(Obstacle.NOT_READ, ETHERTYPE, 4): 1,
        Cause(Obstacle.NOT_READ, IP_PROTOCOL, 58): 1,
    }


@pytest.mark.parametrize("port", [8473, 8472, 53])
def test_a_port_of_udp_carries_what_it_is_said_to(port: int) -> None:
    """Whatever it carries by itself."""
    inner = ETHER / IP(src="10.1.0.1", dst="10.1.0.2") / TCP(dport=9092) / Raw(b"kafka")
    frame = bytes(ETHER / IPV4 / UDP(dport=port) / GENEVE(vni=3, proto=0x6558) / inner)
    index = PacketIndex(tunnel_ports={port: "geneve"})

    assert len(index.index_block(block_of([frame])).packet) == 1
    assert len(PacketIndex().index_block(block_of([frame])).packet) == 0


@for_each("name", UDP_TUNNELS)
def test_every_tunnel_that_can_be_named_is_read(name: str) -> None:
    """The registered ports are those of steps."""
    assert Encapsulation(UDP_PORT, UDP_TUNNELS[name]) in STEPS
    assert PacketIndex(tunnel_ports={1: name}).packets == 0
