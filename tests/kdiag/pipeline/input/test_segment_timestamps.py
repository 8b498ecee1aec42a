import numpy as np
import pytest

from folders import CAPTURES
from kdiag.clock import TimeRange
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.tcp.reassembly import Moment
from kdiag.pipeline.input.segment_timestamps import SegmentTimestamps
from kdiag.pipeline.input.split import in_order, walk

FILES = sorted(CAPTURES.glob("*.pcap"))[:3]


@pytest.mark.parametrize("split_bytes", [2000, 1 << 20])
def test_moments_are_those_of_one_reader(split_bytes: int) -> None:
    """Whichever split they lie in."""
    batches = list(CaptureReader(FILES).read_segments())
    packets = np.concatenate([batch.packet for batch in batches])
    times = np.concatenate([batch.time_ns for batch in batches])
    moments = SegmentTimestamps(in_order([walk(str(file), split_bytes) for file in FILES]))

    for at in range(0, len(packets), 37):
        after = np.flatnonzero((packets > packets[at]) & (times > times[at] + 1_000_000))
        expected = None
        if len(after):
            expected = Moment(int(packets[after[0]]), int(times[after[0]]))
        assert moments.first_after(int(packets[at]), int(times[at]) + 1_000_000) == expected
    assert moments.last() == Moment(int(packets[-1]), int(times[-1]))


def test_times_that_go_back_are_known_without_reading() -> None:
    """By the split of the packet."""
    (split,) = walk(str(FILES[0])).splits
    moments = SegmentTimestamps([split._replace(lag_ns=7)])

    assert moments.lag_ns(split.packets) == 7
    assert SegmentTimestamps([split]).lag_ns(1) == 0


def test_nothing_is_after_the_end() -> None:
    """Nor is there a last one where nothing is wanted."""
    splits = walk(str(FILES[0])).splits
    moments = SegmentTimestamps(splits, TimeRange(splits[0].last_ns + 1, None))

    assert SegmentTimestamps(splits).first_after(0, splits[0].last_ns) is None
    assert moments.last() == Moment(0, 0)
