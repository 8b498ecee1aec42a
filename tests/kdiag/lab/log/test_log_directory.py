"""Test intents of Kafka's LogManagerTest; a process that is killed while it appends."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from folders import ROOT
from kdiag.lab.log import log_directory
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.files.checkpoint import read_offsets
from kdiag.lab.log.log_directory import LogDirectory
from kdiag.lab.log.refusal import LogFileError
from made_values.log_maker import clock_at, fill, offsets_of, records_of
from programs.child_program import ChildProgram

SMALL = LogConfig(segment_bytes=500, index_interval_bytes=100)
TOPIC_ID = b"0123456789abcdef"


def opened(folder: Path) -> LogDirectory:
    """Return a folder of logs with small segments."""
    return LogDirectory(folder, clock_at(), lambda _: SMALL)


def test_logs_are_found_again(tmp_path: Path) -> None:
    """With their ends, starts, high watermarks and topic ids."""
    with opened(tmp_path) as logs:
        assert not logs.was_closed
        log = logs.create("orders", 0, SMALL, TOPIC_ID)
        fill(log, 10)
        log.update_high_watermark(8)
        log.increment_log_start(5)
        logs.create("a-b", 12, SMALL)
        logs.cleaned_offsets["orders", 0] = 3
        assert logs.create("orders", 0, SMALL) is log
    with opened(tmp_path) as logs:
        assert logs.was_closed
        assert {*logs.logs} == {("orders", 0), ("a-b", 12)}
        log = logs.logs["orders", 0]
        assert (log.log_start_offset, log.high_watermark, log.log_end_offset) == (5, 8, 10)
        assert log.topic_id == TOPIC_ID
        assert logs.cleaned_offsets == {("orders", 0): 3}
        with pytest.raises(LogFileError, match="another topic"):
            logs.create("orders", 0, SMALL, b"x" * 16)


def test_the_sign_of_a_clean_shutdown_is_there_only_between_runs(tmp_path: Path) -> None:
    """A process that is killed leaves none."""
    marker = tmp_path / log_directory.CLEAN_SHUTDOWN
    logs = opened(tmp_path)
    assert not marker.exists()
    logs.close()
    logs.close()
    assert marker.read_text() == '{"version":0,"brokerEpoch":-1}'
    with opened(tmp_path):
        assert not marker.exists()


def test_starts_at_a_segment_need_no_checkpoint(tmp_path: Path) -> None:
    """They are its name."""
    with opened(tmp_path) as logs:
        for topic, start in (("inside", 5), ("at", 0)):
            log = logs.create(topic, 0, SMALL)
            fill(log, 10)
            log.increment_log_start(start)
        logs.write_checkpoints()
        assert read_offsets(tmp_path / log_directory.LOG_STARTS) == {("inside", 0): 5}
        points = read_offsets(tmp_path / log_directory.RECOVERY_POINTS)
        assert points == {("inside", 0): 0, ("at", 0): 0}


def test_a_deleted_partition_is_gone(tmp_path: Path) -> None:
    """Slices of it stay readable; what a crash left of one is removed at the next start."""
    with opened(tmp_path) as logs:
        log = logs.create("orders", 0, SMALL)
        fill(log, 3)
        read = log.read(0, 1 << 20)
        assert read.slice is not None
        logs.delete("orders", 0)
        logs.delete("never", 0)
        assert read.slice.read()
        assert logs.create("orders", 0, SMALL).log_end_offset == 0
        (tmp_path / "old-0.0123-delete").mkdir()
        (tmp_path / "lost+found").mkdir()
    with opened(tmp_path) as logs:
        assert {*logs.logs} == {("orders", 0)}
        assert {path.name for path in tmp_path.iterdir() if path.is_dir()} == {
            "orders-0",
            "lost+found",
        }


def test_a_log_that_cannot_be_opened_leaves_the_others_alone(tmp_path: Path) -> None:
    """Its partition is offline; and there was no clean shutdown, whoever looks next."""
    with opened(tmp_path) as logs:
        logs.create("good", 0, SMALL)
        logs.create("bad", 0, SMALL, TOPIC_ID)
    (tmp_path / "bad-0" / "partition.metadata").write_text("?")
    with opened(tmp_path) as logs:
        assert {*logs.logs} == {("good", 0)}
        with pytest.raises(LogFileError, match=r"partition\.metadata"):
            logs.create("bad", 0, SMALL)
    with opened(tmp_path) as logs:
        assert not logs.was_closed


def test_a_damaged_checkpoint_is_said(tmp_path: Path) -> None:
    """And the lock is given back."""
    opened(tmp_path).close()
    path = tmp_path / log_directory.RECOVERY_POINTS
    path.write_text("?")
    with pytest.raises(LogFileError, match=path.name):
        opened(tmp_path)
    path.unlink()
    opened(tmp_path).close()


APPENDER = """
import sys
from pathlib import Path
from kdiag.clock import SystemClock
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.log_directory import LogDirectory
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch

config = LogConfig(segment_bytes=20_000, index_interval_bytes=500)
logs = LogDirectory(Path(sys.argv[1]), SystemClock(), lambda _: config)
log = logs.create("orders", 0, config)
entry = log.producers.producers.get(7)
sequence = 0 if entry is None else entry.last_sequence + 1
while True:
    header = BatchHeader(producer_id=7, producer_epoch=0, base_sequence=sequence)
    data = write_batch([Record(0, log.now_ms, None, b"%d" % sequence + b"." * 50)], header)
    info = log.append_as_leader(data, 0)
    print(info.first_offset, sequence, flush=True)
    sequence += 1
"""


def acknowledged(folder: Path, count: int) -> list[list[int]]:
    """Return offset and sequence of each append of a program that is killed after so many."""
    command = [sys.executable, "-c", APPENDER, str(folder)]
    environment = {"PYTHONPATH": str(ROOT)}
    with ChildProgram(command, stdout=subprocess.PIPE, cwd=ROOT, env=environment) as child:
        assert child.stdout is not None
        lines = [child.stdout.readline() for _ in range(count)]
        child.kill()
        lines += child.stdout.read().splitlines(keepends=True)
    return [[*map(int, line.split())] for line in lines if line.endswith(b"\n")]


@pytest.mark.thorough
def test_kill_9_loses_nothing_that_was_acknowledged(tmp_path: Path) -> None:
    """Nor is anything there twice, whenever the process is killed, and again."""
    seen: list[list[int]] = []
    for round_number, count in enumerate((1, 137, 500)):
        more = acknowledged(tmp_path / "data", count)
        assert len(more) >= count
        seen += more
        copied = shutil.copytree(tmp_path / "data", tmp_path / f"copy-{round_number}")
        with opened(copied) as logs:
            records = records_of(logs.logs["orders", 0])
        assert [record.offset for record in records] == [*range(len(records))]
        assert [record.value for record in records] == [
            b"%d" % at + b"." * 50 for at in range(len(records))
        ]
        assert all(offset == sequence < len(records) for offset, sequence in seen)


@pytest.mark.thorough
def test_a_folder_belongs_to_one_process(tmp_path: Path) -> None:
    """Another one is told so, and what to do."""
    with opened(tmp_path) as logs:
        fill(logs.create("orders", 0, SMALL), 3)
        child = subprocess.run(
            [sys.executable, "-c", APPENDER, str(tmp_path)],
            capture_output=True,
            text=True,
            check=False,
            cwd=ROOT,
            env={"PYTHONPATH": str(ROOT)},
        )
        assert "another process has these logs open" in child.stderr
        assert offsets_of(logs.logs["orders", 0]) == [0, 1, 2]
