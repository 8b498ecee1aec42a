import time
from pathlib import Path

import msgspec
import pytest

from kdiag.errors import ReportError
from kdiag.pipeline.streams.capture_log import (
    CaptureContent,
    CaptureLog,
    FolderRules,
    LoggedCapture,
)
from spark_runs.folder_captures import NOW_NS, pcap, write

MINUTE_NS = 60_000_000_000
RULES = FolderRules(quiet_ns=MINUTE_NS, wait_ns=10 * MINUTE_NS)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Return the folder that captures appear in."""
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


def log_of(folder: Path, rules: FolderRules = RULES) -> CaptureLog:
    """Return the log of a folder; a stream that is started again has a new one."""
    return CaptureLog(str(folder), f"{folder.parent}/log.json", rules)


def poll(folder: Path, rules: FolderRules = RULES) -> list[tuple[str, CaptureContent]]:
    """Return the entries of the log after a poll."""
    entries = log_of(folder, rules).poll(NOW_NS)
    return [(each.uri.removeprefix(f"{folder}/"), each.content) for each in entries]


def test_two_hosts_may_write_into_one_folder(folder: Path) -> None:
    """A capture waits until it is quiet itself, whatever is written after it by others."""
    write(folder / "host-a.pcap", pcap("half"), age_s=10)
    write(folder / "host-b.pcap", pcap("later"), age_s=5)
    assert poll(folder) == []
    assert len(log_of(folder).waiting()) == 2
    write(folder / "host-a.pcap", pcap("half", "and half"), age_s=61)
    assert poll(folder) == [("host-a.pcap", CaptureContent.NEW)]


def test_a_copy_that_ends_within_a_packet_is_waited_for(folder: Path) -> None:
    """However long it pauses, up to a limit; then it is read as far as it goes."""
    whole = pcap("one", "two", "three")
    copy = folder / "copy.pcap"
    log = log_of(folder)
    for size in (0, 10, len(whole) - 1):
        write(copy, whole[:size], age_s=500)
        assert log.poll(NOW_NS) == log.poll(NOW_NS) == []
    assert log.waiting() == [str(copy)]
    write(copy, whole, age_s=100)
    assert poll(folder) == [("copy.pcap", CaptureContent.NEW)]
    write(folder / "cut.pcap", whole[:-1], age_s=601)
    assert poll(folder)[1:] == [("cut.pcap", CaptureContent.NEW)]
    assert log_of(folder).waiting() == []


def test_what_is_no_capture_is_left_out_and_told(folder: Path) -> None:
    """It ends no stream; an empty file may still become a capture."""
    write(folder / "notes.txt", b"no capture, but long enough to be looked into\n")
    write(folder / "empty.pcap", b"", age_s=601)
    write(folder / "new.pcap", b"")

    assert poll(folder) == [
        ("empty.pcap", CaptureContent.FOREIGN),
        ("notes.txt", CaptureContent.FOREIGN),
    ]
    assert log_of(folder).waiting() == [f"{folder}/new.pcap"]


@pytest.mark.parametrize(
    ("name", "pattern", "host"),
    [
        ("a.pcap", "", ""),
        ("broker-1/a.pcap", "", "broker-1"),
        ("broker-1-15:00.pcap", r"^(.*?)-\d\d:", "broker-1"),
        ("broker-1/a.pcap", r"broker-\d", "broker-1"),
        ("other/a.pcap", r"broker-\d", "other"),
    ],
)
def test_a_capture_belongs_to_a_host(folder: Path, name: str, pattern: str, host: str) -> None:
    """To that of its folder, or of its name."""
    write(folder / name, pcap("a"))
    (entry,) = log_of(folder, RULES._replace(host_of=pattern)).poll(NOW_NS)

    assert (entry.uri, entry.host) == (f"{folder}/{name}", host)


def test_a_name_that_is_reused_is_read_again(folder: Path) -> None:
    """`tcpdump -W 2` writes into the same names forever."""
    ring = folder / "ring.pcap0"
    write(ring, pcap("first round"), age_s=300)
    assert poll(folder) == [("ring.pcap0", CaptureContent.NEW)]
    write(ring, pcap("second round"), age_s=200)
    assert poll(folder) == [("ring.pcap0", CaptureContent.NEW)] * 2
    write(ring, pcap("another time"), age_s=100)  # of the same size
    assert poll(folder) == [("ring.pcap0", CaptureContent.NEW)] * 3
    assert poll(folder) == [("ring.pcap0", CaptureContent.NEW)] * 3


def test_a_capture_that_grows_after_it_was_read_is_told(folder: Path) -> None:
    """Reading it again would double what was read already."""
    copy = folder / "copy.pcap"
    half = "half" * 64
    write(copy, pcap(half), age_s=300)
    assert poll(folder) == [("copy.pcap", CaptureContent.NEW)]
    write(copy, pcap(half, "and half"), age_s=200)
    assert poll(folder) == [
        ("copy.pcap", CaptureContent.NEW),
        ("copy.pcap", CaptureContent.CHANGED),
    ]
    write(copy, pcap(half, "and half"), age_s=100)  # only touched
    assert poll(folder)[2:] == [("copy.pcap", CaptureContent.SAME)]
    assert len(poll(folder)) == 3


def test_a_log_without_sizes_is_read(folder: Path) -> None:
    """As older streams wrote it: its captures are known by their names."""
    write(folder / "a.pcap", pcap("a"))
    (folder.parent / "log.json").write_text(f'["{folder}/a.pcap"]')
    assert poll(folder) == [("a.pcap", CaptureContent.NEW)]
    write(folder / "b.pcap", pcap("b"))
    assert [name for name, _ in poll(folder)] == ["a.pcap", "b.pcap"]


def test_a_log_that_cannot_be_read_is_an_error(folder: Path) -> None:
    """To begin anew would double all rows."""
    (folder.parent / "log.json").write_text('{"captures": 7}')
    with pytest.raises(ReportError, match="another release"):
        poll(folder)


@pytest.mark.bench
def test_known_captures_are_polled_at_forty_thousand_a_second(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of them is opened; only their names, sizes and times are looked at."""
    monkeypatch.chdir(folder)  # short names are made three times as fast
    known = []
    for number in range(4_000):
        file = Path(f"{number}.pcap")
        file.touch()
        mtime_ns = file.stat().st_mtime_ns
        known.append(LoggedCapture(f"{folder}/{file}", 0, mtime_ns, "of nothing"))
    entries = msgspec.json.encode({"captures": known, "schema": 1})
    (folder.parent / "log.json").write_bytes(entries)
    log = log_of(folder)
    began = time.process_time()
    assert len(log.poll(time.time_ns() + 2 * MINUTE_NS)) == 4_000
    took_s = time.process_time() - began
    assert took_s < 0.1
