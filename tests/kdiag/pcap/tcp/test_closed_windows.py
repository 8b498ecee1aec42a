"""Receivers that close their window are found in whole columns."""

from collections.abc import Sequence

import numpy as np

from kdiag.diagnosis.tcp.findings import closed_windows
from kdiag.exchange.tcp_facts import WindowStall
from kdiag.pcap.packets.address import AddressBook
from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.tcp.closed_windows import ClosedWindows

MS = 1_000_000
ACK, RST, SYN = 16, 4, 2
CLIENT, BROKER = (0x0A000001 << 16) | 40_000, (0x0A000002 << 16) | 9_092
CLIENT_TEXT, BROKER_TEXT = "10.0.0.1:40000", "10.0.0.2:9092"


def batch(*segments: tuple[int, int, int, int]) -> SegmentBatch:
    """Return segments: time in ms, sender, window, flags."""
    times, senders, windows, flags = (np.array(each) for each in zip(*segments, strict=True))
    zeros = np.zeros(len(times), np.int64)
    receivers = np.where(senders == CLIENT, BROKER, CLIENT)
    return SegmentBatch(
        b"",
        zeros,
        times.astype(np.int64) * MS,
        senders.astype(np.uint64),
        receivers.astype(np.uint64),
        zeros.astype(np.uint32),
        zeros.astype(np.uint32),
        flags.astype(np.uint8),
        windows.astype(np.uint16),
        *(zeros,) * 3,
    )


def stalls(*batches: SegmentBatch) -> list[WindowStall]:
    """Return what is found in batches."""
    windows = ClosedWindows(AddressBook())
    for each in batches:
        windows.add(each)
    return windows.finish(max(int(each.time_ns.max()) for each in batches))


def said(found: Sequence[WindowStall]) -> list[str]:
    """Return what the verdict says."""
    return [each.title for each in closed_windows(found, {BROKER_TEXT})]


def test_a_window_is_closed_until_the_next_segment_with_room() -> None:
    """Also over several batches, and up to the end of the capture."""
    closes = batch((0, CLIENT, 512, ACK), (100, CLIENT, 0, ACK), (200, BROKER, 512, ACK))
    opens = batch((1_500, CLIENT, 0, ACK), (4_100, CLIENT, 300, ACK))
    (stall,) = stalls(closes, opens)
    assert (stall.receiver, stall.sender, stall.count) == (CLIENT_TEXT, BROKER_TEXT, 1)
    assert stall.closed_ns == 4_000 * MS
    (title,) = said([stall])
    assert title == (
        "the client 10.0.0.1:40000 stopped reading from 10.0.0.2:9092 for 4.0 s at 00:00:00.100 "
        "UTC: its receive window was closed"
    )
    (stall,) = stalls(closes, batch((3_000, BROKER, 512, ACK)))
    assert stall.closed_ns == 2_900 * MS


def test_other_zeros_are_no_closed_windows() -> None:
    """A reset has none, a SYN has its own, and a short one costs nothing."""
    assert stalls(batch((0, CLIENT, 0, RST), (1, BROKER, 0, SYN), (5_000, CLIENT, 9, ACK))) == []
    short = stalls(batch((0, CLIENT, 0, ACK), (400, CLIENT, 9, ACK)))
    assert len(short) == 1
    assert said(short) == []
    ended = stalls(batch((0, CLIENT, 0, ACK), (300, CLIENT, 0, RST), (9_000, BROKER, 9, ACK)))
    assert said(ended) == []
    assert (
        list(closed_windows(stalls(batch((0, CLIENT, 0, ACK), (4_000, BROKER, 9, ACK))), ())) == []
    )
