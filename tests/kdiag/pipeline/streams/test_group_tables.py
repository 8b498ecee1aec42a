from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from pyarrow import parquet

from kdiag.pipeline.output.run_log import open_log
from kdiag.pipeline.streams.stream import close, start, wait
from kdiag.report.run_log import files_of
from spark_runs.pipeline_parts import comparable, in_one_process, read_tables
from spark_runs.rotated_captures import job_of, rotated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.soak


def test_rows_of_groups_are_those_of_one_process(spark: "SparkSession", tmp_path: Path) -> None:
    """A batch ends amid a rebalance; until the end readers see each row once, and one run of it."""
    folder = rotated(tmp_path, 3, "rebalance")
    stream = job_of(folder, most_files=1)
    wait(start(spark, stream))
    log = open_log(str(tmp_path / "out"))
    files = files_of(log.runs(), "rebalances")
    expected = in_one_process(sorted(folder.iterdir()))
    columns = ["group_id", "generation"]
    keys = [
        (*row.values(),)
        for file in files
        for row in parquet.read_table(tmp_path / "out" / file, columns=columns).to_pylist()
    ]
    replaced = [file for each in log.runs() for file in each.replaced]
    are_there = [(tmp_path / "out" / file).exists() for file in replaced]
    close(spark, stream)
    runs = {each.run: each for each in log.runs()}

    assert are_there == [True] * len(are_there) != []
    assert len(keys) == len({*keys}) > 0
    after = read_tables(tmp_path / "out")
    for name in ("rebalances", "members"):
        assert comparable(after[name]) == comparable(expected[name]) != [], name
    assert sorted(runs) == ["s-00000000", "s-00000001", "s-00000002", "s-end", "s-groups"]
    assert runs["s-groups"].rows == {
        name: sum(batch.num_rows for batch in expected[name]) for name in ("rebalances", "members")
    }
    assert not any(each.may_lack("rebalances") for each in runs.values())
