import numpy as np
import pytest

from kdiag.pcap.files.block import PacketBlock
from kdiag.pcap.files.merge import TimedInput, merge_inputs
from kdiag.pcap.files.repeats import RepeatedPackets
from tiers.cases import for_each

Packets = list[tuple[int, bytes]]


def blocks_of(packets: Packets, size: int) -> list[PacketBlock]:
    """Return packets, given by time and bytes, in blocks of some packets each."""
    blocks = []
    for at in range(0, len(packets), size):
        part = packets[at : at + size]
        data = b"".join(each for _, each in part)
        captured = np.array([len(each) for _, each in part], np.int64)
        columns = [np.cumsum(captured) - captured, captured, captured]
        columns += [np.array([time for time, _ in part], np.int64), captured * 0, captured * 0]
        blocks.append(PacketBlock(np.frombuffer(data, np.uint8), *columns))
    return blocks


def timed_input(blocks: list[PacketBlock]) -> TimedInput:
    """Return blocks as an input."""
    return TimedInput(int(blocks[0].time_ns[0]), lambda _: iter(blocks))


def merged(*inputs: Packets, size: int = 100) -> tuple[list[bytes], RepeatedPackets]:
    """Return the bytes of the packets of some inputs, and what was repeated."""
    repeats = RepeatedPackets()
    timed = [timed_input(blocks_of(each, size)) for each in inputs]
    found = []
    for block in merge_inputs(timed, repeats=repeats):
        for start, count in zip(block.offset.tolist(), block.captured.tolist(), strict=True):
            found.append(block.data[start : start + count].tobytes())
    return found, repeats


ALL: Packets = [(1, b"ab"), (2, b"cd"), (2, b"cd"), (2, b"ef"), (5, b"cd"), (7, b"g"), (7, b"ab")]


@for_each("size", [1, 2, 3, 100])
def test_a_capture_given_twice_is_read_once(size: int) -> None:
    """Whatever its blocks are; equal packets of one input stay two."""
    found, repeats = merged(ALL, ALL, size=size)

    assert sorted(found) == sorted(each for _, each in ALL)
    assert (repeats.count, repeats.first) == (7, (0, 1))


@pytest.mark.parametrize("size", [1, 2, 100])
def test_a_part_of_another_capture_is_passed_over(size: int) -> None:
    """Its own packets are read."""
    found, repeats = merged(ALL, [(2, b"cd"), (5, b"cd"), (6, b"new")], ALL[4:], size=size)

    assert sorted(found) == sorted([*(each for _, each in ALL), b"new"])
    assert repeats.count == 5


def test_other_times_and_other_bytes_are_other_packets() -> None:
    """As those of another interface are."""
    found, repeats = merged([(1, b"ab"), (3, b"cd"), (9, b"x")], [(2, b"ab"), (3, b"ce")])

    assert len(found) == 5
    assert (repeats.count, repeats.first) == (0, None)


def test_what_was_cut_elsewhere_is_another_packet() -> None:
    """The lengths on the wire must be the same as well."""
    (one,), (other,) = blocks_of([(1, b"ab")], 1), blocks_of([(1, b"ab")], 1)
    other = other._replace(original=other.original + 5)
    repeats = RepeatedPackets()
    inputs = [timed_input([each]) for each in (one, other)]

    assert sum(len(block.offset) for block in merge_inputs(inputs, repeats=repeats)) == 2
