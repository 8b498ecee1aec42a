from pathlib import Path

import numpy as np
import pytest

from kdiag.errors import CaptureError
from kdiag.pcap.files.block import PacketBlock
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.writer.packet_file import PacketFile
from recordings.capture_writer import Packet, block_of

TIME_NS = 1_767_323_045_000_000_006
BLOCK = block_of([Packet(bytes([each]) * (60 + each), TIME_NS + each, 99) for each in range(5)])


def rows(*numbers: int) -> np.ndarray:
    """Return rows of a block."""
    return np.array(numbers, np.int64)


def read(path: Path) -> list[tuple[bytes, int, int, int]]:
    """Return the packets of a file: bytes, length on the wire, time, link type."""
    found = []
    for block, _ in CaptureReader([path]).read_blocks():
        for at in range(len(block.offset)):
            start = int(block.offset[at])
            data = block.data[start : start + int(block.captured[at])].tobytes()
            wire, time_ns = int(block.original[at]), int(block.time_ns[at])
            found.append((data, wire, time_ns, int(block.link_type[at])))
    return found


@pytest.mark.parametrize("name", ["out.pcap", "out.pcapng"])
def test_packets_are_read_as_they_were_written(name: str, tmp_path: Path) -> None:
    """Their bytes, or those given in their place; time in nanoseconds, length on the wire."""
    with PacketFile(tmp_path / name) as file:
        file.write(BLOCK, rows(0, 1), {})
        file.write(BLOCK, rows(), {})
        file.write(BLOCK, rows(3), {3: b"y" * 63})

    assert file.packets == 3
    assert read(tmp_path / name) == [
        (bytes(60), 99, TIME_NS, 1),
        (b"\1" * 61, 99, TIME_NS + 1, 1),
        (b"y" * 63, 99, TIME_NS + 3, 1),
    ]


def test_a_pcapng_has_an_interface_for_each_link_type(tmp_path: Path) -> None:
    """A pcap has one type: another one is refused, and nothing is left behind."""
    mixed = PacketBlock(*BLOCK[:5], np.array([1, 113, 1, 113, 1]), BLOCK.interface)
    with PacketFile(tmp_path / "out.pcapng") as file:
        file.write(mixed, rows(0, 1, 2), {})
    assert [each[-1] for each in read(tmp_path / "out.pcapng")] == [1, 113, 1]

    refused = pytest.raises(CaptureError, match=r"1 and 113 do not fit .* \.pcapng")
    with refused, PacketFile(tmp_path / "out.pcap") as file:
        file.write(mixed, rows(0, 1, 2), {})
    assert not (tmp_path / "out.pcap").exists()


def test_packets_beyond_the_usual_length_are_announced(tmp_path: Path) -> None:
    """Otherwise readers take them for damage."""
    block = block_of([Packet(bytes(300_000), TIME_NS)])
    with PacketFile(tmp_path / "out.pcap") as file:
        file.write(block, rows(0), {})

    assert [len(each[0]) for each in read(tmp_path / "out.pcap")] == [300_000]


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    """With the reason of the system."""
    with pytest.raises(CaptureError, match=r"nowhere.*cannot be written"):
        PacketFile(tmp_path / "nowhere" / "out.pcap")
