import gzip
import json
import struct
import subprocess
import sys
import textwrap
import zlib
from contextlib import suppress
from contextvars import copy_context
from pathlib import Path

import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st
from lz4 import frame as lz4_frame

from folders import ORACLE, ROOT
from kdiag.errors import DecodeError
from kdiag.wire.records.compression import (
    ALLOWANCE,
    CODECS,
    FORMS,
    MAX_FRAMES,
    XERIAL_HEADER,
    compress,
    crc32c,
    decompress,
    name_of,
)
from tiers.cases import for_each

RECORDS = ORACLE / "records.jsonl.gz"
CODECS_AND_FORMS = [(codec, form) for codec, forms in FORMS.items() for form in forms]

contents = st.binary(max_size=300) | st.integers(0, 200_000).map(bytes)


@pytest.mark.parametrize(("codec", "form"), CODECS_AND_FORMS)
@given(content=contents)
def test_content_reads_back(codec: str, form: str, content: bytes) -> None:
    """What any form of a codec made of any bytes becomes these again, at a cap of their size."""
    packed = compress(codec, content, form=form)

    assert content == decompress(codec, packed, max_bytes=len(content))


@for_each(("codec", "form"), CODECS_AND_FORMS)
def test_output_beyond_the_cap_is_refused(codec: str, form: str) -> None:
    """One byte more than allowed is too many, be it in one frame or in several."""
    packed = compress(codec, bytes(100_000), form=form)

    with pytest.raises(DecodeError, match="more than 99999 bytes"):
        decompress(codec, packed, max_bytes=99_999)
    if (codec, form) != ("snappy", "raw"):
        with pytest.raises(DecodeError, match="more than 199999 bytes"):
            decompress(codec, packed + packed, max_bytes=199_999)


@for_each(("codec", "form"), CODECS_AND_FORMS)
def test_a_cut_anywhere_is_refused(codec: str, form: str) -> None:
    """Compressed bytes that end early are an error, except between two blocks of snappy."""
    packed = compress(codec, b"value %d" % 10**9 * 20, form=form)
    between_blocks = {16} if form == "xerial" else set()
    for end in set(range(len(packed))) - between_blocks:
        with pytest.raises(DecodeError):
            decompress(codec, packed[:end])


@pytest.mark.parametrize("codec", FORMS)
@given(data=st.data())
def test_flipped_bytes_read_or_raise_a_decode_error(codec: str, data: st.DataObject) -> None:
    """Whatever bytes are changed, no other exception comes out and no more than the cap."""
    form = data.draw(st.sampled_from(FORMS[codec]))
    packed = bytearray(compress(codec, b"some text and some more text" * 5, form=form))
    for _ in range(data.draw(st.integers(1, 3))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    with suppress(DecodeError):
        assert len(decompress(codec, bytes(packed), max_bytes=1000)) <= 1000


@for_each("codec", FORMS)
@for_each("content", [b"", b"x", b"no codec wrote this", b"\xff" * 40])
def test_garbage_is_refused(codec: str, content: bytes) -> None:
    """Bytes of no codec are an error, and so are none at all."""
    with pytest.raises(DecodeError):
        decompress(codec, content)


@pytest.mark.parametrize("codec", ["gzip", "lz4", "zstd"])
def test_frames_in_a_row_are_one_content(codec: str) -> None:
    """Frames may follow one another, up to a number; what follows them must be one too."""
    frames = compress(codec, b"one") + compress(codec, b"") + compress(codec, b"two")

    assert decompress(codec, frames) == b"onetwo"
    with pytest.raises(DecodeError):
        decompress(codec, frames + b"x" * 20)
    with pytest.raises(DecodeError, match="frames in a row"):
        decompress(codec, compress(codec, b"") * (MAX_FRAMES + 1))


def test_java_appends_snappy_streams_with_their_headers() -> None:
    """A header of the framing may stand between blocks."""
    packed = compress("snappy", b"one") + compress("snappy", b"two")

    assert decompress("snappy", packed) == b"onetwo"


def test_snappy_is_framed_as_java_does_it() -> None:
    """The framing has blocks of 32 KiB, each behind its length."""
    packed = compress("snappy", bytes(40_000))
    (first_bytes,) = struct.unpack_from(">i", packed, len(XERIAL_HEADER))
    second = packed[len(XERIAL_HEADER) + 4 + first_bytes :]

    assert packed.startswith(bytes.fromhex("82534e41505059 00 00000001 00000001"))
    assert len(decompress("snappy", second[4:])) == 40_000 - 32_768


def test_zstd_says_its_content_size_only_in_one_form() -> None:
    """Java streams and so cannot know it; librdkafka knows it."""
    streamed, sized = compress("zstd", bytes(1000)), compress("zstd", bytes(1000), form="sized")

    assert zstandard.frame_content_size(streamed) == -1
    assert zstandard.frame_content_size(sized) == 1000


def test_lz4_has_the_wrong_header_checksum_in_magic_0_only() -> None:
    """Kafka's own frames of magic 0 are read in magic 0 only, and written alike."""
    with gzip.open(RECORDS, "rt", encoding="ascii") as lines:
        line = next(each for each in map(json.loads, lines) if each["case"] == "magic0 lz4")
    message = bytes.fromhex(line["hex"])
    kafkas = message[message.index(bytes.fromhex("04224d18")) :]
    content = decompress("lz4", kafkas, magic=0)

    with pytest.raises(DecodeError, match="headerChecksum"):
        decompress("lz4", kafkas)
    assert compress("lz4", content, magic=0)[:7] == kafkas[:7]
    assert decompress("lz4", compress("lz4", content), magic=0) == content


@pytest.mark.parametrize(("has_size", "checksum_at"), [(True, 14), (False, 6)])
def test_lz4_of_magic_0_may_have_any_header(*, has_size: bool, checksum_at: int) -> None:
    """The header checksum is put right whatever the header's length."""
    written = bytearray(lz4_frame.compress(b"content", store_size=has_size))
    written[checksum_at] ^= 0xFF

    assert decompress("lz4", bytes(written), magic=0) == b"content"


def test_lz4_with_a_dictionary_is_refused() -> None:
    """Nobody has the dictionary that such a frame asks for."""
    written = bytearray(compress("lz4", b"content"))
    written[4] |= 1
    with pytest.raises(DecodeError):
        decompress("lz4", bytes(written), magic=0)


def test_codecs_have_the_numbers_of_the_attributes() -> None:
    """Five of the eight numbers have a codec; the others have a name that none has."""
    assert [name_of(number) for number in range(5)] == list(CODECS)
    with pytest.raises(DecodeError, match=r"no such codec: unknown \(5\)"):
        decompress(name_of(5), b"")


def test_none_is_a_codec_with_a_cap() -> None:
    """Uncompressed bytes are theirs, if there are not too many."""
    assert decompress("none", compress("none", b"abc"), max_bytes=3) == b"abc"
    with pytest.raises(DecodeError, match="more than 2 bytes"):
        decompress("none", b"abc", max_bytes=2)


def test_what_cannot_be_written_is_the_callers_mistake() -> None:
    """There are so many codecs and forms, and no others."""
    with pytest.raises(ValueError, match="no such codec"):
        compress("brotli", b"")
    with pytest.raises(ValueError, match="no form"):
        compress("gzip", b"", form="sized")


def bombs() -> dict[str, list[bytes]]:
    """Return small bytes of each codec that become, or claim to become, very many."""
    zeros = bytes(64 << 20)
    deflate = zlib.compressobj(1, wbits=31)
    block = compress("snappy", zeros, form="raw")
    sized = bytearray(lz4_frame.compress(b"x", store_size=True))
    sized[6:14] = (1 << 60).to_bytes(8, "little")
    return {
        "gzip": [
            deflate.compress(zeros) + deflate.flush(),
            compress("gzip", zeros[: 1 << 20]) * 64,
        ],
        "snappy": [
            b"\xff\xff\xff\xff\x0f" + b"\x00" * 20,
            block,
            XERIAL_HEADER + struct.pack(">i", len(block)) + block,
            XERIAL_HEADER + b"\x7f\xff\xff\xff" + block,
        ],
        "lz4": [compress("lz4", zeros), compress("lz4", zeros[: 1 << 20]) * 64, bytes(sized)],
        "zstd": [
            compress("zstd", zeros),
            compress("zstd", zeros, form="sized"),
            compress("zstd", zeros[: 4 << 20]) * 16,
            # a frame that claims 2^60 bytes of content, and a window of two gigabytes
            bytes.fromhex("28b52ffd e0 0000000000000010 030000"),
            bytes.fromhex("28b52ffd 00 a8 030000"),
        ],
    }


@pytest.mark.thorough
@pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux does")
@pytest.mark.parametrize("codec", FORMS)
def test_bombs_take_no_memory(codec: str, tmp_path: Path) -> None:
    """Of bytes that would become 64 MiB and more, under a cap of 4, a process keeps some 20."""
    paths = []
    for number, bomb in enumerate(bombs()[codec]):
        path = tmp_path / str(number)
        path.write_bytes(bomb)
        paths.append(str(path))
    program = textwrap.dedent("""
        import pathlib, re, sys
        from kdiag.errors import DecodeError
        from kdiag.wire.records.compression import compress, decompress
        def peak_kib():  # getrusage would tell the peak of the parent, too
            status = pathlib.Path("/proc/self/status").read_text()
            return int(re.search(r"VmHWM:\\s+(\\d+)", status)[1])
        codec, *paths = sys.argv[1:]
        decompress(codec, compress(codec, b"warm"))
        bombs = [pathlib.Path(path).read_bytes() for path in paths]
        before = peak_kib()
        for bomb in bombs:
            try:
                print(len(decompress(codec, bomb, max_bytes=4 << 20)))
            except DecodeError:
                print("refused")
        print((peak_kib() - before) >> 10)
    """)
    done = subprocess.run(
        [sys.executable, "-c", program, codec, *paths],
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    *answers, grown_mib = done.stdout.split()

    assert set(answers) == {"refused"}
    assert int(grown_mib) < 20


def test_the_checksum_of_nine_digits_is_the_published_one() -> None:
    """CRC-32C of `123456789` is e3069283, and of nothing 0."""
    assert crc32c(b"123456789") == 0xE3069283
    assert crc32c(memoryview(b"x123456789")[1:]) == 0xE3069283
    assert crc32c(b"") == 0


@for_each("codec", ["gzip", "snappy", "lz4", "zstd"])
@pytest.mark.thorough  # some decompressions of 20 MB
def test_what_a_run_may_spend_limits_what_is_decompressed(codec: str) -> None:
    """It is asked for once more than a little comes out, which is always allowed."""
    before = ALLOWANCE.measure
    copy_context().run(_decompress_within_limits, codec)
    assert ALLOWANCE.measure is before


def _decompress_within_limits(codec: str) -> None:
    asked: list[int] = []
    left = 0

    def measure() -> int:
        asked.append(left)
        return left

    ALLOWANCE.limit(measure)
    little, much = (compress(codec, bytes(size)) for size in (16 << 20, 20_000_000))
    assert len(decompress(codec, little)) == 16 << 20
    assert not asked
    with pytest.raises(DecodeError, match="decompresses to more than 16777216 bytes"):
        decompress(codec, much)
    left = 20_000_000
    assert len(decompress(codec, much)) == left
    with pytest.raises(DecodeError, match="decompresses to more than 19000000 bytes"):
        decompress(codec, much, max_bytes=19_000_000)
    assert len(asked) == 3
