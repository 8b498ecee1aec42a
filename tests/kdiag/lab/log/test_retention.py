"""Test intents of Kafka's UnifiedLogTest: which segments are deleted."""

from pathlib import Path

import pytest

from kdiag.clock import NS_PER_MS
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.retention import delete_old_segments
from kdiag.wire.records.record import BatchHeader
from made_values.log_maker import clock_at, fill, offsets_of, open_log, produced, values_of

HOUR_MS = 60 * 60 * 1000
BATCHES_IN_SEGMENT = 2


def config(**settings: object) -> LogConfig:
    """Return settings with two batches in a segment."""
    return LogConfig(segment_bytes=400, **settings)  # type: ignore[arg-type]


def test_nothing_is_deleted_before_its_time(tmp_path: Path) -> None:
    """Then the segments whose newest record is older, all of them if need be."""
    clock = clock_at()
    log = open_log(tmp_path, config(retention_ms=HOUR_MS), clock=clock)
    fill(log, 6)
    clock.advance((HOUR_MS + 1) * NS_PER_MS)
    assert delete_old_segments(log) == 0
    clock.advance(2 * NS_PER_MS)
    assert delete_old_segments(log) == 1
    assert (log.log_start_offset, offsets_of(log)) == (2, [2, 3, 4, 5])
    clock.advance(HOUR_MS * NS_PER_MS)
    assert delete_old_segments(log) == 2
    assert (log.log_start_offset, log.log_end_offset, log.size_in_bytes) == (6, 6, 0)
    assert log.append_as_leader(produced(b"a"), 0).first_offset == 6
    assert delete_old_segments(log) == 0


def test_the_rest_is_at_least_as_large_as_the_limit(tmp_path: Path) -> None:
    """A segment goes only if enough is left without it."""
    log = open_log(tmp_path, config())
    fill(log, 9)
    size = log.segments.first.size
    log.config = config(retention_bytes=log.size_in_bytes - size + 1)
    assert delete_old_segments(log) == 0
    log.config = config(retention_bytes=log.size_in_bytes - 2 * size)
    assert delete_old_segments(log) == 2
    assert log.log_start_offset == 4


def test_minus_1_keeps_everything(tmp_path: Path) -> None:
    """Whatever the age."""
    clock = clock_at()
    log = open_log(tmp_path, config(retention_ms=-1), clock=clock)
    fill(log, 9)
    clock.advance(10_000 * HOUR_MS * NS_PER_MS)
    assert delete_old_segments(log) == 0


def test_what_is_not_replicated_is_kept(tmp_path: Path) -> None:
    """Up to the high watermark only."""
    log = open_log(tmp_path, config(retention_bytes=0))
    fill(log, 8)
    log.update_high_watermark(5)
    assert delete_old_segments(log) == 2
    assert log.log_start_offset == 4


@pytest.mark.parametrize("policy", ["delete", "compact"])
def test_segments_before_the_start_are_deleted_under_any_policy(
    tmp_path: Path, policy: str
) -> None:
    """They are of no use: nobody can read them."""
    settings = config(cleanup_policy=frozenset({policy}))
    log = open_log(tmp_path, settings)
    fill(log, 8)
    log.increment_log_start(5)
    assert delete_old_segments(log) == 2
    assert (log.segments.first.base_offset, log.log_start_offset) == (4, 5)
    assert offsets_of(log) == [5, 6, 7] or offsets_of(log)[0] == 4


def test_a_compacted_log_keeps_what_is_old(tmp_path: Path) -> None:
    """Unless its policy says both."""
    clock = clock_at()
    log = open_log(tmp_path, config(cleanup_policy=frozenset({"compact"})), clock=clock)
    fill(log, 4)
    clock.advance(10_000 * HOUR_MS * NS_PER_MS)
    assert delete_old_segments(log) == 0
    log.config = config(cleanup_policy=frozenset({"compact", "delete"}))
    assert delete_old_segments(log) == 2


def test_messages_without_timestamps_age_by_their_file(tmp_path: Path) -> None:
    """Magic 0 has none: when the file was last modified counts."""
    clock = clock_at(0)
    log = open_log(tmp_path, config(retention_ms=HOUR_MS), clock=clock)
    for _ in range(3):
        log.append_as_leader(produced(b"v" * 300, header=BatchHeader(magic=0)), 0)
    log.update_high_watermark(3)
    assert delete_old_segments(log) == 0
    clock.advance((log.segments.active.last_modified_ms + HOUR_MS + 1) * NS_PER_MS)
    assert delete_old_segments(log) == 3


def test_a_slice_outlives_its_segment(tmp_path: Path) -> None:
    """A response may still be on its way."""
    log = open_log(tmp_path, config(retention_bytes=0))
    fill(log, 4)
    read = log.read(0, 1 << 20)
    assert read.slice is not None
    before = read.slice.read()
    delete_old_segments(log)
    assert values_of(log) == []
    assert read.slice.read() == before
    assert not list(tmp_path.glob("*00.snapshot"))
