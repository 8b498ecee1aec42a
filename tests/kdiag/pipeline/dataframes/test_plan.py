import os
import shutil
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag.clock import ALWAYS, TimeRange
from kdiag.errors import CaptureError, ReportError
from kdiag.pipeline.dataframes.plan import load_plan, plan_of
from kdiag.pipeline.input.split_packets import FAILFAST
from kdiag.pipeline.job import Job
from kdiag.report.tables.catalog import TableChoice
from spark_runs.pipeline_parts import CHOICE, TABLE_NAMES, Tables, comparable, in_one_process

CAPTURE = CAPTURES / "rebalance.pcap"
FEW = TableChoice(bodies=False)
DAY_S = 86_400


def tables_of(uri: str, times: TimeRange = ALWAYS) -> Tables:
    """Return all rows that a plan gives."""
    plan = load_plan(uri)
    return {
        table: [
            batch
            for number in plan.parts(table, times)
            for batch in plan.read(table, number, CHOICE, times)
        ]
        for table in TABLE_NAMES
    }


@pytest.mark.thorough
@pytest.mark.parametrize("is_indexed", [True, False])
def test_a_plan_gives_the_rows_of_one_process(tmp_path: Path, *, is_indexed: bool) -> None:
    """Also where frames do not lie in the captures."""
    files = sorted(CAPTURES.glob("*.pcap"))
    job = Job(tuple(map(str, files)), "", choice=CHOICE, is_indexed=is_indexed)
    found = tables_of(plan_of(str(tmp_path), job))

    for table, batches in in_one_process(files).items():
        assert comparable(found[table]) == comparable(batches), table
    captures = {name for batch in found["batches"] for name in batch["capture_file"].to_pylist()}
    assert captures <= set(map(str, files))
    assert len(captures) > 1


@pytest.mark.thorough
def test_what_was_found_once_is_not_looked_for_again(tmp_path: Path) -> None:
    """A capture that was written to, other rules and other times are other plans."""
    capture = tmp_path / "a.pcap"
    shutil.copy(CAPTURE, capture)
    folder, job = str(tmp_path / "plans"), Job((str(capture),), "")
    uri = plan_of(folder, job)
    before = Path(uri).stat()

    assert plan_of(folder, job) == uri
    assert plan_of(folder, job._replace(inputs=(f"{tmp_path}/./a.pcap",))) == uri
    assert Path(uri).stat() == before
    others = {plan_of(folder, job._replace(times=TimeRange(to_ns=1))), plan_of(folder, job)}
    others.add(plan_of(folder, job._replace(choice=CHOICE)))
    os.utime(capture, ns=(1, 1))
    assert len(others | {plan_of(folder, job)}) == 4


@pytest.mark.thorough
def test_rows_of_other_times_are_not_made(tmp_path: Path) -> None:
    """The rows of two ranges of time are together all rows, each once."""
    uri = plan_of(str(tmp_path), Job((str(CAPTURE),), "", choice=CHOICE))
    whole = tables_of(uri)
    times = sorted(time for batch in whole["exchanges"] for time in batch["time_ns"].to_pylist())
    middle_ns = times[len(times) // 2]
    before, after = (
        tables_of(uri, each) for each in (TimeRange(to_ns=middle_ns), TimeRange(middle_ns))
    )

    for table in TABLE_NAMES:
        assert comparable(before[table] + after[table]) == comparable(whole[table])
    assert max(row for batch in before["exchanges"] for row in batch["time_ns"].to_pylist()) < (
        middle_ns
    )
    assert load_plan(uri).parts("exchanges", TimeRange(from_ns=times[-1] + 1)) == []


@pytest.mark.thorough
def test_a_plan_that_nobody_wanted_for_a_day_is_removed(tmp_path: Path) -> None:
    """With what was staged for it, when another is made; others' files stay."""
    (tmp_path / "notes").touch()
    old = Path(plan_of(str(tmp_path), Job((str(CAPTURE),), "")))
    for each in (old, tmp_path / "notes"):
        os.utime(each, (0, 0))
    new = Path(plan_of(str(tmp_path), Job((str(CAPTURES / "acks.pcap"),), "")))

    assert {each.name for each in tmp_path.iterdir()} == {"notes", "_runs", new.name}
    assert [each.name for each in (tmp_path / "_runs").iterdir()] == [f"{new.stem}.staging"]


def test_damage_is_told_or_refused(tmp_path: Path) -> None:
    """What is before it counts."""
    cut = tmp_path / "cut.pcap"
    cut.write_bytes(CAPTURE.read_bytes()[:-10])
    job = Job((str(cut),), "")
    plan = load_plan(plan_of(str(tmp_path / "plans"), job))

    assert "ends within a packet" in plan.warnings[0]
    assert sum(batch.num_rows for batch in plan.read("exchanges", 0, FEW, ALWAYS)) > 10
    with pytest.raises(CaptureError, match="is damaged"):
        plan_of(str(tmp_path / "plans"), job._replace(mode=FAILFAST))


def test_what_is_no_capture_is_named(tmp_path: Path) -> None:
    """In a folder it is passed over, unless there is nothing else."""
    (tmp_path / "notes.txt").write_text("no capture, but long enough to be looked into\n")
    plans = str(tmp_path / "plans")
    with pytest.raises(CaptureError, match="holds no capture"):
        plan_of(plans, Job((str(tmp_path),), ""))
    with pytest.raises(CaptureError, match=r"notes\.txt"):
        plan_of(plans, Job((str(tmp_path / "notes.txt"),), ""))
    shutil.copy(CAPTURE, tmp_path)
    assert load_plan(plan_of(plans, Job((str(tmp_path),), ""))).warnings == []


def test_a_machine_that_does_not_reach_the_plan_says_so(tmp_path: Path) -> None:
    """And what to do."""
    with pytest.raises(ReportError, match="all machines reach"):
        load_plan(f"{tmp_path}/plan-1.msgpack")
