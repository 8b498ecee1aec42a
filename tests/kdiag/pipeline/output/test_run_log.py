import os
import random
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyarrow import parquet

from kdiag.clock import SystemClock
from kdiag.errors import ReportError
from kdiag.pipeline.output.run_log import commit, enter, open_log, staging_folder, sweep
from kdiag.report.run_log import LoggedRun, files_of
from programs.child_program import ChildProgram
from spark_runs.endless_commits import ROWS
from spark_runs.written_tables import files_in, stage, write
from tiers.sampling import SEED

DAY_NS = 86_400_000_000_000
KILLS = int(os.environ.get("KDIAG_COMMIT_KILLS", "2"))
WHERE = {"PYTHONPATH": os.pathsep.join(sys.path)}
"""Where a program of the rig finds what it imports."""
TWO_DAYS = ((1, "b:1", "a"), (DAY_NS, "b:1", "b"))


def logged(folder: Path) -> dict[str, LoggedRun]:
    """Return the log by the names of runs."""
    return {each.run: each for each in open_log(str(folder)).runs()}


def test_a_run_replaces_itself_and_no_other(tmp_path: Path) -> None:
    """Also where it has less to say than before."""
    write(tmp_path, "one", *TWO_DAYS)
    write(tmp_path, "two", (1, "b:1", "c"))
    files = write(tmp_path, "one", (1, "b:1", "d"))

    runs = logged(tmp_path)
    assert sorted(files_of([*runs.values()], "connections")) == files
    assert len(files) == 2
    assert (runs["one"].rows, runs["one"].warnings) == ({"connections": 1}, ["a warning"])
    assert set(runs) == {"one", "two"}


def test_files_that_are_replaced_again_and_again_stay_for_who_reads_them(tmp_path: Path) -> None:
    """Until the next time, and whoever sweeps; nothing is left behind the last one."""
    folder, now_ns = str(tmp_path), SystemClock().epoch_ns() + 2 * DAY_NS
    kept = stage(tmp_path, "r", (1, "b:1", "settled"))
    commit(folder, open_log(folder), LoggedRun("r"), kept)
    targets = []
    for number in range(3):
        written = stage(tmp_path, "r", (1, "b:1", f"live {number}"))
        targets.append(written[0].target)
        log = open_log(folder)
        run = commit(folder, log, LoggedRun("r"), written, kept, spares_readers=True)
        sweep(folder, now_ns)

        assert run.files == [kept[0].target, targets[-1]]
        assert files_in(tmp_path) == sorted([kept[0].target, *targets[-2:]])
    commit(folder, open_log(folder), LoggedRun("r"), [], kept)
    assert files_in(tmp_path) == [kept[0].target]


def test_a_commit_that_breaks_off_changes_nothing_for_readers(tmp_path: Path) -> None:
    """The run as it was stays; what was in place by then is swept when the run is begun again."""
    before = write(tmp_path, "r", (1, "b:1", "a"))
    written = stage(tmp_path, "r", *TWO_DAYS)
    Path(written[1].uri).unlink()
    with pytest.raises(OSError, match="No such file"):
        commit(str(tmp_path), open_log(str(tmp_path)), LoggedRun("r"), written)

    assert logged(tmp_path)["r"].files == before
    assert len(files_in(tmp_path)) == 2
    now_ns = SystemClock().epoch_ns()
    sweep(str(tmp_path), now_ns)
    assert len(files_in(tmp_path)) == 2, "the run may be under way"
    sweep(str(tmp_path), now_ns + 2 * DAY_NS)
    assert files_in(tmp_path) == before
    assert not Path(staging_folder(str(tmp_path), "r")).exists()


def test_a_commit_removes_no_file_outside_of_the_tables(tmp_path: Path) -> None:
    """Whatever the log names that others may write, or the state of a stream that went into it."""
    folder, victim = tmp_path / "tables", tmp_path / "victim.parquet"
    written = stage(folder, "r", (1, "b:1", "a"))
    for target in (f"connections/../../{victim.name}", f"../{victim.name}", str(victim), ""):
        victim.write_bytes(b"of others")
        enter(str(folder), LoggedRun("r", files=[target], replaced=[target]))
        commit(str(folder), open_log(str(folder)), LoggedRun("r"), [])
        assert victim.exists(), target
    commit(str(folder), open_log(str(folder)), LoggedRun("r"), written)
    commit(str(folder), open_log(str(folder)), LoggedRun("r"), [])
    assert files_in(folder) == []


def test_nothing_is_swept_that_others_have_written(tmp_path: Path) -> None:
    """A folder may hold tables that no run has made; one that does not exist has nothing."""
    sweep(str(tmp_path / "new"), 0)
    write(tmp_path, "r", (1, "b:1", "a"))
    other = tmp_path / "connections" / "date=2026-11-21" / "part-00000.parquet"
    other.parent.mkdir()
    other.touch()
    os.utime(other, (0, 0))
    sweep(str(tmp_path), SystemClock().epoch_ns())

    assert len(files_in(tmp_path)) == 2


def rows_read(folder: Path) -> int:
    """Return how many rows the files of run `r` have."""
    files = [folder / file for file in logged(folder)["r"].files]
    return sum(parquet.read_metadata(file).num_rows for file in files)


def after(looks: int) -> Callable[[], bool]:
    """Return what is true after so many looks."""
    left = iter(range(looks))
    return lambda: next(left, None) is None


@pytest.mark.thorough
def test_a_driver_that_is_killed_leaves_the_run_before_or_the_run_after(tmp_path: Path) -> None:
    """At whatever moment of the commit, and what it leaves is swept; never something between."""
    chance = random.Random(SEED)
    program = [sys.executable, "-m", "spark_runs.endless_commits", str(tmp_path)]
    for _ in range(KILLS):
        with ChildProgram(program, env={**os.environ, **WHERE}) as process:
            assert process.lasts_until(lambda: "r" in logged(tmp_path))
            assert process.lasts_until(after(chance.randint(1, 60)))
            process.kill()
        assert rows_read(tmp_path) in ROWS

    sweep(str(tmp_path), SystemClock().epoch_ns() + 2 * DAY_NS)
    assert len(files_in(tmp_path)) == rows_read(tmp_path)


def test_a_folder_is_of_one_kind(tmp_path: Path) -> None:
    """Also where the other kind's run broke off: its tables may be there all the same."""
    enter(str(tmp_path), LoggedRun("d", format="delta", is_complete=False))
    with pytest.raises(ReportError, match=r"run d: has written its tables as delta.*another --out"):
        write(tmp_path, "r", (1, "b:1", "a"))
    assert logged(tmp_path) == {}
