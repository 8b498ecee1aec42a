import io
import struct
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kdiag.errors import CaptureError
from kdiag.pcap.files.block import PacketBlock
from kdiag.pcap.files.pcap import is_savefile, read_savefile
from kdiag.pcap.files.window import open_window
from recordings.capture_writer import (
    MICROSECONDS,
    NANOSECONDS,
    PATCHED,
    Packet,
    savefile,
    tcp_frame,
)
from tiers.cases import for_each

PACKETS = [
    Packet(b"first", 1_700_000_000_123_456_789),
    Packet(b"", 1_700_000_001_000_000_000, original=60),
    Packet(b"third packet", 1_700_000_002_999_999_999, original=1514),
]


def read(file: bytes, block_bytes: int = 4096) -> tuple[list[Packet], CaptureError | None]:
    """Return the packets of a file and what ended the reading."""
    blocks: list[PacketBlock] = []
    with open_window(io.BytesIO(file), block_bytes) as window:
        try:
            blocks.extend(read_savefile(window))
        except CaptureError as error:
            return packets_of(blocks), error
    return packets_of(blocks), None


def packets_of(blocks: list[PacketBlock]) -> list[Packet]:
    """Return the packets of blocks one by one."""
    return [
        Packet(block.data[offset : offset + captured].tobytes(), time_ns, original)
        for block in blocks
        for offset, captured, original, time_ns in zip(
            *(column.tolist() for column in block[1:5]), strict=True
        )
    ]


@for_each("byte_order", ["<", ">"])
@for_each(("magic", "tick_ns"), [(MICROSECONDS, 1000), (NANOSECONDS, 1), (PATCHED, 1000)])
def test_every_form_of_the_file_gives_the_same_packets(
    magic: int, tick_ns: int, byte_order: str
) -> None:
    """Byte order, unit of time and the longer header of a patched tcpdump make no difference."""
    file = savefile(PACKETS, magic=magic, byte_order=byte_order)
    expected = [
        Packet(data, time_ns // tick_ns * tick_ns, original or len(data))
        for data, time_ns, original in PACKETS
    ]
    assert is_savefile(file)
    assert read(file) == (expected, None)


def test_the_link_type_is_told_from_the_flags_beside_it() -> None:
    """The upper bits of the field say something about checksums, not about the link."""
    file = savefile(PACKETS, link_type=0x2400_0071)
    with open_window(io.BytesIO(file)) as window:
        (block,) = read_savefile(window)
    assert set(block.link_type.tolist()) == {113}
    assert set(block.interface.tolist()) == {0}


@given(
    sizes=st.lists(st.integers(0, 300), max_size=40),
    block_bytes=st.integers(24, 400),
)
def test_packets_are_whole_wherever_blocks_end(sizes: list[int], block_bytes: int) -> None:
    """Packets that lie across the end of a block, or are longer than one, are not cut."""
    packets = [Packet(bytes([size % 256]) * size, size * 1000, size + 1) for size in sizes]
    assert read(savefile(packets), block_bytes) == (packets, None)


def test_what_precedes_a_cut_is_read_wherever_the_file_is_cut() -> None:
    """A file cut between packets is a good one; any other cut is reported where it is."""
    file = savefile(PACKETS)
    ends = list(accumulate((16 + len(packet.data) for packet in PACKETS), initial=24))
    for size in range(24, len(file)):
        packets, error = read(file[:size])
        whole = sum(end <= size for end in ends) - 1
        assert len(packets) == whole
        if size in ends:
            assert error is None
        else:
            assert error is not None
            assert error.offset == ends[whole]
            assert "ends within a packet" in error.why


@pytest.mark.parametrize("size", [4, 16, 23])
def test_a_cut_file_header_leaves_nothing_to_read(size: int) -> None:
    """Without the link type, no packet has a meaning."""
    packets, error = read(savefile(PACKETS)[:size])
    assert packets == []
    assert "ends within the file header" in str(error)


@pytest.mark.parametrize("length", [262_145, 2**31 - 1, 2**32 - 1])
def test_a_senseless_length_ends_the_file_after_the_good_packets(length: int) -> None:
    """A length is damage if it is beyond both the snap length and what packets can be."""
    good = savefile(PACKETS)
    packets, error = read(good + struct.pack("<IIII", 1, 1, length, length) + bytes(3000), 1 << 20)
    assert len(packets) == 3
    assert error is not None
    assert error.offset == len(good)
    assert f"length of {length} bytes" in error.why


def test_a_senseless_length_in_the_middle_of_a_block_is_found_too() -> None:
    """It makes no difference whether as many bytes follow as the length says."""
    good = savefile(PACKETS)
    damaged = good + struct.pack("<IIII", 1, 1, 300_000, 300_000) + bytes(400_000)
    packets, error = read(damaged, 1 << 20)
    assert len(packets) == 3
    assert error is not None
    assert error.offset == len(good)


def test_a_large_snap_length_allows_large_packets() -> None:
    """The capture's own limit counts where it is larger than the usual one."""
    packet = Packet(bytes(300_000), 0, 300_000)
    assert read(savefile([packet], snaplen=400_000)) == ([packet], None)
    assert read(savefile([packet]))[0] == []


def test_zeros_at_the_end_are_not_packets() -> None:
    """A full disk or a crash leaves zeros, which are reported instead of counted."""
    good = savefile(PACKETS)
    packets, error = read(good + bytes(160))
    assert len(packets) == 3
    assert error is not None
    assert error.offset == len(good)


def test_a_file_without_packets_is_a_good_one() -> None:
    """A quiet network is recorded too."""
    assert read(savefile([])) == ([], None)


def test_other_files_are_not_taken_for_captures() -> None:
    """Only the magic numbers count."""
    assert not is_savefile(b"")
    assert not is_savefile(tcp_frame(b""))
