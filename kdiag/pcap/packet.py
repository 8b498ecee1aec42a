"""Columns of TCP segments: the meeting point of the packet index and the stream reassembly."""

from typing import Final, NamedTuple

import numpy as np
import numpy.typing as npt

from kdiag.pcap.address import AddressBook
from kdiag.pcap.block import PacketBlock, gather
from kdiag.pcap.ip import read_ipv4, read_ipv6
from kdiag.pcap.layer import Layer, Transport
from kdiag.pcap.link import STRIP, frames_of

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
_TCP_HEADER_BYTES: Final = 20
_PROTOCOL_TCP: Final = 6


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


class PacketIndex:
    """Finds the TCP segments in blocks of packets, column by column.

    Attributes:
        addresses: turns the endpoints of the segments into text.
        packets: packets indexed so far; the next block's first packet has the next number.
        bytes: their captured bytes.
        tcp_packets: packets that hold a TCP segment.
        cut_packets: packets of which the capture holds only the beginning (snap length).
    """

    def __init__(self) -> None:
        self.addresses = AddressBook()
        self.packets = 0
        self.bytes = 0
        self.tcp_packets = 0
        self.cut_packets = 0

    def index_block(self, block: PacketBlock) -> SegmentBatch:
        """Return the TCP segments of a block and count its packets."""
        segments = self._segments(block)
        self.packets += len(block.offset)
        self.bytes += int(block.captured.sum())
        self.tcp_packets += len(segments.packet)
        self.cut_packets += int(np.count_nonzero(block.captured < block.original))
        return segments

    def _segments(self, block: PacketBlock) -> SegmentBatch:
        parts = []
        for link_type in np.unique(block.link_type).tolist():
            if link_type in STRIP:
                packets = STRIP[link_type](block.data, frames_of(block, link_type))
                parts += self._transports(block, packets)
        batches = [self._read_tcp(block, part) for part in parts]
        if len(batches) == 1:
            return batches[0]
        return _merge(block, batches)

    def _transports(self, block: PacketBlock, packets: Layer) -> list[Transport]:
        packets = packets.pick(packets.captured > 0)
        version = block.data[packets.offset] >> 4
        parts = []
        if (version == 4).any():
            parts.append(read_ipv4(block.data, packets.pick(version == 4)))
        if (version == 6).any():
            parts.append(read_ipv6(block.data, packets.pick(version == 6), self.addresses))
        return parts

    def _read_tcp(self, block: PacketBlock, payloads: Transport) -> SegmentBatch:
        chosen = (payloads.protocol == _PROTOCOL_TCP) & (payloads.layer.captured >= _TCP.itemsize)
        payloads = payloads.pick(chosen)
        header = gather(block.data, payloads.layer.offset, _TCP)
        header_bytes = (header["header_size"] >> 4).astype(np.int64) * 4
        payload = payloads.layer.skip(header_bytes)
        good = (header_bytes >= _TCP_HEADER_BYTES) & (payload.wire >= 0)
        sixteen = np.uint64(16)
        batch = SegmentBatch(
            block.data.data,
            payload.row + (self.packets + 1),
            block.time_ns[payload.row],
            (payloads.source << sixteen) | header["source_port"].astype(np.uint64),
            (payloads.destination << sixteen) | header["destination_port"].astype(np.uint64),
            header["sequence"].astype(np.uint32),
            header["acknowledgment"].astype(np.uint32),
            header["flags"].copy(),
            header["window"].astype(np.uint16),
            payload.offset,
            np.maximum(payload.captured, 0),
            payload.wire,
        )
        return batch if good.all() else _pick(batch, good)


def _pick(batch: SegmentBatch, chosen: npt.NDArray[np.bool_] | npt.NDArray[np.int64]) -> SegmentBatch:
    return SegmentBatch(batch.data, *(column[chosen] for column in batch[1:]))


def _merge(block: PacketBlock, batches: list[SegmentBatch]) -> SegmentBatch:
    """Return the segments of several batches of one block in the order of their packets."""
    if not batches:
        empty = np.zeros(0, np.int64)
        nobody = Transport(Layer(empty, empty, empty, empty), *[np.zeros(0, np.uint8)], *[np.zeros(0, np.uint64)] * 2)
        return PacketIndex()._read_tcp(block, nobody)
    columns = [np.concatenate(column) for column in zip(*(batch[1:] for batch in batches), strict=True)]
    batch = SegmentBatch(block.data.data, *columns)
    return _pick(batch, np.argsort(batch.packet, kind="stable"))
