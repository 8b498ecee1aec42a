import struct
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag.pipeline.input.split import walk
from kdiag.report.capture import open_capture
from kdiag.report.tables.captures import capture_row

EMPTY = struct.pack("<IHHiIII", 0xA1B2C3D4, 2, 4, 0, 0, 65535, 1)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return a folder of three captures: whole, cut, and without packets."""
    whole = (CAPTURES / "acks.pcap").read_bytes()
    (tmp_path / "a.pcap").write_bytes(whole)
    (tmp_path / "b.pcap").write_bytes(whole[:-10])
    (tmp_path / "c.pcap").write_bytes(EMPTY)
    return tmp_path


def test_what_was_looked_at_is_told(folder: Path) -> None:
    """Also where nothing was in it, or not all of it could be read."""
    rows = open_capture(folder).tables()["captures"].to_pylist()
    a, b, c = sorted(rows, key=lambda row: str(row["file"]))

    assert [Path(row["file"]).name for row in (a, b, c)] == ["a.pcap", "b.pcap", "c.pcap"]
    assert (a["damage"], b["packets"]) == (None, a["packets"] - 1)
    assert "ends within a packet" in b["damage"]
    assert a["size_bytes"] == b["size_bytes"] + 10
    assert a["first_ns"] < a["last_ns"]
    assert (c["packets"], c["first_ns"], c["last_time"]) == (0, None, None)
    assert c["modified_ns"] == (folder / "c.pcap").stat().st_mtime_ns


def test_a_walk_tells_the_same_as_who_reads_all(folder: Path) -> None:
    """However small its splits are."""
    capture = open_capture(folder)
    list(capture.items())
    read = {each.name: capture_row(each) for each in capture.files}

    for name, row in read.items():
        assert capture_row(walk(name, 1 << 10).file) == row
