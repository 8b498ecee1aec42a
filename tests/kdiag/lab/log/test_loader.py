"""Test intents of Kafka's LogLoaderTest: opening a log after a shutdown, a crash, a compaction.

Left out: splitting a segment whose offsets exceed 31 bits (releases before 1.1 made such ones; here
it is cut as damage), and formats before snapshots of producers.
"""

from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kdiag.errors import KdiagError
from kdiag.lab.log.config import LogConfig
from kdiag.lab.log.loader import LogOrigin
from kdiag.lab.log.partition_log import PartitionLog
from kdiag.lab.log.refusal import LogFileError
from kdiag.wire.records.record import ControlType
from made_values.log_maker import (
    end_transaction,
    fill,
    offsets_of,
    open_log,
    produced,
    replicated,
    written_by,
)

SMALL = LogConfig(segment_bytes=500, index_interval_bytes=100)
CLOSED = LogOrigin(was_closed=True)


def closed_log(folder: Path, count: int = 10) -> PartitionLog:
    """Return a log of some batches, closed."""
    log = open_log(folder, SMALL)
    fill(log, count)
    log.close()
    return log


def last_log_file(folder: Path) -> Path:
    """Return the .log of the active segment."""
    return max(folder.glob("*.log"))


@pytest.mark.sampled(20)
@pytest.mark.parametrize("cut", range(1, 345))
def test_a_torn_tail_costs_only_the_torn_batch(tmp_path: Path, cut: int) -> None:
    """Wherever the last segment is cut, whole batches before it stay, also after another start."""
    log = open_log(tmp_path, SMALL)
    fill(log, 10)
    path = last_log_file(tmp_path)
    data = path.read_bytes()
    size = len(data) // (10 - log.segments.active.base_offset)
    path.write_bytes(data[: max(0, len(data) - cut)])
    whole = max(0, len(data) - cut) // size
    expected = [*range(log.segments.active.base_offset + whole)]
    again = open_log(tmp_path, SMALL)
    assert offsets_of(again) == expected
    assert again.append_as_leader(produced(b"next"), 0).first_offset == len(expected)
    assert offsets_of(open_log(tmp_path, SMALL)) == [*expected, len(expected)]


def test_garbage_after_the_last_batch_is_cut(tmp_path: Path) -> None:
    """Also where the last process said that it had closed the log."""
    for origin in (LogOrigin(), CLOSED):
        closed_log(tmp_path)
        path = last_log_file(tmp_path)
        size = path.stat().st_size
        with path.open("ab") as file:
            file.write(b"\xff" * 100)
        assert offsets_of(open_log(tmp_path, SMALL, origin=origin))[-1] >= 9
        assert path.stat().st_size == size


def test_what_follows_a_damaged_segment_is_deleted(tmp_path: Path) -> None:
    """As Kafka does: offsets have no holes."""
    log = closed_log(tmp_path)
    first = tmp_path / f"{0:020d}.log"
    data = bytearray(first.read_bytes())
    data[-1] ^= 1
    first.write_bytes(data)
    again = open_log(tmp_path, SMALL)
    assert again.log_end_offset == log.segments.base_offsets[1] - 1
    assert again.segments.base_offsets == [0]
    assert {path.stem for path in tmp_path.glob("0*")} <= {
        f"{0:020d}",
        f"{again.log_end_offset:020d}",
    }


def test_what_was_flushed_is_not_read_again(tmp_path: Path) -> None:
    """Damage before the recovery point is found by whoever reads it."""
    log = closed_log(tmp_path)
    first = tmp_path / f"{0:020d}.log"
    data = bytearray(first.read_bytes())
    data[-1] ^= 1
    first.write_bytes(data)
    origin = LogOrigin(recovery_point=log.segments.base_offsets[1])
    again = open_log(tmp_path, SMALL, origin=origin)
    assert again.log_end_offset == 10
    assert again.recovery_point == log.segments.base_offsets[1]


@pytest.mark.parametrize("suffix", ["index", "timeindex"])
@pytest.mark.parametrize("origin", [LogOrigin(), CLOSED], ids=["killed", "closed"])
def test_missing_indexes_are_made_anew(tmp_path: Path, suffix: str, origin: LogOrigin) -> None:
    """Byte for byte as they were."""
    closed_log(tmp_path)
    before = {path: path.read_bytes() for path in tmp_path.glob(f"*.{suffix}")}
    for path in before:
        path.unlink()
    again = open_log(tmp_path, SMALL, origin=origin)
    assert offsets_of(again) == [*range(10)]
    again.close()
    assert {path: path.read_bytes() for path in tmp_path.glob(f"*.{suffix}")} == before


def test_indexes_without_a_log_are_removed(tmp_path: Path) -> None:
    """So are leftovers of deletions; other files stay."""
    closed_log(tmp_path)
    orphans = [f"{99:020d}.index", f"{99:020d}.txnindex", f"{0:020d}.log.deleted"]
    for name in (*orphans, "notes.txt"):
        (tmp_path / name).write_bytes(b"?")
    again = open_log(tmp_path, SMALL, origin=CLOSED)
    assert offsets_of(again) == [*range(10)]
    assert [name for name in orphans if (tmp_path / name).exists()] == []
    assert (tmp_path / "notes.txt").exists()


@pytest.mark.parametrize("origin", [LogOrigin(), CLOSED], ids=["killed", "closed"])
def test_transactions_survive(tmp_path: Path, origin: LogOrigin) -> None:
    """Open ones, aborted ones, and what their index says of the last stable offset."""
    log = open_log(tmp_path, SMALL)
    log.append_as_leader(produced(b"a" * 200, header=written_by(1, 0, in_transaction=True)), 0)
    log.append_as_leader(produced(b"b" * 200, header=written_by(2, 0, in_transaction=True)), 0)
    end_transaction(log, 2, ControlType.ABORT)
    log.append_as_leader(produced(b"c" * 200, header=written_by(3, 0, in_transaction=True)), 0)
    end_transaction(log, 3, ControlType.COMMIT)
    expected = log.aborted_transactions(0, 99)
    assert [each[:4] for each in expected] == [(2, 1, 2, 0)]
    if origin.was_closed:
        log.close()
    again = open_log(tmp_path, SMALL, origin=origin)
    again.update_high_watermark(again.log_end_offset)
    assert again.last_stable_offset == 0
    assert again.aborted_transactions(0, 99) == expected
    duplicate = produced(b"a" * 200, header=written_by(1, 0, in_transaction=True))
    assert again.append_as_leader(duplicate, 0).is_duplicate


def test_without_snapshots_producers_come_from_the_batches(tmp_path: Path) -> None:
    """All of them are read then."""
    log = open_log(tmp_path, SMALL)
    for at in range(10):
        log.append_as_leader(produced(b"v" * 100, header=written_by(7, at)), 0)
    log.close()
    for path in tmp_path.glob("*.snapshot"):
        path.unlink()
    again = open_log(tmp_path, SMALL, origin=CLOSED)
    assert [batch.last_sequence for batch in again.producers.producers[7].batches] == [
        5,
        6,
        7,
        8,
        9,
    ]


def test_a_start_beyond_the_end_begins_anew(tmp_path: Path) -> None:
    """Segment files were deleted by hand, say; the epochs are not those of the new log."""
    closed_log(tmp_path)
    again = open_log(tmp_path, SMALL, origin=LogOrigin(log_start_offset=50))
    assert (again.log_start_offset, again.log_end_offset) == (50, 50)
    assert again.epochs.entries == []
    assert again.segments.base_offsets == [50]


def test_a_start_inside_the_log_is_kept(tmp_path: Path) -> None:
    """Records were deleted up to there; the epoch begins there now."""
    closed_log(tmp_path)
    again = open_log(tmp_path, SMALL, origin=LogOrigin(log_start_offset=5))
    assert again.log_start_offset == 5
    assert again.epochs.entries == [(0, 5)]
    assert open_log(tmp_path / "new-0", origin=LogOrigin(log_start_offset=7)).log_end_offset == 7


def renamed(folder: Path, base_offset: int, state: str) -> None:
    """Give the files of a segment a state."""
    for path in folder.glob(f"{base_offset:020d}.*"):
        if path.suffix != ".snapshot":
            path.rename(path.with_name(path.name + state))


def test_a_swap_that_only_had_to_be_renamed_is_finished(tmp_path: Path) -> None:
    """It takes the place of the segments that it was made from."""
    log = closed_log(tmp_path)
    second = log.segments.base_offsets[1]
    merged = open_log(tmp_path / "merged-0", LogConfig())
    for offset in (0, second):
        merged.append_as_follower(replicated(offset, b"kept"))
    merged.close()
    for suffix in (".log", ".index", ".timeindex"):
        data = (tmp_path / "merged-0" / f"{0:020d}{suffix}").read_bytes()
        (tmp_path / f"{0:020d}{suffix}.swap").write_bytes(data)
    again = open_log(tmp_path, SMALL, origin=CLOSED)
    assert offsets_of(again)[:2] == [0, second]
    assert again.segments.base_offsets == [0, *log.segments.base_offsets[2:]]
    assert [*tmp_path.glob("*.swap")] == []


@pytest.mark.parametrize("state", [".cleaned", ".swap"])
def test_a_compaction_that_was_cut_short_is_undone(tmp_path: Path, state: str) -> None:
    """As long as one file is `.cleaned`, the segments before are still whole."""
    closed_log(tmp_path)
    (tmp_path / f"{0:020d}.log.cleaned").write_bytes(b"half")
    (tmp_path / f"{0:020d}.log{state}").write_bytes(b"half")
    again = open_log(tmp_path, SMALL, origin=CLOSED)
    assert offsets_of(again) == [*range(10)]
    assert [path for path in tmp_path.iterdir() if path.suffix in {".cleaned", ".swap"}] == []


@pytest.mark.thorough
@settings(max_examples=30)
@given(st.data())
def test_whatever_a_folder_holds_only_a_kdiag_error_comes_out(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any file may have any byte changed, be cut, or be something else."""
    folder = tmp_path_factory.mktemp("orders-0")
    log = open_log(folder, SMALL)
    log.append_as_leader(produced(b"a", header=written_by(2, 0, in_transaction=True)), 0)
    end_transaction(log, 2, ControlType.ABORT)
    fill(log, 8)
    log.assign_topic_id(b"0123456789abcdef")
    log.close()
    path = data.draw(st.sampled_from(sorted(folder.iterdir())))
    content = bytearray(path.read_bytes())
    kind = data.draw(st.sampled_from(["byte", "cut", "garbage"]))
    if kind == "byte" and content:
        content[data.draw(st.integers(0, len(content) - 1))] = data.draw(st.integers(0, 255))
    elif kind == "cut":
        del content[data.draw(st.integers(0, len(content))) :]
    else:
        content[:] = data.draw(st.binary(max_size=200))
    path.write_bytes(content)
    origin = data.draw(st.sampled_from([LogOrigin(), CLOSED]))
    try:
        again = open_log(folder, SMALL, origin=origin)
        again.append_as_leader(produced(b"more"), 0)
        again.update_high_watermark(again.log_end_offset)
        again.aborted_transactions(0, 100)
        offsets_of(again)
        again.close()
    except KdiagError:
        return


def test_a_folder_that_cannot_be_made_says_so(tmp_path: Path) -> None:
    """There is a file of that name."""
    (tmp_path / "orders-0").write_bytes(b"")
    with pytest.raises(LogFileError, match="exists"):
        open_log(tmp_path / "orders-0")
