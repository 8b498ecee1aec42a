from collections.abc import Callable, Iterator
from itertools import chain

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.pcap.files import merge
from kdiag.pcap.files.block import PacketBlock
from kdiag.pcap.files.merge import TimedInput, merge_inputs
from recordings.capture_writer import Packet, block_of

Times = list[int]


class Tape:
    """Inputs of packets; each packet's bytes are the input's number and its time.

    Attributes:
        opened: which inputs were opened, and as which of those open, in their order.
    """

    def __init__(self, *inputs: list[Times]) -> None:
        self.opened: list[tuple[int, int]] = []
        self.inputs = [
            TimedInput(
                next((each[0] for each in blocks if each), 1 << 62), self._reader(at, blocks)
            )
            for at, blocks in enumerate(inputs)
        ]

    def _reader(self, number: int, blocks: list[Times]) -> Callable[[int], Iterator[PacketBlock]]:
        def read(place: int) -> Iterator[PacketBlock]:
            self.opened.append((number, place))
            for times in blocks:
                yield block_of([Packet(b"%d:%d" % (number, each), each) for each in times])

        return read

    def merged(self) -> list[list[str]]:
        """Return the packets of each block of the merged inputs."""
        return [packets_of(block) for block in merge_inputs(self.inputs)]

    def packets(self) -> list[str]:
        """Return the packets of the merged inputs."""
        return [*chain.from_iterable(self.merged())]


def packets_of(block: PacketBlock) -> list[str]:
    """Return the bytes of each packet, and check that its time is its own."""
    found = []
    for start, size, time_ns in zip(block.offset, block.captured, block.time_ns, strict=True):
        text = bytes(block.data[start : start + size]).decode()
        assert text.endswith(f":{time_ns}")
        found.append(text)
    return found


def test_inputs_that_do_not_overlap_are_read_one_after_the_other() -> None:
    """Their blocks are passed on as they are, and one input is open at a time."""
    tape = Tape([[1, 2], [3]], [[4, 5]], [[6]])

    assert tape.merged() == [["0:1", "0:2"], ["0:3"], ["1:4", "1:5"], ["2:6"]]
    assert tape.opened == [(0, 0), (1, 0), (2, 0)]


def test_inputs_that_overlap_are_merged_by_time() -> None:
    """At one time, the input that began first has the first packet."""
    tape = Tape([[1, 3], [5, 9]], [[3, 4, 6], [7]])

    assert tape.packets() == ["0:1", "0:3", "1:3", "1:4", "0:5", "1:6", "1:7", "0:9"]
    assert tape.opened == [(0, 0), (1, 1)]


def test_an_input_keeps_its_own_order() -> None:
    """A recorder on several processors writes times that go back a little."""
    tape = Tape([[1, 5, 4, 6]], [[2, 5, 7]])

    assert tape.packets() == ["0:1", "1:2", "0:5", "0:4", "1:5", "0:6", "1:7"]


def test_inputs_without_packets_are_nothing() -> None:
    """A file that was just begun has none."""
    assert Tape([[], []], [[]]).merged() == []
    assert Tape([[]], [[1], [], [2]]).merged() == [["1:1"], ["1:2"]]
    assert Tape().merged() == []


@given(
    st.lists(st.lists(st.integers(1, 50), max_size=20).map(sorted), max_size=5), st.integers(1, 9)
)
def test_any_inputs_give_each_packet_once_in_the_order_of_time(
    inputs: list[Times], size: int
) -> None:
    """Whatever their blocks are."""
    inputs.sort(key=lambda times: times[:1] or [1 << 62])
    blocks = [[times[at : at + size] for at in range(0, len(times), size)] for times in inputs]
    found = Tape(*blocks).packets()

    assert [int(each.split(":")[1]) for each in found] == sorted(chain.from_iterable(inputs))


def test_no_more_inputs_are_open_than_memory_allows(monkeypatch: pytest.MonkeyPatch) -> None:
    """The others follow when one has ended, and whoever reads is told."""
    monkeypatch.setattr(merge, "MAX_MERGED", 2)
    crowds: list[bool] = []
    tape = Tape([[1, 9]], [[2, 8]], [[3, 10]])
    found = [
        packets_of(block)
        for block in merge_inputs(tape.inputs, on_crowd=lambda: crowds.append(True))
    ]

    assert sorted(chain.from_iterable(found)) == sorted(["0:1", "1:2", "1:8", "0:9", "2:3", "2:10"])
    assert found[0] == ["0:1", "1:2", "1:8"]
    assert crowds == [True]
