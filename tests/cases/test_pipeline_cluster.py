"""A real cluster, and an executor that is killed in the middle of a run."""

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kdiag.pipeline.session import missing
from programs.child_program import ChildProgram
from programs.kdiag_program import start_kdiag
from recordings.capture_sets import recorded_sets
from spark_runs.pipeline_parts import comparable, in_one_process, read_tables
from tiers.sampling import IS_CI, sample

if TYPE_CHECKING:
    from spark_runs.spark_cluster import SparkCluster

TABLES = ("exchanges", "batches", "connections", "gaps")

pytestmark = [
    pytest.mark.real,
    pytest.mark.skipif(bool(missing()) and not IS_CI, reason=missing()),
]


def wait_and_kill(process: ChildProgram, cluster: "SparkCluster", out: Path) -> bool:
    """Wait for a run; kill an executor once tasks have begun to write. Return whether that was."""

    def is_hit() -> bool:
        return any(out.glob("_runs/*.staging/*")) and cluster.kill_executor()

    is_killed = process.lasts_until(is_hit)
    process.wait()
    return is_killed


def test_a_cluster_gives_the_rows_of_one_process_though_an_executor_is_killed(
    tmp_path: Path,
) -> None:
    """Its tasks are done again elsewhere, and nothing that it wrote counts."""
    from spark_runs.spark_cluster import spark_cluster  # noqa: PLC0415 - pyspark may be missing

    sets = [each for each in recorded_sets() if not each.keylog]
    drawn = sample("captures on a cluster", sets, 12)
    files = [file for each in drawn for file in each.files]
    (tmp_path / "cluster").mkdir()
    with spark_cluster(tmp_path / "cluster", 2) as cluster:
        arguments = ["pipeline", "run", *files, "--out", tmp_path / "out", "--parts", 4]
        arguments += ["--master", cluster.master, "--conf", "spark.executor.memory=1g"]
        arguments += ["--conf", "spark.driver.memory=1g", "--conf", "spark.driver.host=127.0.0.1"]
        process = start_kdiag(*arguments)
        is_killed = wait_and_kill(process, cluster, tmp_path / "out")

    assert is_killed
    assert process.returncode in (0, 8)
    found, expected = read_tables(tmp_path / "out"), in_one_process(files)
    for name in TABLES:
        assert comparable(found[name]) == comparable(expected[name]), name
