import io
import struct
from pathlib import Path

import pytest

from kdiag.errors import CaptureError
from kdiag.pcap.files import pcapng
from kdiag.pcap.files.block import MAX_PACKET_BYTES, PacketBlock
from kdiag.pcap.files.pcapng import (
    TLS_KEY_LOG,
    DropCounts,
    Secrets,
    find_secrets,
    is_pcapng,
    read_pcapng,
)
from kdiag.pcap.files.window import open_window
from recordings.capture_writer import Section
from tiers.cases import for_each

LITTLE = Section("<")
START = LITTLE.start() + LITTLE.interface()


def read(
    file: bytes, block_bytes: int = 4096
) -> tuple[list[PacketBlock], list[Secrets], CaptureError | None]:
    """Return the blocks of packets, the secrets, and what ended the reading."""
    blocks: list[PacketBlock] = []
    secrets: list[Secrets] = []
    with open_window(io.BytesIO(file), block_bytes) as window:
        try:
            blocks.extend(read_pcapng(window, secrets))
        except CaptureError as error:
            return blocks, secrets, error
    return blocks, secrets, None


def contents(blocks: list[PacketBlock]) -> list[bytes]:
    """Return the bytes of the packets."""
    return [
        block.data[offset : offset + captured].tobytes()
        for block in blocks
        for offset, captured in zip(block.offset.tolist(), block.captured.tolist(), strict=True)
    ]


def column(blocks: list[PacketBlock], name: str) -> list[int]:
    """Return one column of all blocks."""
    return [value for block in blocks for value in getattr(block, name).tolist()]


@pytest.mark.parametrize("byte_order", ["<", ">"])
def test_packets_of_all_three_kinds_are_read_in_either_byte_order(byte_order: str) -> None:
    """Enhanced, old and simple packet blocks may stand side by side."""
    section = Section(byte_order)
    file = section.start() + section.interface(link_type=113) + section.interface(link_type=101)
    file += section.packet(b"enhanced", 5_000_001, interface=1, wire=99)
    file += section.old_packet(b"older", 5_000_002, interface=1) + section.simple_packet(b"simple")
    assert is_pcapng(file)
    blocks, _, error = read(file)
    assert error is None
    assert contents(blocks) == [b"enhanced", b"older", b"simple"]
    assert column(blocks, "original") == [99, 5, 6]
    assert column(blocks, "link_type") == [101, 101, 113]
    assert column(blocks, "interface") == [1, 1, 0]
    assert column(blocks, "time_ns") == [5_000_001_000, 5_000_002_000, 0]


def test_simple_packets_are_cut_by_the_snap_length_of_the_first_interface() -> None:
    """They say only how long they were on the wire."""
    file = LITTLE.start() + LITTLE.interface(snaplen=4) + LITTLE.simple_packet(b"0123", wire=10)
    blocks, _, error = read(file)
    assert error is None
    assert contents(blocks) == [b"0123"]
    assert column(blocks, "original") == [10]


@for_each(
    ("resolution", "ticks", "time_ns"),
    [
        (None, 1_700_000_000_123_456, 1_700_000_000_123_456_000),
        (6, 1_700_000_000_123_456, 1_700_000_000_123_456_000),
        (0, 1_700_000_000, 1_700_000_000_000_000_000),
        (3, 1_700_000_000_123, 1_700_000_000_123_000_000),
        (9, 1_700_000_000_123_456_789, 1_700_000_000_123_456_789),
        (12, 1_700_000_123_456_789_012, 1_700_000_123_456_789),
        (0x80, 1_700_000_000, 1_700_000_000_000_000_000),
        (0x80 | 10, 1_700_000_000 * 1024 + 512, 1_700_000_000_500_000_000),
        (0x80 | 30, 1_700_000_000 * 2**30 + 2**28, 1_700_000_000_250_000_000),
        (0x80 | 60, 7 * 2**60 + 2**58, 7_250_000_000),
    ],
)
def test_time_is_in_the_unit_of_the_interface(
    resolution: int | None, ticks: int, time_ns: int
) -> None:
    """Units are negative powers of 10 or of 2; microseconds where nothing is said."""
    options = [] if resolution is None else [(9, bytes([resolution]))]
    file = LITTLE.start() + LITTLE.interface(options=options) + LITTLE.packet(b"x", ticks)
    assert column(read(file)[0], "time_ns") == [time_ns]


@pytest.mark.parametrize("byte_order", ["<", ">"])
def test_each_interface_has_its_own_clock(byte_order: str) -> None:
    """An offset in seconds is added; options that say nothing of time are passed over."""
    section = Section(byte_order)
    offset = struct.pack(byte_order + "q", -100)
    file = section.start() + section.interface(options=[(2, b"eth0x"), (9, b"\x09"), (0, b"")])
    file += section.interface(options=[(14, offset), (3, b"a comment")])
    file += section.packet(b"a", 500, 0) + section.packet(b"b", 200_000_000, 1)
    assert column(read(file)[0], "time_ns") == [500, 100_000_000_000]


def test_a_new_section_starts_over() -> None:
    """Byte order and interfaces of one section mean nothing in the next."""
    big = Section(">")
    file = START + LITTLE.packet(b"one") + big.start() + big.interface(101) + big.packet(b"two")
    blocks, _, error = read(file)
    assert error is None
    assert contents(blocks) == [b"one", b"two"]
    assert column(blocks, "link_type") == [1, 101]


def test_unknown_blocks_are_passed_over() -> None:
    """Statistics, names, comments and private blocks carry no packets."""
    file = START + LITTLE.block(5, b"statistics") + LITTLE.packet(b"one")
    file += LITTLE.block(0x80000BAD, bytes(9000)) + LITTLE.block(0, b"") + LITTLE.packet(b"two")
    blocks, _, error = read(file)
    assert error is None
    assert contents(blocks) == [b"one", b"two"]


def test_secrets_are_kept() -> None:
    """A key log travels inside the file; its padding is not part of it."""
    file = START + LITTLE.secrets(b"CLIENT_RANDOM 1 2\n\n") + LITTLE.secrets(b"wg", 0x57474B4C)
    _, secrets, error = read(file)
    assert error is None
    assert secrets == [Secrets(TLS_KEY_LOG, b"CLIENT_RANDOM 1 2\n\n"), Secrets(0x57474B4C, b"wg")]


@pytest.mark.thorough
@for_each("block_bytes", [24, 50, 333, 4096])
def test_blocks_are_whole_wherever_the_window_ends(block_bytes: int) -> None:
    """Blocks that lie across the end of a window, or are longer than it, are not cut."""
    packets = [bytes([size]) * size for size in range(100)]
    file = START + b"".join(LITTLE.packet(data) for data in packets)
    blocks, _, error = read(file, block_bytes)
    assert error is None
    assert contents(blocks) == packets


def test_what_precedes_a_cut_is_read_wherever_the_file_is_cut() -> None:
    """A file cut between blocks is a good one; any other cut is reported."""
    parts = [START, LITTLE.packet(b"one"), LITTLE.block(5, b"x"), LITTLE.packet(b"four")]
    file, good = b"".join(parts), {sum(map(len, parts[: count + 1])) for count in range(4)}
    for size in range(len(START), len(file) + 1):
        blocks, _, error = read(file[:size])
        assert len(contents(blocks)) == (size >= len(parts[0] + parts[1])) + (size == len(file))
        assert (error is None) == (size in good)


@for_each("kind", [5, 6, 1, 10, 0x0A0D0D0A])
@for_each("size", [0, 4, 8, 13, 0x7FFF_FFFC, 0xFFFF_FFFF])
def test_a_block_of_senseless_length_ends_the_file(kind: int, size: int) -> None:
    """Lengths of 0, odd lengths and enormous ones neither loop nor ask for memory."""
    good = START + LITTLE.packet(b"one")
    start = struct.pack("<IIII", kind, size, 0x1A2B3C4D, 0)
    blocks, _, error = read(good + start + bytes(64))
    assert contents(blocks) == [b"one"]
    assert error is not None
    assert error.offset == len(good)
    assert f"{size} bytes" in error.why


@for_each(
    "broken",
    [
        LITTLE.packet(b"x", interface=1),
        LITTLE.packet(b"data")[:-4] + struct.pack("<I", 40),
        LITTLE.block(6, struct.pack("<IIIII", 0, 0, 0, 17, 17) + bytes(16)),
        LITTLE.block(3, struct.pack("<I", 100) + bytes(16)),
        LITTLE.block(0x0A0D0D0A, bytes(16)),
    ],
    ids=["no such interface", "two lengths", "longer than block", "simple", "no byte order"],
)
def test_a_block_that_contradicts_itself_ends_the_file(broken: bytes) -> None:
    """The packets before it are good, those after it may be anything."""
    good = START + LITTLE.packet(b"one")
    blocks, _, error = read(good + broken + LITTLE.packet(b"two"))
    assert contents(blocks) == [b"one"]
    assert error is not None
    assert error.offset == len(good)


def test_a_packet_without_any_interface_means_nothing() -> None:
    """Its link type is not known."""
    for packet in (LITTLE.packet(b"x"), LITTLE.simple_packet(b"x")):
        blocks, _, error = read(LITTLE.start() + packet)
        assert contents(blocks) == []
        assert error is not None


def test_secrets_longer_than_their_block_end_the_file() -> None:
    """A length is checked before anything is kept."""
    _, secrets, error = read(
        START + LITTLE.block(10, struct.pack("<II", TLS_KEY_LOG, 9) + b"short")
    )
    assert secrets == []
    assert error is not None


def test_interfaces_without_end_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A section may not fill the memory with interfaces; 65,536 are read in a second."""
    assert pcapng._MAX_INTERFACES == 1 << 16
    monkeypatch.setattr(pcapng, "_MAX_INTERFACES", 500)
    _, _, error = read(LITTLE.start() + LITTLE.interface() * 500)
    assert error is None
    _, _, error = read(LITTLE.start() + LITTLE.interface() * 501)
    assert "more than 500 interfaces" in str(error)


def test_other_files_are_not_taken_for_captures() -> None:
    """Both the block type and the byte order mark count."""
    assert not is_pcapng(b"")
    assert not is_pcapng(b"\x0a\x0d\x0d\x0a" + bytes(12))


def test_secrets_are_found_without_reading_packets() -> None:
    """In all sections, up to the first block that makes no sense."""
    little, big = Section("<"), Section(">")
    data = little.start() + little.interface() + little.packet(b"x" * 300) + little.secrets(b"one")
    data += big.start() + big.interface() + big.packet(b"y" * 70) + big.secrets(b"two")
    for damage in (b"", b"\xff" * 40 + little.secrets(b"three")):
        with open_window(io.BytesIO(data + damage), 64) as window:
            assert [each.data for each in find_secrets(window)] == [b"one", b"two"]


@pytest.mark.parametrize("block_bytes", [24, 500, 1 << 20])
def test_many_short_sections_are_read_together(block_bytes: int) -> None:
    """Each has its own interfaces; blocks of packets end with the window, not with the section."""
    sections = []
    for number in range(60):
        interfaces = [
            LITTLE.interface(link_type=each, options=[(9, bytes([each % 10]))])
            for each in range(number % 3 + 1)
        ]
        last = number % 3
        packet = LITTLE.packet(bytes([number]), ticks=number * 10**last, interface=last)
        sections.append(LITTLE.start() + b"".join(interfaces) + packet)
    blocks, _, error = read(b"".join(sections), block_bytes)

    assert error is None
    assert contents(blocks) == [bytes([number]) for number in range(60)]
    assert column(blocks, "link_type") == [0, 1, 2] * 20
    assert column(blocks, "interface") == [0, 1, 2] * 20
    assert column(blocks, "time_ns") == [number * 10**9 for number in range(60)]
    assert len(blocks) == 1 or block_bytes < 1 << 20


def test_an_interface_of_another_section_is_none_of_this_one() -> None:
    """A packet of interface 1 in a section that has one is damage, whatever follows."""
    file = LITTLE.start() + LITTLE.interface() + LITTLE.interface() + LITTLE.packet(b"one")
    file += START + LITTLE.packet(b"two", interface=1) + START + LITTLE.packet(b"three")
    blocks, _, error = read(file)

    assert contents(blocks) == [b"one"]
    assert error is not None
    assert "a packet block contradicts itself or its section" in str(error)


def read_in_all_sizes(
    file: bytes, sizes: tuple[int, ...] = (24, 100, 500, 1 << 16)
) -> set[tuple[bytes, int | None, int, int, bytes]]:
    """Return what windows of several sizes make of a file; one value if they agree."""
    found = set()
    for block_bytes in sizes:
        secrets: list[Secrets] = []
        drops = DropCounts()
        packets: list[bytes] = []
        offset = None
        with open_window(io.BytesIO(file), block_bytes) as window:
            try:
                for block in read_pcapng(window, secrets, drops=drops):
                    packets += contents([block])
            except CaptureError as error:
                offset = error.offset
        keys = b"".join(each.data for each in secrets)
        found.add((b" ".join(packets), offset, drops.interface, drops.system, keys))
    return found


@for_each(
    "packet",
    [
        LITTLE.packet(b"two", interface=1),
        LITTLE.old_packet(b"two", interface=1),
    ],
    ids=["enhanced", "old"],
)
def test_a_packet_cannot_use_an_interface_described_behind_it(packet: bytes) -> None:
    """Whether the description is in the same window must not matter, nor what else follows."""
    good = START + LITTLE.packet(b"one")
    file = good + packet + LITTLE.interface() + LITTLE.packet(b"three", interface=1)
    assert read_in_all_sizes(file) == {(b"one", len(good), 0, 0, b"")}


def test_a_simple_packet_needs_an_interface_before_it() -> None:
    """Its snap length and its link type are those of the first interface."""
    file = LITTLE.start() + LITTLE.simple_packet(b"one") + LITTLE.interface()
    assert read_in_all_sizes(file) == {(b"", len(LITTLE.start()), 0, 0, b"")}


def test_an_interface_may_be_described_between_packets() -> None:
    """In its section it is known from there on; the next section counts from 0 again."""
    file = START + LITTLE.packet(b"one") + LITTLE.interface() + LITTLE.packet(b"two", interface=1)
    file += START + LITTLE.packet(b"three") + LITTLE.interface()
    file += LITTLE.packet(b"four", interface=1) + LITTLE.packet(b"five")
    assert read_in_all_sizes(file) == {(b"one two three four five", None, 0, 0, b"")}


def test_nothing_behind_a_damaged_packet_counts() -> None:
    """Secrets and drops before it do, whether or not a window holds both."""
    good = START + LITTLE.packet(b"one") + LITTLE.secrets(b"old ") + LITTLE.statistics(1, 2)
    damaged = LITTLE.packet(b"two")[:-4] + struct.pack("<I", 40)
    behind = LITTLE.secrets(b"new ") + LITTLE.statistics(100, 200) + LITTLE.packet(b"three")
    assert read_in_all_sizes(good + damaged + behind) == {(b"one", len(good), 1, 2, b"old ")}
    assert read_in_all_sizes(good + behind) == {(b"one three", None, 100, 200, b"old new ")}


@pytest.mark.thorough  # packets of 16 MiB
def test_a_packet_block_above_the_limit_is_damage_in_every_window() -> None:
    """Also where it fits into a large one; a block of just the limit is read."""
    largest, sizes = bytes(MAX_PACKET_BYTES - 32), (1 << 16, 2 * MAX_PACKET_BYTES)
    found = read_in_all_sizes(START + LITTLE.packet(largest), sizes)
    assert found == {(largest, None, 0, 0, b"")}
    file = START + LITTLE.packet(largest + bytes(4))
    assert read_in_all_sizes(file, sizes) == {(b"", len(START), 0, 0, b"")}


@pytest.mark.parametrize("byte_order", ["<", ">"])
def test_drops_are_added_up_by_interface(byte_order: str, tmp_path: Path) -> None:
    """Counts start with the recording: of several of one interface the last one says it all."""
    section = Section(byte_order)
    start = section.start() + section.interface() + section.interface()
    drops = DropCounts()
    for number, parts in enumerate(
        (
            [section.statistics(1, 10), section.statistics(2, 20), section.statistics(5, 0, 1)],
            [section.statistics(100, 0), section.statistics(2**64 - 1, 2**64 - 1, 1)],
            [section.statistics(0, 7, start=b"12345678")],
            [section.statistics(0, 9, start=b"12345678"), section.block(5, b"short")],
        )
    ):
        file = tmp_path / str(number)
        file.write_bytes(start + b"".join(parts))
        with open_window(file) as window:
            assert list(read_pcapng(window, [], drops=drops)) == []

    assert (drops.interface, drops.system) == (2 + 5 + 100, 20 + 9)
