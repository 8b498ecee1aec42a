import json
import os
import pickle
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql.datasource import (
    EqualTo,
    Filter,
    GreaterThan,
    GreaterThanOrEqual,
    LessThan,
    LessThanOrEqual,
)
from pyspark.sql.types import StructType

from folders import CAPTURES
from kdiag.clock import TimeRange
from kdiag.errors import CaptureError
from kdiag.pipeline.dataframes.source import (
    FilteringReader,
    TableReader,
    ddl_of,
    job_of,
    own_folder,
    reader_of,
)
from pyspark_kdiag import DefaultSource
from tiers.cases import for_each

CAPTURE = str(CAPTURES / "rebalance.pcap")


def reader(*columns: str, **options: str) -> TableReader:
    """Return the reader of a capture."""
    return reader_of(columns or ("api", "time_ns"), {"path": CAPTURE, **options})


def rows(found: TableReader) -> list[tuple[object, ...]]:
    """Return what the tasks of a reader read, each from the reader that was sent to it."""
    parts = pickle.dumps(found.partitions())
    sent = pickle.dumps(found)
    return [
        row
        for part in pickle.loads(parts)
        for batch in pickle.loads(sent).read(part)
        for row in zip(*(column.to_pylist() for column in batch.columns), strict=True)
    ]


@pytest.mark.thorough
def test_only_the_wanted_columns_are_made(tmp_path: Path) -> None:
    """In the order in which they are wanted; a table is named by an option."""
    found = rows(reader("api", "broker", staging=str(tmp_path)))
    assert len(found) == 53
    assert ("JoinGroup", "127.0.0.1:49563") in found
    (connection, *_) = rows(reader("protocol", table="connections", staging=str(tmp_path)))
    assert connection == ("kafka",)
    assert len(list(tmp_path.glob("*.msgpack"))) == 1


@pytest.mark.thorough
@for_each(
    ("make", "times"),
    [
        (lambda at: [GreaterThan(("time_ns",), at)], (1, None)),
        (lambda at: [GreaterThanOrEqual(("time_ns",), at)], (0, None)),
        (lambda at: [LessThan(("time_ns",), at)], (None, 0)),
        (lambda at: [LessThanOrEqual(("time_ns",), at)], (None, 1)),
        (lambda at: [EqualTo(("time_ns",), at)], (0, 1)),
        (lambda at: [GreaterThan(("time_ns",), at), LessThan(("time_ns",), at + 9)], (1, 9)),
        (lambda _: [EqualTo(("api",), "Fetch"), EqualTo(("time_ns",), None)], (None, None)),
    ],
)
def test_bounds_of_the_time_leave_other_rows_unread(
    make: Callable[[int], list[Filter]], times: tuple[int | None, int | None], tmp_path: Path
) -> None:
    """Spark gets all filters back, and evaluates them once more."""
    every = rows(reader(staging=str(tmp_path)))
    at = sorted(int(str(time_ns)) for _, time_ns in every)[20]
    filters = make(at)
    asked = reader(staging=str(tmp_path), pushdown="true")
    assert isinstance(asked, FilteringReader)
    assert list(asked.pushFilters(filters)) == filters
    first, last = (None if each is None else at + each for each in times)

    assert sorted(rows(asked)) == sorted(
        row
        for row in every
        if (first is None or int(str(row[1])) >= first)
        and (last is None or int(str(row[1])) < last)
    )


@pytest.mark.thorough
def test_a_minute_is_counted_whole_though_it_goes_on_behind_a_bound(tmp_path: Path) -> None:
    """Its row is of the time at which it begins."""
    asked = [
        reader("answers", table="latency_minutes", staging=str(tmp_path), pushdown=each)
        for each in ("false", "true")
    ]
    whole, bounded = asked
    assert isinstance(bounded, FilteringReader)
    (minute_ns,) = {
        int(str(time_ns))
        for (time_ns,) in rows(reader("time_ns", table="latency_minutes", staging=str(tmp_path)))
    }
    assert list(bounded.pushFilters([LessThan(("time_ns",), minute_ns + 1)]))

    assert sum(rows(whole), ()) == sum(rows(bounded), ())


def test_a_wrong_option_is_refused() -> None:
    """With what there is."""
    with pytest.raises(ValueError, match=r"no such option: tabel; there are .*table"):
        reader(tabel="exchanges")
    with pytest.raises(ValueError, match="no table topics; there are exchanges"):
        reader(table="topics")
    with pytest.raises(ValueError, match="exchanges has no column offset"):
        reader("offset")
    with pytest.raises(ValueError, match="mode is permissive or failfast"):
        reader(mode="strict")
    with pytest.raises(ValueError, match="not a moment"):
        reader(to="yesterday")
    with pytest.raises(CaptureError, match="/nowhere: cannot be opened"):
        reader(keylog="/nowhere")


def test_options_are_those_of_the_command_line(tmp_path: Path) -> None:
    """Spark writes several paths as JSON, and names of options as somebody wrote them."""
    keylog = tmp_path / "keys"
    keylog.write_bytes(b"keys")
    job = job_of(
        {
            "paths": json.dumps(["a.pcap", "b.pcap"]),
            "ports": "9092, 9093",
            "keylog": str(keylog),
            "topic_ids": '{"id": "name"}',
            "from": "1970-01-01T00:00:01Z",
            "separate_networks": "TRUE",
        }
    )

    assert job.inputs == ("a.pcap", "b.pcap")
    assert (job.rules.ports, job.rules.keylogs) == ((9092, 9093), (str(keylog),))
    assert job.topic_names == (("id", "name"),)
    assert (job.times, job.separates_networks) == (TimeRange(1_000_000_000, None), True)
    assert job_of({"path": '["c.pcap"]'}).inputs == ("c.pcap",)


def test_plans_lie_where_nobody_else_reads_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """They hold what captures hold."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder = Path(own_folder())

    assert folder.stat().st_mode & 0o777 == 0o700
    monkeypatch.setattr("os.getuid", lambda: 4711)
    other = tmp_path / "kdiag-plans-4711"
    other.mkdir(mode=0o700)
    with pytest.raises(CaptureError, match="is a link, or not of this user alone: remove it"):
        own_folder()


def test_a_folder_of_plans_that_others_have_prepared_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Whoever can write a plan says what the next query reads; one of an earlier run is taken."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))
    folder, elsewhere = tmp_path / f"kdiag-plans-{os.getuid()}", tmp_path / "elsewhere"
    elsewhere.mkdir(mode=0o700)
    folder.symlink_to(elsewhere)
    with pytest.raises(CaptureError, match="is a link"):
        own_folder()
    folder.unlink()
    folder.mkdir()
    folder.chmod(0o777)
    with pytest.raises(CaptureError, match="not of this user alone"):
        own_folder()
    folder.chmod(0o700)
    assert own_folder() == own_folder() == str(folder)


@pytest.mark.thorough
def test_spark_finds_the_format_and_loads_nothing_else_for_it() -> None:
    """Readers of other formats import it, too."""
    source = DefaultSource({"table": "gaps"})
    assert (source.name(), source.schema()) == ("kdiag", ddl_of({"table": "gaps"}))
    schema = StructType().add("direction", "string").add("run", "string")
    assert isinstance(DefaultSource({"table": "gaps", "path": CAPTURE}).reader(schema), TableReader)
    code = "import sys, pyspark_kdiag; print(sorted(m for m in sys.modules if m[:5] == 'kdiag'))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert done.stdout == "[]\n"
