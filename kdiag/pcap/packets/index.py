"""Columns of TCP segments: the meeting point of the packet index and the stream reassembly."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kdiag.pcap.encapsulation import (
    ETHERTYPE,
    IP_LAYER,
    IP_PROTOCOL,
    LINK_TYPE,
    NO_PORTS,
    TCP_LAYER,
    UDP_PORT,
    UDP_TUNNELS,
    Encapsulation,
    Obstacle,
    PassedOver,
)
from kdiag.pcap.files.block import PacketBlock, distinct, gather
from kdiag.pcap.packets import label, link, ppp, tunnel, wifi
from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.packets.descent import Descent
from kdiag.pcap.packets.dissector import DISSECTORS, Dissector
from kdiag.pcap.packets.fragments import Defragmenter
from kdiag.pcap.packets.ip import read_ipv4, read_ipv6, strip_extensions
from kdiag.pcap.packets.layer import PROTOCOL_TCP, Payloads, ProtocolLayer, joined
from kdiag.pcap.packets.network import Networks

_TCP: Final = np.dtype(
    [
        ("source_port", ">u2"),
        ("destination_port", ">u2"),
        ("sequence", ">u4"),
        ("acknowledgment", ">u4"),
        ("header_size", "u1"),
        ("flags", "u1"),
        ("window", ">u2"),
    ]
)
_TCP_LEAST_BYTES: Final = 20
_IPV4, _IPV6 = 4, 6
_PORT_BITS: Final = np.uint64(16)
_TUNNEL_DEPTH: Final = 4

STEPS: Final = {**link.STEPS, **ppp.STEPS, **wifi.STEPS, **label.STEPS, **tunnel.STEPS}
"""How to read every header on the way to IP."""


class SegmentBatch(NamedTuple):
    """The TCP segments of one block of packets, as columns of equal length, in file order.

    An endpoint is `(address << 16) | port`, where an IPv4 address stands for itself and an IPv6
    address is `(1 << 32) + n`, n being its number in the run's `AddressBook`; the book turns an
    endpoint into text.

    Attributes:
        data: the block's bytes; payloads are slices of it and valid as long as it is held.
        packet: number of the packet, from 1 over all inputs (int64).
        time_ns: when it was captured, since 1970 (int64).
        source: sender's endpoint (uint64).
        destination: receiver's endpoint (uint64).
        sequence: TCP sequence number of the first payload byte or of the SYN (uint32).
        acknowledgment: TCP acknowledgment number (uint32).
        flags: TCP flags FIN 1, SYN 2, RST 4, PSH 8, ACK 16 (uint8).
        window: the window field, unscaled (uint16).
        payload_offset: where the payload starts in `data` (int64).
        payload_bytes: payload bytes in `data` (int64).
        wire_bytes: payload bytes on the wire, more than `payload_bytes` in a cut packet (int64).
        header_bytes: size of the TCP header, which lies in `data` in front of the payload; 0 where
            it was cut (uint8). None where `data` holds payloads alone.
        identity: the identification of the IPv4 packet, which tells a copy of a packet from one
            that was sent again; 0 where there is none (uint16). None where nobody needs it.
        syn_options: the options of SYNs, where `data` holds payloads alone: bytes, or None where
            they were cut off (object). None where the header lies in `data`, or nobody needs them.
    """

    data: bytes | memoryview
    packet: npt.NDArray[np.int64]
    time_ns: npt.NDArray[np.int64]
    source: npt.NDArray[np.uint64]
    destination: npt.NDArray[np.uint64]
    sequence: npt.NDArray[np.uint32]
    acknowledgment: npt.NDArray[np.uint32]
    flags: npt.NDArray[np.uint8]
    window: npt.NDArray[np.uint16]
    payload_offset: npt.NDArray[np.int64]
    payload_bytes: npt.NDArray[np.int64]
    wire_bytes: npt.NDArray[np.int64]
    header_bytes: npt.NDArray[np.uint8] | None = None
    identity: npt.NDArray[np.uint16] | None = None
    syn_options: npt.NDArray[np.object_] | None = None

    def parts(self, most_rows: int) -> "Iterator[SegmentBatch]":
        """Yield the same in batches of no more than so many segments."""
        if len(self.packet) <= most_rows:
            yield self
            return
        names = [
            each for each in self._fields if each != "data" and getattr(self, each) is not None
        ]
        for first in range(0, len(self.packet), most_rows):
            part = slice(first, first + most_rows)
            yield self._replace(**{name: getattr(self, name)[part] for name in names})

    def options(self, row: int) -> bytes | None:
        """Return the TCP options of a SYN; None where they are not here."""
        if self.syn_options is not None:
            options: bytes | None = self.syn_options[row]
            return options
        size = 0 if self.header_bytes is None else int(self.header_bytes[row])
        if not size:
            return None
        end = int(self.payload_offset[row])
        return bytes(memoryview(self.data)[end - size + _TCP_LEAST_BYTES : end])


class PacketIndex:
    """Finds the TCP segments in blocks of packets, column by column.

    Packets are dealt with by layer: all link headers, then all IP headers, then all TCP headers.
    What tunnels carry, which is rare, makes another round from the headers of the tunnels on.

    Attributes:
        addresses: turns the endpoints of the segments into text.
        packets: packets indexed so far; the next block's first packet has the next number.
        bytes: their captured bytes.
        tcp_packets: packets that gave a TCP segment.
        fragments: IP fragments; a datagram's last one counts as a TCP packet too if it gave one.
        bad_packets: IP and TCP packets with headers that are cut off or impossible.
        cut_packets: packets of which the capture holds only the beginning (snap length).
        cut_segments: TCP segments of whose payload the capture holds only the beginning.
        dissector: finds what no column reads, and counts what nobody does.
        defragmenter: keeps the fragments of datagrams that are not whole.
    """

    def __init__(
        self,
        *,
        separates_networks: bool = False,
        tunnel_ports: Mapping[int, str] = NO_PORTS,
    ) -> None:
        """Begin.

        Args:
            separates_networks: whether ends of the same address are others in another VLAN or
                VXLAN network.
            tunnel_ports: UDP ports beside the registered ones, and the names of what they carry
                (`UDP_TUNNELS`).
        """
        self.addresses = AddressBook()
        self.packets = 0
        self.bytes = 0
        self.tcp_packets = 0
        self.fragments = 0
        self.bad_packets = 0
        self.cut_packets = 0
        self.cut_segments = 0
        self._passed_over = PassedOver()
        self.dissector = Dissector(self._passed_over)
        self.defragmenter = Defragmenter()
        self._separates_networks = separates_networks
        self._tunnels = {
            Encapsulation(UDP_PORT, port): Encapsulation(UDP_PORT, UDP_TUNNELS[name])
            for port, name in tunnel_ports.items()
        }
        self._known = _numbers_by_space([*STEPS, *self._tunnels, *DISSECTORS])

    def passed_over(self) -> PassedOver:
        """Return the packets so far that gave no segment, by cause."""
        found = PassedOver()
        found.counts.update(self._passed_over.counts)
        for protocol, fragments in self.defragmenter.lost().items():
            found.count(Obstacle.LOST_FRAGMENT, IP_PROTOCOL, protocol, fragments)
        return found

    def index_block(self, block: PacketBlock) -> SegmentBatch:
        """Return the TCP segments of a block, in the order of its packets, and count these."""
        networks = Networks(len(block.offset)) if self._separates_networks else None
        descent = Descent(block.data, networks, self._known, self._passed_over)
        rows = np.arange(len(block.offset))
        frames = ProtocolLayer(rows, block.offset, block.captured, block.original)
        for link_type in distinct(block.link_type):
            descent.send(LINK_TYPE, link_type, frames.pick(block.link_type == link_type))
        found: list[Payloads] = []
        for _ in range(_TUNNEL_DEPTH):
            found += self._read_round(descent, block.time_ns)
            if descent.is_done:
                break
        descent.give_up()
        batch = self._read_tcp(descent.data, block.time_ns, found)
        self.packets += len(block.offset)
        self.bytes += int(block.captured.sum())
        self.cut_packets += int(np.count_nonzero(block.captured < block.original))
        self.cut_segments += int(np.count_nonzero(batch.payload_bytes < batch.wire_bytes))
        self.tcp_packets += len(batch.packet)
        return batch

    def _read_round(self, descent: Descent, time_ns: npt.NDArray[np.int64]) -> list[Payloads]:
        """Return what the next IP packets carry, and send on those that are tunnels."""
        descent.run(STEPS | {port: STEPS[usual] for port, usual in self._tunnels.items()})
        for encapsulation, packets in descent.take_unread():
            descent.reach_ip(self.dissector.find_ip(descent.data, encapsulation, packets))
        payloads = [
            part for packets in descent.take_ip() for part in self._read_ip(descent.data, packets)
        ]
        if descent.networks is not None:
            payloads = [descent.networks.apart(part, self.addresses) for part in payloads]
        descent.data, payloads = self._join_fragments(descent.data, time_ns, payloads)
        for part in payloads:
            tunnel.unwrap(descent, part)
        return payloads

    def _read_ip(self, data: npt.NDArray[np.uint8], packets: ProtocolLayer) -> list[Payloads]:
        """Return the payloads of IP packets, by version; packets of other versions are bad ones."""
        here = packets.pick(packets.captured > 0)
        version = data[here.offset] >> 4
        parts = []
        if (is_ipv4 := version == _IPV4).any():
            parts.append(read_ipv4(data, here.pick(is_ipv4)))
        if (is_ipv6 := version == _IPV6).any():
            parts.append(read_ipv6(data, here.pick(is_ipv6), self.addresses))
        self._count_bad(IP_LAYER, packets, [part.layer.row for part in parts])
        return parts

    def _count_bad(
        self, layer: str, packets: ProtocolLayer, read: Sequence[npt.NDArray[np.int64]]
    ) -> None:
        """Count the packets whose header is cut off or impossible.

        Args:
            layer: whose header: `IP` or `TCP`.
            packets: those at that header.
            read: the rows of those that could be read.
        """
        bad = len(packets.row) - sum(map(len, read))
        if not bad:
            return
        self.bad_packets += bad
        is_lost = np.ones(int(packets.row.max()) + 1, np.bool_)
        for rows in read:
            is_lost[rows] = False
        lost = packets.pick(is_lost[packets.row])
        cut = int(np.count_nonzero(lost.captured < lost.wire))
        self._passed_over.count(Obstacle.CUT, layer, None, cut)
        self._passed_over.count(Obstacle.BAD, layer, None, bad - cut)

    def _join_fragments(
        self,
        data: npt.NDArray[np.uint8],
        time_ns: npt.NDArray[np.int64],
        payloads: list[Payloads],
    ) -> tuple[npt.NDArray[np.uint8], list[Payloads]]:
        """Return the payloads with fragments replaced by the datagrams that they complete."""
        parts = []
        for part in payloads:
            fragmented = part.fragmented()
            parts.append(part.pick(~fragmented))
            if fragmented.any():
                self.fragments += int(np.count_nonzero(fragmented))
                data, whole = self.defragmenter.join(data, time_ns, part.pick(fragmented))
                stripped = strip_extensions(data, whole)
                self._count_bad(IP_LAYER, whole.layer, [stripped.layer.row])
                parts.append(stripped)
        return data, parts

    def _read_tcp(
        self,
        data: npt.NDArray[np.uint8],
        time_ns: npt.NDArray[np.int64],
        payloads: list[Payloads],
    ) -> SegmentBatch:
        tcp = joined([part.pick(part.protocol == PROTOCOL_TCP) for part in payloads])
        headed = tcp.pick(tcp.layer.captured >= _TCP.itemsize)
        header = gather(data, headed.layer.offset, _TCP)
        header_bytes = (header["header_size"] >> 4).astype(np.int64) * 4
        good = (header_bytes >= _TCP_LEAST_BYTES) & (header_bytes <= headed.layer.wire)
        if not good.all():
            headed, header, header_bytes = headed.pick(good), header[good], header_bytes[good]
        self._count_bad(TCP_LAYER, tcp.layer, [headed.layer.row])
        payload = headed.layer.skip(header_bytes)
        return SegmentBatch(
            data.data,
            payload.row + (self.packets + 1),
            time_ns[payload.row],
            (headed.source << _PORT_BITS) | header["source_port"],
            (headed.destination << _PORT_BITS) | header["destination_port"],
            header["sequence"].astype(np.uint32),
            header["acknowledgment"].astype(np.uint32),
            header["flags"].copy(),
            header["window"].astype(np.uint16),
            payload.offset,
            np.maximum(payload.captured, 0),
            payload.wire,
            np.where(payload.captured < 0, 0, header_bytes).astype(np.uint8),
            headed.identity.astype(np.uint16),
        )


def _numbers_by_space(known: Iterable[Encapsulation]) -> dict[str, tuple[int, ...]]:
    """Return the numbers that are worth being sent on."""
    numbers = dict.fromkeys(known)
    return {
        space: tuple(number for of, number in numbers if of == space)
        for space in (LINK_TYPE, ETHERTYPE, IP_PROTOCOL, UDP_PORT)
    }
