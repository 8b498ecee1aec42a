import resource
from pathlib import Path

import pytest

from kdiag.errors import CaptureError
from kdiag.pcap.reader import CaptureReader
from kdiag.pcap.writer.savefile import LINKTYPE_RAW, SavefileWriter, file_header
from recordings.capture_writer import NANOSECONDS, Packet, savefile


def test_packets_are_written_with_nanoseconds(tmp_path: Path) -> None:
    """The file is the one that the format asks for, byte by byte."""
    packets = [Packet(b"one", 1_700_000_000_123_456_789), Packet(b"", 1_700_000_001_000_000_000)]
    path = tmp_path / "kept.pcap"

    with SavefileWriter(path, LINKTYPE_RAW) as writer:
        for packet in packets:
            writer.packet(packet.data, packet.time_ns)

    assert path.read_bytes() == savefile(packets, magic=NANOSECONDS, link_type=LINKTYPE_RAW)


def test_a_file_is_valid_before_its_first_packet(tmp_path: Path) -> None:
    """Whoever is killed at once leaves an empty capture."""
    path = tmp_path / "kept.pcap"

    with SavefileWriter(path, 1):
        assert path.read_bytes() == file_header(1) == savefile([], magic=NANOSECONDS)


def test_what_was_flushed_is_in_the_file(tmp_path: Path) -> None:
    """It can be read while more is written."""
    path = tmp_path / "kept.pcap"

    with SavefileWriter(path, 1) as writer:
        writer.packet(b"one", 0)
        writer.flush()
        assert path.read_bytes().endswith(b"one")


def test_a_file_that_cannot_be_opened_is_named(tmp_path: Path) -> None:
    """The system's reason follows."""
    with pytest.raises(CaptureError, match=r"none/kept.pcap: cannot be written: No such file"):
        SavefileWriter(tmp_path / "none" / "kept.pcap", 1)


def test_a_full_disk_is_told_at_once() -> None:
    """The first bytes already go to the file."""
    full = Path("/dev/full")
    if not full.exists():
        pytest.skip("this system has no /dev/full")
    with pytest.raises(CaptureError, match=r"/dev/full: cannot be written: No space left"):
        SavefileWriter(full, 1)


@pytest.mark.parametrize("step", ["packet", "flush", "close"])
def test_a_disk_that_becomes_full_is_told_whatever_is_done(tmp_path: Path, step: str) -> None:
    """Nothing but kdiag's own error comes out, and the file is closed."""
    limit = resource.getrlimit(resource.RLIMIT_FSIZE)
    writer = SavefileWriter(tmp_path / "kept.pcap", 1)
    writer.packet(bytes(100), 0)
    resource.setrlimit(resource.RLIMIT_FSIZE, (30, limit[1]))
    try:
        with pytest.raises(CaptureError, match=r"kept.pcap: cannot be written: File too large"):
            _do(writer, step)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limit)


def _do(writer: SavefileWriter, step: str) -> None:
    if step == "packet":
        writer.packet(bytes(1 << 20), 0)
    elif step == "flush":
        writer.flush()
    else:
        writer.close()


def test_a_pcapng_is_read_back(tmp_path: Path) -> None:
    """Its name decides; packets are padded to words, and keep their nanoseconds."""
    path = tmp_path / "kept.pcapng"
    packets = [(b"one", 1_700_000_000_123_456_789), (b"four", 1_700_000_001_000_000_000)]
    with SavefileWriter(path, LINKTYPE_RAW) as writer:
        for data, time_ns in packets:
            writer.packet(data, time_ns)
    found = []
    for block, _ in CaptureReader([path]).read_blocks():
        for start, size, time_ns in zip(block.offset, block.captured, block.time_ns, strict=True):
            found.append((block.data[start : start + size].tobytes(), int(time_ns)))
    assert found == packets
