"""Columns of TCP segments: the meeting point of the packet index and the stream reassembly."""

from typing import NamedTuple

import numpy as np
import numpy.typing as npt


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
