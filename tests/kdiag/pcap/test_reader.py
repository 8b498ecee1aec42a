import gzip
import io
import json
import os
import random
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from threading import Thread

import pytest
from scapy.layers.l2 import Ether
from scapy.utils import wrpcap, wrpcapng

from folders import CAPTURES
from kdiag.errors import CaptureError
from kdiag.pcap.files.pcapng import Secrets
from kdiag.pcap.files.window import open_window
from kdiag.pcap.reader import CaptureReader, Source, read_blocks
from recordings.capture_writer import NS_PER_S, Packet, Section, savefile, tcp_frame
from tiers.cases import for_each
from tiers.sampling import IS_EXHAUSTIVE


def capture(*payloads: bytes, second: int = 0) -> bytes:
    """Return a capture of one TCP packet for each payload, one a second."""
    return savefile(
        Packet(tcp_frame(payload), (second + number) * NS_PER_S)
        for number, payload in enumerate(payloads)
    )


def payloads(reader: CaptureReader) -> list[tuple[int, bytes]]:
    """Return packet number and payload of each segment."""
    return [
        (packet, bytes(batch.data[start : start + size]))
        for batch in reader.read_segments()
        for packet, start, size in zip(
            batch.packet.tolist(),
            batch.payload_offset.tolist(),
            batch.payload_bytes.tolist(),
            strict=True,
        )
    ]


def write(folder: Path, **files: bytes) -> list[Path]:
    """Write files, an underscore in the name for the dot, and return their paths."""
    paths = [folder / name.replace("_", ".") for name in files]
    for path, content in zip(paths, files.values(), strict=True):
        path.write_bytes(content)
    return paths


def test_packets_are_numbered_over_all_files(tmp_path: Path) -> None:
    """Several files are one recording, whatever format each of them has."""
    section = Section(">")
    newer = section.start() + section.interface() + section.packet(tcp_frame(b"c"), 5_000_000)
    paths = write(tmp_path, a_pcap=capture(b"a", b"b"), c_gz=gzip.compress(newer))
    reader = CaptureReader(paths)
    assert payloads(reader) == [(1, b"a"), (2, b"b"), (3, b"c")]
    assert reader.packets == 3
    assert reader.warnings == []
    assert reader.bytes_read == reader.total_bytes == sum(p.stat().st_size for p in paths)


def test_files_are_read_by_the_time_of_their_first_packets(tmp_path: Path) -> None:
    """A rotated set may be given in any order; its numbering is not that of the alphabet."""
    paths = write(
        tmp_path,
        x10_pcap=capture(b"third", second=20),
        x2_pcap=capture(b"second", second=10),
        empty_pcap=capture(),
        x_pcap=capture(b"first"),
    )
    reader = CaptureReader(paths)
    assert [payload for _, payload in payloads(reader)] == [b"first", b"second", b"third"]
    assert reader.inputs == [paths[3], paths[1], paths[0], paths[2]]


def test_files_that_overlap_are_merged_by_time(tmp_path: Path) -> None:
    """Packets are numbered over all of them, whatever the sizes of blocks."""
    even = savefile(Packet(tcp_frame(b"%d" % at), at * NS_PER_S) for at in range(0, 40, 2))
    odd = savefile(Packet(tcp_frame(b"%d" % at), at * NS_PER_S) for at in range(1, 30, 2))
    paths = write(
        tmp_path, odd_pcap=odd, even_pcap=even, last_gz=gzip.compress(capture(b"z", second=99))
    )
    expected = [*range(30), *range(30, 40, 2)]
    for block_bytes in (100, 300, 1 << 20):
        reader = CaptureReader(paths, block_bytes=block_bytes)
        found = payloads(reader)
        assert found == [(n, b"%d" % at) for n, at in enumerate(expected, 1)] + [(36, b"z")]
        assert reader.bytes_read == reader.total_bytes
        assert reader.warnings == []


def test_what_goes_wrong_in_one_of_files_that_overlap_names_it(tmp_path: Path) -> None:
    """The others are read on; packets that nobody reads are told for all of them."""
    other = savefile(
        [Packet(b"?" * 60, 2 * NS_PER_S), Packet(b"?" * 60, 3 * NS_PER_S)], link_type=189
    )
    paths = write(tmp_path, a_pcap=capture(b"a", b"b", b"c", b"d")[:-4], b_pcap=other)
    reader = CaptureReader(paths)

    assert [payload for _, payload in payloads(reader)] == [b"a", b"b", b"c"]
    broken, unread = map(str, reader.warnings)
    assert "a.pcap" in broken
    assert "ends within a packet" in broken
    assert "a.pcap and 1 more" in unread
    assert "2 packets" in unread


def test_a_folder_stands_for_the_captures_in_it(tmp_path: Path) -> None:
    """What is no capture, or nothing yet, is passed over."""
    (tmp_path / "folder.pcap").mkdir()
    write(
        tmp_path,
        b_pcap=capture(b"late", second=9),
        notes_txt=b"what I did",
        a_pcap=capture(b"early"),
        next_pcap=b"",
        keys_log=b"CLIENT_RANDOM 00 00\n",
    )
    assert payloads(CaptureReader([tmp_path])) == [(1, b"early"), (2, b"late")]


def test_a_folder_without_captures_is_a_mistake(tmp_path: Path) -> None:
    """Nobody means to read nothing."""
    with pytest.raises(CaptureError, match="holds no capture file"):
        CaptureReader([str(tmp_path)])


def test_a_damaged_file_in_a_folder_is_not_passed_over(tmp_path: Path) -> None:
    """It may be a capture, of which nobody would know that it is missing."""
    write(tmp_path, a_pcap=capture(b"a"), b_gz=gzip.compress(capture(b"b"))[:10])
    with pytest.raises(CaptureError, match=r"b\.gz.*cannot be read any further"):
        CaptureReader([tmp_path])


@for_each(
    ("content", "hint"),
    [
        (b"", "is empty"),
        (b"\x7fELF\x02\x01\x01\x00", "starts with 7f 45 4c 46 02 01 01 00"),
        (b'{"json": 1}', "neither pcap nor pcapng"),
        (b"12:00:01 IP a > b\n\t0x0000:  4500 0034 0000 4000 4006\n", "text2pcap"),
        (b"0000  45 00 00 34 00 00 40 00\n", "text2pcap"),
        (b"PK\x03\x04rest", "unpack it first"),
        (b"snoop\x00\x00\x00", "editcap -F pcap"),
        (b"CLIENT_RANDOM 00 00", "is a TLS key log"),
        (gzip.compress(b"no capture", mtime=0), "neither pcap nor pcapng"),
        (gzip.compress(b"no capture", mtime=0)[:10], "cannot be read any further"),
    ],
)
def test_a_file_that_is_no_capture_is_refused_at_once(
    tmp_path: Path, content: bytes, hint: str
) -> None:
    """Before anything is read, the error says what the file is and what to do."""
    (path,) = write(tmp_path, some_file=content)
    (good,) = write(tmp_path, good_pcap=capture(b"a"))
    with pytest.raises(CaptureError, match=hint) as raised:
        CaptureReader([good, path])
    assert raised.value.file == str(path)


def test_a_missing_file_is_refused_at_once(tmp_path: Path) -> None:
    """The error names it."""
    with pytest.raises(CaptureError, match=r"none\.pcap: cannot be opened: No such file"):
        CaptureReader([tmp_path / "none.pcap"])


def test_a_cut_file_is_read_to_its_end_and_the_next_one_too(tmp_path: Path) -> None:
    """What is missing becomes a warning that says where the file ends."""
    whole = capture(b"a", b"bbb")
    paths = write(tmp_path, a_pcap=whole[:-2], b_pcap=capture(b"c", second=9))
    reader = CaptureReader(paths)
    assert payloads(reader) == [(1, b"a"), (2, b"c")]
    (warning,) = reader.warnings
    assert (warning.file, warning.offset, warning.packet) == (str(paths[0]), 24 + 16 + 55, 1)
    assert "ends within a packet" in warning.why


def test_damage_at_the_first_packet_is_a_warning(tmp_path: Path) -> None:
    """The file is a capture, of which nothing is left."""
    paths = write(tmp_path, a_pcap=capture() + b"\xff" * 100, b_pcap=capture(b"b"))
    reader = CaptureReader(paths)
    assert payloads(reader) == [(1, b"b")]
    assert [warning.file for warning in reader.warnings] == [str(paths[0])]


def test_packets_of_unknown_link_types_are_a_warning() -> None:
    """They are not passed over in silence."""
    reader = CaptureReader([io.BytesIO(savefile([Packet(b"radio")] * 2, link_type=189))])
    assert payloads(reader) == []
    (warning,) = reader.warnings
    assert "not read: 2 packets of link type 189" in str(warning)


def test_secrets_of_pcapng_files_are_at_hand() -> None:
    """They come with the file, once."""
    section = Section()
    file = section.start() + section.interface() + section.secrets(b"CLIENT_RANDOM 00 00\n")
    reader = CaptureReader([io.BytesIO(file)])
    assert payloads(reader) == []
    assert reader.secrets == [Secrets(0x544C534B, b"CLIENT_RANDOM 00 00\n")]


def test_an_open_file_is_read_and_left_open() -> None:
    """Its size is not known beforehand."""
    source = io.BytesIO(capture(b"a"))
    reader = CaptureReader([source])
    assert reader.total_bytes is None
    assert payloads(reader) == [(1, b"a")]
    assert reader.bytes_read == len(source.getvalue())
    assert not source.closed


def test_a_stream_that_is_no_capture_is_refused_when_it_is_read() -> None:
    """A pipe can't be looked into beforehand."""
    reader = CaptureReader([io.BytesIO(b"no capture")])
    with pytest.raises(CaptureError, match="neither pcap nor pcapng"):
        payloads(reader)


def test_a_named_pipe_is_read_once(tmp_path: Path) -> None:
    """`kdiag decode <(zcat ...)` hands over a pipe that has a name."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    writer = Thread(target=lambda: pipe.write_bytes(capture(b"a")))
    writer.start()
    reader = CaptureReader([pipe])
    assert payloads(reader) == [(1, b"a")]
    assert reader.total_bytes is None
    writer.join()


def test_segments_come_in_blocks_of_bounded_size() -> None:
    """However long a capture is, a batch holds on to one block of it."""
    file = capture(*([bytes(1000)] * 500))
    reader = CaptureReader([io.BytesIO(file)], block_bytes=20_000)
    batches = [len(batch.data) for batch in reader.read_segments()]
    assert max(batches) <= 20_000
    assert len(batches) > 20
    assert reader.packets == 500


@pytest.mark.thorough
@for_each("nano", [False, True])
@for_each("endianness", ["<", ">"])
def test_files_that_scapy_writes_are_read(tmp_path: Path, nano: bool, endianness: str) -> None:  # noqa: FBT001
    """Both formats, as another program writes them."""
    frames = []
    for number in range(3):
        frame = Ether(tcp_frame(bytes([number]) * number))
        frame.time = 1_700_000_000 + number
        frames.append(frame)
    older, newer = str(tmp_path / "a.pcap"), str(tmp_path / "a.pcapng")
    wrpcap(older, frames, nano=nano, endianness=endianness)
    wrpcapng(newer, frames)
    expected = [(1, b""), (2, b"\1"), (3, b"\2\2")]
    assert payloads(CaptureReader([older])) == payloads(CaptureReader([newer])) == expected
    for path in (older, newer):
        (batch,) = CaptureReader([path]).read_segments()
        assert batch.time_ns.tolist() == [int(frame.time) * NS_PER_S for frame in frames]


def read_all(sources: Sequence[Source]) -> tuple[int, int, int]:
    """Return packets, payload bytes on the wire, and warnings."""
    reader = CaptureReader(sources)
    wire_bytes = sum(int(batch.wire_bytes.sum()) for batch in reader.read_segments())
    return reader.packets, wire_bytes, len(reader.warnings)


@pytest.mark.thorough
def test_every_reference_capture_has_the_packets_and_bytes_that_tshark_counts(
    reference: Path,
) -> None:
    """All packets and all TCP payload bytes, retransmissions included."""
    counted, expected = {}, {}
    for path in sorted((reference / "captures").glob("*.json")):
        truth = json.loads(path.read_text(encoding="utf-8"))
        files = [path.parent / file["name"] for file in truth["files"]]
        captures = [file for file in files if file.suffix != ".keylog"]
        counted[path.stem] = read_all(captures)
        tshark = truth["tshark"]
        expected[path.stem] = (tshark["packets"], tshark["tcp_payload_bytes"], 0)
    assert counted == expected
    assert len(counted) > 80


def damaged(content: bytes, chance: random.Random) -> bytes:
    """Return a file with some bits flipped, bytes cut out or put in twice, or its end cut off."""
    file = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        place = chance.randrange(len(file))
        end = place + chance.choice([1, 4, 16, 100])
        match chance.randrange(5):
            case 0 | 1:
                file[place] ^= 1 << chance.randrange(8)
            case 2:
                file[place:end] = chance.randbytes(end - place)
            case 3:
                del file[place:end]
            case _:
                file[place:place] = file[place:end]
    return bytes(file[: chance.randrange(len(file))] if chance.random() < 0.2 else file)


@pytest.mark.thorough
@pytest.mark.parametrize("form", ["pcap", "pcapng", "gzip"])
def test_damaged_files_give_segments_or_capture_errors(form: str) -> None:
    """Nothing else comes out of them, and every payload lies in its data."""
    content = (CAPTURES / "acks.pcap").read_bytes()[:20_000]
    if form == "pcapng":
        section = Section()
        with open_window(io.BytesIO(content)) as window:
            block = next(read_blocks(window, []))
        content = section.start() + section.interface() + section.secrets(b"keys")
        for start, size in zip(block.offset.tolist(), block.captured.tolist(), strict=True):
            content += section.packet(block.data[start : start + size].tobytes())
    content = gzip.compress(content) if form == "gzip" else content
    chance = random.Random(form)
    for _ in range(5000 if IS_EXHAUSTIVE else 400):
        reader = CaptureReader([io.BytesIO(damaged(content, chance))])
        with suppress(CaptureError):
            for batch in reader.read_segments():
                ends = batch.payload_offset + batch.payload_bytes
                assert (ends[batch.payload_bytes > 0] <= len(batch.data)).all()
                assert (batch.payload_bytes <= batch.wire_bytes).all()
