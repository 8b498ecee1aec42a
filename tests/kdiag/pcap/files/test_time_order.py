import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from kdiag.clock import NS_PER_MS
from kdiag.pcap.files.block import PacketBlock
from kdiag.pcap.files.time_order import MAX_LATE_NS, TimeOrder
from tiers.cases import for_each

LATER = MAX_LATE_NS + 1


def blocks_of(times_ns: list[int], size: int) -> list[PacketBlock]:
    """Return packets of eight bytes, which hold their times, in blocks of some packets each."""
    blocks = []
    for at in range(0, len(times_ns), size):
        times = np.array(times_ns[at : at + size], np.int64)
        data = np.frombuffer(times.astype(">i8").tobytes(), np.uint8)
        captured = np.full(len(times), 8, np.int64)
        offset = np.arange(len(times), dtype=np.int64) * 8
        columns = (offset, captured, captured, times, captured * 0, captured * 0)
        blocks.append(PacketBlock(data, *columns))
    return blocks


def read(times_ns: list[int], size: int = 100) -> tuple[list[int], TimeOrder]:
    """Return the times in the order in which the packets are read."""
    order = TimeOrder()
    found: list[int] = []
    for block in order.sorted(iter(blocks_of(times_ns, size))):
        assert len(block.time_ns)
        for start, time_ns in zip(block.offset.tolist(), block.time_ns.tolist(), strict=True):
            assert int.from_bytes(block.data[start : start + 8].tobytes()) == time_ns
            found.append(time_ns)
    return found, order


@for_each("size", [3, 7, 100])
@for_each("late_ns", [NS_PER_MS, 10 * NS_PER_MS])
def test_packets_that_were_written_late_are_read_in_the_order_of_their_times(
    size: int, late_ns: int
) -> None:
    """From the first block on in which that is so, and across blocks from then on."""
    times = [number * NS_PER_MS // 2 for number in range(90)]
    written = sorted(times, key=lambda each: each + (each // (NS_PER_MS // 2) % 2) * late_ns)
    found, order = read(written, size)

    assert sorted(found) == times
    sorted_from = next(at for at in range(len(found)) if found[at:] == sorted(found[at:]))
    first = next(at for at in range(1, 90) if written[at] < written[at - 1])
    assert sorted_from <= (0 if size > 90 else first + 2 * size)
    assert 0 < order.late_ns <= late_ns


@for_each(
    "times",
    [[1, 2, 3, 4], [LATER + 5, 1, 2, LATER + 6, 3, LATER + 7, 4], [LATER * 3, 5, 6]],
)
def test_a_clock_that_was_set_or_differs_changes_no_order(times: list[int]) -> None:
    """Times that go back by more than a packet may be late."""
    found, order = read(times)
    assert found == times
    assert (order.late, order.late_ns) == (0, 0)


def test_packets_around_a_clock_that_was_set_are_sorted_apart() -> None:
    """Each side of it has its own times."""
    before, after = [LATER + 4, LATER + 2, LATER + 3, LATER + 1], [4, 2, 3, 1]
    assert read(before + after)[0] == sorted(before) + sorted(after)


@given(st.lists(st.integers(0, 3 * MAX_LATE_NS), max_size=60), st.integers(1, 60))
def test_no_packet_is_lost_or_doubled(times: list[int], size: int) -> None:
    """Whatever the times are."""
    assert sorted(read(times, size)[0]) == sorted(times)
