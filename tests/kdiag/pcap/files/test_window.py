import bz2
import gzip
import io
import lzma
import os
import sys
import tarfile
import zlib
from collections.abc import Callable
from pathlib import Path

import lz4.frame
import pytest
import zstandard

from kdiag.errors import CaptureError
from kdiag.pcap.files.window import Window, open_window

CONTENT = bytes(range(256)) * 40

zstd = zstandard.ZstdCompressor().compress
lz4_frame: Callable[[bytes], bytes] = lz4.frame.compress
COMPRESSIONS = pytest.mark.parametrize(
    "compress",
    [bytes, gzip.compress, zstd, lz4_frame, lzma.compress, bz2.compress],
    ids=["none", "gzip", "zstd", "lz4", "xz", "bzip2"],
)
PACKED = pytest.mark.parametrize(
    "compress",
    [gzip.compress, zstd, lz4_frame, lzma.compress, bz2.compress],
    ids=["gzip", "zstd", "lz4", "xz", "bzip2"],
)


def read_all(window: Window, step: int = 0) -> bytes:
    """Return what an input holds, letting go of `step` bytes at a time (0 is all there are)."""
    content = b""
    more = True
    while more:
        used = min(step or len(window.data), len(window.data))
        content += window.data[:used].tobytes()
        more = window.advance(used)
    return content + window.data.tobytes()


@COMPRESSIONS
def test_compression_is_recognised_by_content(
    tmp_path: Path, compress: Callable[[bytes], bytes]
) -> None:
    """The name says nothing; the bytes read are counted as they are stored."""
    stored = compress(CONTENT)
    path = tmp_path / "capture.txt"
    path.write_bytes(stored)
    with open_window(path, 1000) as window:
        assert read_all(window) == CONTENT
        window.check_end()
        assert window.offset == len(CONTENT)
        assert window.bytes_read == len(stored)


@COMPRESSIONS
def test_pieces_compressed_one_by_one_are_one_input(compress: Callable[[bytes], bytes]) -> None:
    """Compressed files may be put together with `cat`."""
    stored = compress(CONTENT[:5000]) + compress(CONTENT[5000:])
    with open_window(io.BytesIO(stored), 700) as window:
        assert read_all(window) == CONTENT
        window.check_end()


@pytest.mark.parametrize("compress", [gzip.compress, lz4_frame], ids=["gzip", "lz4"])
def test_a_cut_compressed_file_is_read_to_its_end(compress: Callable[[bytes], bytes]) -> None:
    """What can be decompressed is delivered before the error."""
    content = os.urandom(300_000)
    stored = compress(content)
    with open_window(io.BytesIO(stored[: len(stored) // 2]), 1000) as window:
        start = read_all(window)
        assert len(start) > 50_000
        assert content.startswith(start)
        with pytest.raises(CaptureError, match="cannot be read any further") as raised:
            window.check_end()
        assert raised.value.offset == len(start)


@pytest.mark.thorough
@PACKED
def test_damage_in_a_compressed_file_is_a_capture_error(
    compress: Callable[[bytes], bytes],
) -> None:
    """No exception of a codec library escapes, wherever the damage is."""
    stored = bytearray(compress(CONTENT))
    for position in range(4, len(stored)):
        stored[position] ^= 0xFF
        try:
            with open_window(io.BytesIO(stored), 1000) as window:
                read_all(window)
                window.check_end()
        except CaptureError:
            pass
        stored[position] ^= 0xFF


@PACKED
def test_packed_files_may_be_put_behind_one_another(compress: Callable[[bytes], bytes]) -> None:
    """As `cat` does with those of several machines."""
    stored = compress(CONTENT) + compress(CONTENT[::-1])
    with open_window(io.BytesIO(stored), 1000) as window:
        assert read_all(window) == CONTENT + CONTENT[::-1]
        window.check_end()
        assert window.bytes_read == len(stored)


def test_unpacking_takes_bounded_memory_whatever_a_file_states() -> None:
    """A dictionary of a gigabyte is refused before it is allocated."""
    filters = [{"id": lzma.FILTER_LZMA2, "dict_size": 1 << 20}]
    stored = bytearray(lzma.compress(CONTENT, filters=filters))
    place = stored.index(b"\x21\x01", 12) + 2  # LZMA2's id, the size of its properties, they
    stored[place] = 36  # 1 GiB
    stored[20:24] = zlib.crc32(stored[12:20]).to_bytes(4, "little")
    with (
        pytest.raises(CaptureError, match="Memory usage limit"),
        open_window(io.BytesIO(stored), 1000),
    ):
        pass


def test_a_file_that_is_missing_cannot_be_opened(tmp_path: Path) -> None:
    """The error names the file and says what the system said."""
    with (
        pytest.raises(CaptureError, match=r"none.pcap: cannot be opened: No such file"),
        open_window(tmp_path / "none.pcap"),
    ):
        pass


@COMPRESSIONS
def test_an_empty_file_is_no_capture(compress: Callable[[bytes], bytes]) -> None:
    """Nothing was recorded, compressed or not."""
    with pytest.raises(CaptureError, match="is empty"), open_window(io.BytesIO(compress(b""))):
        pass


def test_an_open_file_that_cannot_be_read_is_an_error(tmp_path: Path) -> None:
    """It says why, as the system does."""
    with (
        (tmp_path / "sink").open("wb") as sink,
        pytest.raises(CaptureError, match="cannot be read any further"),
        open_window(sink),
    ):
        pass


def test_bytes_let_go_of_are_gone_and_the_others_stay() -> None:
    """A window keeps what is not dealt with and knows where it is."""
    with open_window(io.BytesIO(CONTENT), 100) as window:
        window.advance(60)
        assert window.offset == 60
        assert window.data.tobytes() == CONTENT[60:160]
        held = window.data
        window.advance(0, need=200)
        assert window.data.tobytes() == CONTENT[60:260]
        assert held.tobytes() == CONTENT[60:160]
        assert read_all(window, 7) == CONTENT[60:]


def test_slices_of_earlier_parts_keep_their_bytes() -> None:
    """However many parts somebody holds on to, by an array or by the memory under it."""
    with open_window(io.BytesIO(CONTENT), 1000) as window:
        held = [window.data.data]
        while window.advance(len(window.data)):
            held.append(window.data[:].data)
        assert b"".join(held) == CONTENT


def test_a_buffer_that_nobody_holds_is_used_again() -> None:
    """There are hardly ever more than two."""
    places = set()
    with open_window(io.BytesIO(CONTENT), 1000) as window:
        while window.advance(len(window.data)):
            places.add(window.data.ctypes.data)
    assert len(places) <= 3


def test_bytes_left_over_at_the_end_are_an_error() -> None:
    """Whoever reads a format takes all bytes of a whole file."""
    with open_window(io.BytesIO(b"left over"), 100) as window:
        assert not window.advance(4)
        with pytest.raises(CaptureError, match=r"byte 4: the capture ends within a packet"):
            window.check_end()


def test_a_pipe_gives_what_it_has() -> None:
    """Nobody waits for a full buffer while packets come in, only for bytes that are needed."""
    reader, writer = os.pipe()
    with open(reader, "rb") as source, open(writer, "wb", buffering=0) as sink:  # noqa: PTH123
        sink.write(CONTENT[:24])
        with open_window(source) as window:
            assert window.data.tobytes() == CONTENT[:24]
            sink.write(CONTENT[24:100])
            assert window.advance(0)
            assert window.data.tobytes() == CONTENT[:100]
            sink.write(CONTENT[100:])
            sink.close()
            assert window.advance(0, need=len(CONTENT))
            assert window.data.tobytes() == CONTENT
            assert not window.advance(0)


def test_a_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """What another program writes can be piped in, and standard input stays open."""
    stdin = io.TextIOWrapper(io.BytesIO(gzip.compress(CONTENT)))
    monkeypatch.setattr(sys, "stdin", stdin)
    with open_window("-") as window:
        assert window.name == "standard input"
        assert window.data.tobytes() == CONTENT
    assert not stdin.closed


def test_what_is_packed_twice_and_archives_of_one_file_are_read_through() -> None:
    """`capture.tar.gz`, and what was compressed once too often; folders do not count."""
    data = CONTENT
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w", format=tarfile.PAX_FORMAT) as tar:
        folder = tarfile.TarInfo("captures")
        folder.type = tarfile.DIRTYPE
        tar.addfile(folder)
        member = tarfile.TarInfo("captures/" + "long" * 60)
        member.size = len(data)
        tar.addfile(member, io.BytesIO(data))
    packed = [archive.getvalue(), gzip.compress(archive.getvalue())]
    packed.append(gzip.compress(gzip.compress(data)))
    for each in packed:
        with open_window(io.BytesIO(each), 1000) as window:
            assert read_all(window) == data
            window.check_end()


def test_an_archive_says_when_there_is_more_in_it_or_less() -> None:
    """Its first file is read."""
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for name in ("a.pcap", "b.pcap"):
            member = tarfile.TarInfo(name)
            member.size = len(CONTENT)
            tar.addfile(member, io.BytesIO(CONTENT))
    for data, why in (
        (archive.getvalue(), "more than one file"),
        (archive.getvalue()[: 512 + len(CONTENT) // 2], "ends within its file"),
    ):
        with open_window(io.BytesIO(data), 1000) as window:
            assert CONTENT.startswith(read_all(window))
            with pytest.raises(CaptureError, match=why):
                window.check_end()
