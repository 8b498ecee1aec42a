"""DataFrames of captures on a real Spark, and the notebook of `kdiag help spark`."""

import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from folders import CAPTURES, ROOT
from kdiag import spark as captures
from kdiag.errors import CaptureError
from recordings.capture_sets import recorded_sets
from spark_runs.pipeline_parts import TABLE_NAMES, comparable, in_one_process
from tiers.sampling import sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

TOPIC = (ROOT / "cmd" / "kdiag_cli" / "help" / "library" / "spark.md").read_text(encoding="utf-8")
CELLS = re.findall(r"^```python\n(.*?)^```$", TOPIC, re.DOTALL | re.MULTILINE)

pytestmark = pytest.mark.soak


@pytest.mark.real
def test_rows_are_those_of_one_process(spark: "SparkSession", tmp_path: Path) -> None:
    """By the functions, and by the format."""
    sets = sample("captures as DataFrames", list(recorded_sets()), 3)
    files = tuple(file for each in sets for file in each.files)
    keylog = tmp_path / "keys"
    keylog.write_bytes(b"".join(each.keylog for each in sets))
    given = {"keylog": str(keylog), "staging": str(tmp_path)}
    tables = in_one_process(files, keylog.read_bytes())

    for table in TABLE_NAMES:
        expected = comparable(tables[table])
        reader = spark.read.format("kdiag").options(table=table, **given)
        for frame in (
            captures.read(spark, table, files, **given),
            reader.load(list(map(str, files))),
        ):
            batches = frame.toArrow().to_batches()
            assert comparable(batches) == expected, table


def test_columns_and_times_are_chosen(spark: "SparkSession", tmp_path: Path) -> None:
    """The session keeps its settings."""
    spark = spark.newSession()
    spark.conf.set("spark.sql.python.filterPushdown.enabled", "true")
    spark.conf.set("spark.sql.session.timeZone", "Asia/Tokyo")
    paths = CAPTURES / "*.pcap"
    frame = captures.exchanges(
        spark, paths, columns=["api", "time_ns", "capture_file"], staging=tmp_path
    )
    last_ns = frame.agg({"time_ns": "max"}).collect()[0][0]

    assert frame.columns == ["api", "time_ns", "capture_file"]
    assert frame.where(frame.time_ns >= last_ns).count() == 1
    assert frame.where(frame.time_ns > last_ns).count() == 0
    assert captures.gaps(spark, paths, staging=tmp_path).columns[-2:] == ["capture_file", "run"]
    assert spark.conf.get("spark.sql.session.timeZone") == "Asia/Tokyo"


def test_what_is_wrong_is_said_at_once(spark: "SparkSession", tmp_path: Path) -> None:
    """Before anything runs; damage is a warning."""
    with pytest.raises(ValueError, match="exchanges has no column offset"):
        captures.exchanges(spark, CAPTURES, columns=["offset"])
    with pytest.raises(ValueError, match="no such option: keys"):
        captures.records(spark, CAPTURES, keys="here")
    with pytest.raises(CaptureError, match=r"nowhere\.pcap: cannot be opened"):
        captures.connections(spark, "nowhere.pcap")
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((CAPTURES / "acks.pcap").read_bytes()[:-10])
    with pytest.warns(UserWarning, match="ends within a packet"):
        assert captures.batches(spark, cut, staging=str(tmp_path)).count()


def test_the_notebook_of_the_help_runs(
    spark: "SparkSession",
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Cell after cell, in one session, as it stands."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "captures").symlink_to(CAPTURES)
    here = {"spark": spark.newSession()}
    for cell in CELLS:
        # Spark's own process stays in the folder that it was started in.
        exec(compile(cell.replace("group-requests", f"{tmp_path}/groups"), "cell", "exec"), here)

    said = capsys.readouterr().out
    assert len(CELLS) == 10
    assert said.count("+---") >= 5 * 3
    assert {"order-writer", "rebalance.pcap"} <= set(re.findall(r"[\w.-]+", said))
