import os
import time
from pathlib import Path

import pytest

from kdiag.errors import ReportError
from kdiag.pipeline.input.capture_log import CaptureContent, CaptureLog

MINUTE_NS = 60_000_000_000
NOW_NS = 1_800_000_000_000_000_000
_S = 1_000_000_000


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder that captures appear in."""
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def write(file: Path, content: bytes, age_s: int = 100) -> None:
    """Write a capture so many seconds before now."""
    file.write_bytes(content)
    os.utime(file, ns=(NOW_NS - age_s * _S, NOW_NS - age_s * _S))


def log_of(folder: Path) -> CaptureLog:
    """Return the log of a folder; a stream that is started again has a new one."""
    return CaptureLog(str(folder), f"{folder.parent}/log.json", MINUTE_NS)


def poll(folder: Path) -> list[tuple[str, CaptureContent]]:
    """Return the entries of the log after a poll."""
    return [(Path(each.uri).name, each.content) for each in log_of(folder).poll(NOW_NS)]


def test_two_hosts_may_write_into_one_folder(folder: Path) -> None:
    """A capture waits until it is quiet itself, whatever is written after it by others."""
    write(folder / "host-a.pcap", b"half", age_s=10)
    write(folder / "host-b.pcap", b"later", age_s=5)
    assert poll(folder) == []
    write(folder / "host-a.pcap", b"half and half", age_s=61)
    assert poll(folder) == [("host-a.pcap", CaptureContent.NEW)]


def test_a_name_that_is_reused_is_read_again(folder: Path) -> None:
    """`tcpdump -W 2` writes into the same names forever."""
    ring = folder / "ring.pcap0"
    write(ring, b"first round", age_s=300)
    assert poll(folder) == [("ring.pcap0", CaptureContent.NEW)]
    write(ring, b"second round", age_s=200)
    assert poll(folder) == [("ring.pcap0", CaptureContent.NEW)] * 2
    write(ring, b"another time", age_s=100)  # of the same size
    assert poll(folder) == [("ring.pcap0", CaptureContent.NEW)] * 3
    assert poll(folder) == [("ring.pcap0", CaptureContent.NEW)] * 3


def test_a_capture_that_grows_after_it_was_read_is_told(folder: Path) -> None:
    """Reading it again would double what was read already."""
    copy = folder / "copy.pcap"
    head = bytes(range(256))
    write(copy, head + b"half", age_s=300)
    assert poll(folder) == [("copy.pcap", CaptureContent.NEW)]
    write(copy, head + b"half and half", age_s=200)
    assert poll(folder) == [
        ("copy.pcap", CaptureContent.NEW),
        ("copy.pcap", CaptureContent.CHANGED),
    ]
    write(copy, head + b"half and half", age_s=100)  # only touched
    assert poll(folder)[2:] == [("copy.pcap", CaptureContent.SAME)]
    assert len(poll(folder)) == 3


def test_a_log_without_sizes_is_read(folder: Path) -> None:
    """As older streams wrote it: its captures are known by their names."""
    write(folder / "a.pcap", b"a")
    (folder.parent / "log.json").write_text(f'["{folder}/a.pcap"]')
    assert poll(folder) == [("a.pcap", CaptureContent.NEW)]
    write(folder / "b.pcap", b"b")
    assert [name for name, _ in poll(folder)] == ["a.pcap", "b.pcap"]


def test_a_log_that_cannot_be_read_is_an_error(folder: Path) -> None:
    """To begin anew would double all rows."""
    (folder.parent / "log.json").write_text('{"captures": 7}')
    with pytest.raises(ReportError, match="another release"):
        poll(folder)


def test_forty_thousand_known_captures_are_polled_in_a_second(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of them is opened; only their names, sizes and times are looked at."""
    monkeypatch.chdir(folder)  # short names are made three times as fast
    for number in range(40_000):
        Path(f"{number}.pcap").touch()
    log = log_of(folder)
    now_ns = time.time_ns() + 2 * MINUTE_NS
    assert len(log.poll(now_ns)) == 40_000
    began = time.process_time()
    assert len(log.poll(now_ns)) == 40_000
    assert time.process_time() - began < 1
