from pathlib import Path
from typing import Any

import pytest

from kdiag.pcap.packets.index import SegmentBatch
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.writer.connection import Delivery, Sender, SyntheticConnection
from kdiag.pcap.writer.packet import MAX_PAYLOAD_BYTES
from kdiag.pcap.writer.savefile import LINKTYPE_RAW, SavefileWriter
from kdiag.wire.frame import Frame
from recordings.exchange_maker import BROKER, START_NS, cut_frame, make_connection, whole_frame
from tiers.cases import for_each

LATER_NS = START_NS + 5_000


class Recording:
    """A connection whose packets are read back."""

    def __init__(self, path: Path, **changes: Any) -> None:
        self._path = path / "kept.pcap"
        self._file = SavefileWriter(self._path, LINKTYPE_RAW)
        self.connection = SyntheticConnection(make_connection(**changes), self._file)

    def segments(self) -> SegmentBatch:
        """Return what was written, as columns."""
        self._file.close()
        [batch] = CaptureReader([self._path]).read_segments()
        return batch

    def lengths(self) -> list[int]:
        """Return the payload bytes of each packet."""
        return [int(each) for each in self.segments().payload_bytes]


def spread_frame(size: int) -> Frame:
    """Return a frame whose last byte was seen later than its first."""
    return Frame(b"f" * size, size, START_NS, LATER_NS)


def test_a_frame_that_was_there_at_once_is_delivered_at_once() -> None:
    """Its length stands before it."""
    delivery = Delivery.of_frame(Sender.CLIENT, whole_frame(b"kafka"))

    assert delivery == (Sender.CLIENT, b"\0\0\0\x05kafka", b"", 0)
    assert delivery.size == 9


@for_each("size", [0, 1, 5, MAX_PAYLOAD_BYTES - 4, MAX_PAYLOAD_BYTES, 200_000])
def test_a_frame_that_took_time_is_delivered_in_two_parts(size: int) -> None:
    """Neither is empty, and the last one fits into one segment."""
    delivery = Delivery.of_frame(Sender.BROKER, spread_frame(size))

    assert delivery.first + delivery.last == size.to_bytes(4) + b"f" * size
    assert delivery.first
    assert 0 < len(delivery.last) <= MAX_PAYLOAD_BYTES


def test_bytes_that_a_capture_lost_stay_lost_and_a_hung_up_frame_has_no_hole() -> None:
    """Only the first leaves a hole in the sequence numbers."""
    lost = cut_frame(b"kafka", 2)
    hung_up = Frame(b"ka", 5, START_NS, START_NS, unsent_bytes=3)

    assert Delivery.of_frame(Sender.CLIENT, lost) == (Sender.CLIENT, b"\0\0\0\x05ka", b"", 3)
    assert Delivery.of_frame(Sender.CLIENT, hung_up) == (Sender.CLIENT, b"\0\0\0\x05ka", b"", 0)


def test_a_long_frame_goes_into_as_many_segments_as_it_needs(tmp_path: Path) -> None:
    """The last one is seen later, when the frame was complete."""
    recording = Recording(tmp_path)
    delivery = Delivery.of_frame(Sender.CLIENT, spread_frame(2 * MAX_PAYLOAD_BYTES))
    recording.connection.begin(delivery, START_NS)
    recording.connection.send_rest(delivery, LATER_NS)
    recording.connection.send_rest(delivery, LATER_NS + 1)

    segments = recording.segments()

    assert segments.payload_bytes.tolist() == [MAX_PAYLOAD_BYTES, MAX_PAYLOAD_BYTES, 4]
    assert segments.time_ns.tolist() == [START_NS, START_NS, LATER_NS]


def test_the_next_frame_ends_the_one_before_it_on_its_side_only(tmp_path: Path) -> None:
    """Bytes of two frames never mix, whatever their times say."""
    recording = Recording(tmp_path)
    slow = Delivery.of_frame(Sender.CLIENT, spread_frame(10))
    recording.connection.begin(slow, START_NS)
    recording.connection.begin(Delivery.of_frame(Sender.BROKER, whole_frame(b"answer")), START_NS)
    recording.connection.begin(Delivery.of_frame(Sender.CLIENT, whole_frame(b"n")), START_NS)
    recording.connection.send_rest(slow, LATER_NS)

    assert recording.lengths() == [2, 10, 12, 5]


def test_times_do_not_go_back(tmp_path: Path) -> None:
    """What is given in order is seen in order."""
    recording = Recording(tmp_path)
    recording.connection.open(LATER_NS)
    recording.connection.begin(Delivery.of_frame(Sender.CLIENT, whole_frame(b"n")), START_NS)

    assert recording.segments().time_ns.tolist() == [LATER_NS] * 4


@pytest.mark.parametrize(("reason", "packets"), [(None, 3), ("fin", 3), ("rst", 1)])
def test_a_connection_ends_as_it_did(tmp_path: Path, reason: str | None, packets: int) -> None:
    """By a FIN each and their acknowledgement, or by a reset; what is open is written before."""
    recording = Recording(tmp_path, close_reason=reason)
    recording.connection.begin(Delivery.of_frame(Sender.CLIENT, spread_frame(10)), START_NS)
    recording.connection.close(LATER_NS)

    assert recording.lengths() == [2, 12, *[0] * packets]


@pytest.mark.parametrize(
    ("client", "broker"), [("?", "?"), ("10.0.0.1:40000", "[::1]:9092"), ("app:1", BROKER)]
)
def test_ends_that_are_no_addresses_get_stand_ins(tmp_path: Path, client: str, broker: str) -> None:
    """A connection that broke at once has no names; each is told from the next."""
    with SavefileWriter(tmp_path / "kept.pcap", LINKTYPE_RAW) as file:
        first, second = (
            SyntheticConnection(make_connection(number, client=client, broker=broker), file).ends
            for number in (1, 2)
        )

    assert {end.address for end in (*first, *second)} == {bytes(4)}
    assert first != second
    assert first[0] != first[1]
