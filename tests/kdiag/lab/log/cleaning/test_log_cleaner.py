import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from kdiag.clock import ManualClock
from kdiag.lab.log.cleaning.log_cleaner import BACKOFF_NS, LogCleaner
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.log_directory import LogDirectory
from kdiag.lab.log.partition_log import PartitionLog
from made_values.log_maker import clock_at, produced, records_of

COMPACTED = LogConfig(cleanup_policy=frozenset({"compact"}), segment_bytes=1 << 20)
WORDS = ("words", 0)


@pytest.fixture
def clock() -> ManualClock:
    """Return a clock that stands."""
    return clock_at(1_700_000_000_000)


@pytest.fixture
def logs(tmp_path: Path, clock: ManualClock) -> Iterator[LogDirectory]:
    """Return the folder of a broker, without logs."""
    with LogDirectory(tmp_path, clock) as opened:
        yield opened


def dirty_log(logs: LogDirectory, topic: str = "words") -> PartitionLog:
    """Return a log in which each of two keys has three records, in segments that are full."""
    log = logs.create(topic, 0, COMPACTED)
    for number in range(6):
        log.append_as_leader(produced(b"%d" % number, key=b"%d" % (number % 2)), 0)
        log.update_high_watermark(log.log_end_offset)
        log.roll()
    return log


def values_of(log: PartitionLog) -> list[bytes | None]:
    """Return what is left."""
    return [record.value for record in records_of(log)]


def run(cleaner: LogCleaner, clock: ManualClock) -> int:
    """Have it clean until it rests; return how many calls that took."""
    clock.advance(BACKOFF_NS)
    calls = 0
    while cleaner.advance() <= clock.monotonic_ns():
        calls += 1
        assert calls < 1000
    return calls


def test_a_dirty_log_is_cleaned_when_it_is_time(logs: LogDirectory, clock: ManualClock) -> None:
    """Not before, and in more than one step; the checkpoint tells up to where."""
    log = dirty_log(logs)
    cleaner = LogCleaner(logs, clock)
    assert cleaner.advance() == clock.monotonic_ns() + BACKOFF_NS
    assert len(values_of(log)) == 6
    assert run(cleaner, clock) > 2
    assert values_of(log) == [b"4", b"5"]
    assert logs.cleaned_offsets == {WORDS: 6}
    assert cleaner.cleaned_count == 1


@pytest.mark.thorough
def test_every_log_that_is_due_gets_its_turn(logs: LogDirectory, clock: ManualClock) -> None:
    """And one that is not compacted keeps all."""
    cleaner = LogCleaner(logs, clock)
    kept = dirty_log(logs, "kept")
    kept.config = LogConfig()
    cleaned = [dirty_log(logs, name) for name in ("a", "b")]
    run(cleaner, clock)
    assert [values_of(log) for log in cleaned] == [[b"4", b"5"]] * 2
    assert len(values_of(kept)) == 6
    run(cleaner, clock)
    assert cleaner.cleaned_count == 2


def test_a_topic_that_is_deleted_meanwhile_is_left_alone(
    logs: LogDirectory, clock: ManualClock, tmp_path: Path
) -> None:
    """One of the same name that comes after it has nothing to do with it."""
    dirty_log(logs)
    cleaner = LogCleaner(logs, clock)
    clock.advance(BACKOFF_NS)
    assert cleaner.advance() <= clock.monotonic_ns()
    logs.delete(*WORDS)
    new = logs.create(*WORDS, COMPACTED)
    run(cleaner, clock)
    assert cleaner.cleaned_count == 0
    assert logs.cleaned_offsets == {}
    assert new.log_end_offset == 0
    assert [path.name for path in tmp_path.rglob("*.cleaned")] == []


def test_a_damaged_log_is_passed_over(
    logs: LogDirectory, clock: ManualClock, caplog: pytest.LogCaptureFixture
) -> None:
    """It is said once, and others are cleaned."""
    damaged, sound = dirty_log(logs, "damaged"), dirty_log(logs, "sound")
    path = damaged.segments.first.log.path
    data = bytearray(path.read_bytes())
    data[16] = 9  # no such magic
    path.write_bytes(data)
    cleaner = LogCleaner(logs, clock)
    with caplog.at_level(logging.WARNING):
        run(cleaner, clock)
        run(cleaner, clock)
    assert [*cleaner.uncleanable] == [("damaged", 0)]
    assert caplog.text.count("damaged-0 is not compacted any more") == 1
    assert values_of(sound) == [b"4", b"5"]
