import os
import random
import shutil
from collections import Counter
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Final

import pytest

from folders import CAPTURES
from kdiag.clock import TimeRange
from kdiag.errors import CaptureError, ReportError
from kdiag.pipeline.decode import FlowRules
from kdiag.pipeline.job import DEFAULT_CHUNK_BYTES, Job
from kdiag.pipeline.output.run_log import staging_folder
from kdiag.pipeline.run import run
from kdiag.report.engine import open_folder
from kdiag.report.sql_report import Query
from kdiag.report.tables.catalog import TABLES
from kdiag.report.uri import remove_folder
from recordings.capture_sets import recorded_sets, write_hard_cases
from spark_runs.killed_driver import is_killed
from spark_runs.pipeline_parts import CHOICE, TABLE_NAMES, comparable, in_one_process, read_tables
from tiers.sampling import sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

IN_FLIGHT_NS: Final = 1_795_268_752_472_193_000
"""When four of the 53 requests of `rebalance.pcap` had no response yet."""
KILLS: Final = int(os.environ.get("KDIAG_RUN_KILLS", "1"))

pytestmark = pytest.mark.soak


@dataclass(frozen=True)
class Recording:
    """Many captures that are read as one.

    Attributes:
        files: all of them.
        keylog: the TLS secrets of all.
    """

    files: tuple[Path, ...]
    keylog: bytes

    @cache  # noqa: B019 - there is one of them
    def rows(self) -> dict[str, list[str]]:
        """Return the rows of each table that one process makes."""
        tables = in_one_process(self.files, self.keylog)
        return {name: comparable(tables[name]) for name in TABLE_NAMES}


@pytest.fixture(scope="module")
def everything(tmp_path_factory: pytest.TempPathFactory) -> Recording:
    """Return many captures as one recording, in which many reuse the same ports."""
    recorded = sample("captures on Spark", list(recorded_sets()), 12)
    sets = [*recorded, *write_hard_cases(tmp_path_factory.mktemp("hard"))]
    files = tuple(file for each in sets for file in each.files)
    return Recording(files, b"".join(each.keylog for each in sets))


@pytest.mark.parametrize(
    ("parts", "split_bytes"),
    [(1, 64 << 20), pytest.param(2, 1 << 20, marks=pytest.mark.real), (7, 64 << 10)],
)
def test_spark_gives_the_rows_of_one_process(
    spark: "SparkSession", everything: Recording, parts: int, split_bytes: int, tmp_path: Path
) -> None:
    """Value for value, whatever the partitioner; twice is once."""
    keylog = tmp_path / "keys"
    keylog.write_bytes(everything.keylog)
    job = Job(
        tuple(map(str, everything.files)),
        str(tmp_path / "out"),
        choice=CHOICE,
        rules=FlowRules(keylogs=(str(keylog),)),
        parts=parts,
        split_bytes=split_bytes,
        chunk_bytes=DEFAULT_CHUNK_BYTES if parts < 7 else 128 << 20,
        is_indexed=parts == 2,
    )
    manifest = run(spark, job)
    tables = read_tables(tmp_path / "out")

    for name, rows in everything.rows().items():
        assert comparable(tables[name]) == rows, name
        if not TABLES[name].sum:  # what adds up is counted for each capture
            assert manifest.rows.get(name, 0) == len(rows)
    assert not Path(job.staging).exists()


def test_a_run_that_is_repeated_replaces_itself(spark: "SparkSession", tmp_path: Path) -> None:
    """A folder stands for its captures, and what else lies in it does no harm."""
    folder = tmp_path / "in"
    folder.mkdir()
    (folder / "acks.pcap").write_bytes((CAPTURES / "acks.pcap").read_bytes())
    (folder / "notes.txt").write_text("no capture, but long enough to be looked into\n")
    job = Job((str(folder),), str(tmp_path / "out"), parts=2)
    said: list[str] = []
    first, second = (run(spark, job, said.append) for _ in range(2))

    assert first.rows == second.rows
    assert first.rows["exchanges"] == sum(
        batch.num_rows for batch in read_tables(tmp_path / "out")["exchanges"]
    )
    assert said[0] == "finding the packets"


def test_captures_by_another_spelling_double_nothing(spark: "SparkSession", tmp_path: Path) -> None:
    """They are the same run; of one that is in another run, nothing is read a second time."""
    folder, out = tmp_path / "in", tmp_path / "out"
    folder.mkdir()
    shutil.copy(CAPTURES / "acks.pcap", folder)
    (tmp_path / "link").symlink_to("in")
    first = run(spark, Job((str(folder),), str(out), parts=2))
    assert run(spark, Job((f"{tmp_path}/link/",), str(out), parts=2)).run == first.run
    assert count_exchanges(out) == first.rows["exchanges"]
    one = Job((str(folder / "acks.pcap"),), str(out), parts=2)
    with pytest.raises(ReportError, match=f"in the tables already, by run {first.run}: --new"):
        run(spark, one)
    assert run(spark, one._replace(is_new=True)).captures == []
    shutil.copy(CAPTURES / "transaction.pcap", folder)
    new = run(spark, Job((str(folder),), str(out), parts=2, is_new=True))

    assert [Path(each.uri).name for each in new.captures] == ["transaction.pcap"]
    assert count_exchanges(out) == first.rows["exchanges"] + new.rows["exchanges"]


def test_a_run_up_to_a_time_and_one_from_it_on_lose_nothing(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Each request is there once; those that were in flight then are told."""
    capture, out = str(CAPTURES / "rebalance.pcap"), str(tmp_path)
    parted = [TimeRange(to_ns=IN_FLIGHT_NS), TimeRange(from_ns=IN_FLIGHT_NS)]
    before, after = (run(spark, Job((capture,), out, times=times, parts=1)) for times in parted)
    batches = read_tables(tmp_path)["exchanges"]
    states = Counter(state for batch in batches for state in batch.column("status").to_pylist())

    assert before.run != after.run
    assert states == {"ok": 49, "unanswered": 4, "unmatched": 4}
    assert before.warnings == []
    (warning,) = after.warnings
    assert f"meets run {before.run} at 2026-11-21T13:45:52" in warning


def test_a_driver_that_is_killed_leaves_the_tables_as_they_were(
    spark: "SparkSession", tmp_path: Path
) -> None:
    """Or as they are to be; a run that is begun again completes them."""
    captures = [CAPTURES / name for name in ("acks.pcap", "transaction.pcap")]
    out = tmp_path / "out"
    before = run(spark, Job((str(captures[0]),), str(out), name="r", parts=2))
    chance = random.Random(7)
    arguments: list[object] = ["pipeline", "run", *captures, "--out", out, "--name", "r"]
    arguments += ["--parts", 2, "--master", "local[2]", "--conf", "spark.driver.memory=1g"]
    seen = {count_exchanges(out)}
    for _ in range(KILLS):
        remove_folder(staging_folder(str(out), "r"))
        assert is_killed(arguments, out, chance.randint(0, 8))
        seen.add(count_exchanges(out))
    after = run(spark, Job(tuple(map(str, captures)), str(out), name="r", parts=2))

    assert seen <= {before.rows["exchanges"], after.rows["exchanges"]}
    assert count_exchanges(out) == after.rows["exchanges"]
    assert {str(each.relative_to(out)) for each in out.glob("exchanges/**/*.parquet")} == {
        file for file in after.files if file.startswith("exchanges/")
    }


def count_exchanges(out: Path) -> int:
    """Return how many exchanges a query finds."""
    with open_folder(out) as database:
        (answer,) = database.ask(Query("SELECT count(*) AS rows FROM exchanges", {}))
    return int(answer.to_pylist()[0]["rows"])


def test_what_is_no_capture_is_refused(spark: "SparkSession", tmp_path: Path) -> None:
    """So is damage, if that is asked for."""
    text = tmp_path / "in" / "text"
    text.parent.mkdir()
    text.write_text("this is no capture, whatever else it may be\n")
    with pytest.raises(CaptureError, match="neither pcap nor pcapng"):
        run(spark, Job((str(text),), str(tmp_path / "out")))
    with pytest.raises(CaptureError, match="holds no capture file"):
        run(spark, Job((str(text.parent),), str(tmp_path / "out")))
    cut = tmp_path / "cut.pcap"
    cut.write_bytes((CAPTURES / "acks.pcap").read_bytes()[:-10])
    with pytest.raises(CaptureError, match="failfast"):
        run(spark, Job((str(cut),), str(tmp_path / "out"), mode="failfast"))
