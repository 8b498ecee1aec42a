from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from folders import CAPTURES
from kdiag.errors import CaptureError
from kdiag.pipeline.decode import FlowRules
from kdiag.pipeline.run import Job, run
from recordings.capture_sets import recorded_sets, write_hard_cases
from spark_runs.pipeline_parts import CHOICE, TABLE_NAMES, comparable, in_one_process, read_tables
from tiers.sampling import sample

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


pytestmark = pytest.mark.real


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
    recorded = sample("captures on Spark", list(recorded_sets()), 20)
    sets = [*recorded, *write_hard_cases(tmp_path_factory.mktemp("hard"))]
    files = tuple(file for each in sets for file in each.files)
    return Recording(files, b"".join(each.keylog for each in sets))


@pytest.mark.parametrize(("parts", "split_bytes"), [(1, 64 << 20), (2, 1 << 20), (7, 64 << 10)])
def test_spark_gives_the_rows_of_one_process(
    spark: "SparkSession", everything: Recording, parts: int, split_bytes: int, tmp_path: Path
) -> None:
    """Value for value, whatever the partitioner; twice is once."""
    job = Job(
        tuple(map(str, everything.files)),
        str(tmp_path),
        choice=CHOICE,
        rules=FlowRules(keylog=everything.keylog),
        parts=parts,
        split_bytes=split_bytes,
        is_indexed=parts == 2,
    )
    manifest = run(spark, job)
    tables = read_tables(tmp_path)

    for name, rows in everything.rows().items():
        assert comparable(tables[name]) == rows, name
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

    assert first == second
    assert first.rows["exchanges"] == sum(
        batch.num_rows for batch in read_tables(tmp_path / "out")["exchanges"]
    )
    assert said[0] == "finding the packets"


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
