from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kdiag.pipeline.output.run_log import open_log
from kdiag.pipeline.streams.stream import close, start, wait
from spark_runs.pipeline_parts import comparable, in_one_process, read_tables
from spark_runs.rotated_captures import job_of, rotated

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

pytestmark = pytest.mark.real


def test_rows_of_groups_are_those_of_one_process(spark: "SparkSession", tmp_path: Path) -> None:
    """A batch ends amid a rebalance; until the end readers see each row once, and one run of it."""
    folder = rotated(tmp_path, 3, "rebalance")
    stream = job_of(folder, most_files=1)
    wait(start(spark, stream))
    before = read_tables(tmp_path / "out")
    expected = in_one_process(sorted(folder.iterdir()))
    keys = [
        (row["group_id"], row["generation"])
        for batch in before["rebalances"]
        for row in batch.to_pylist()
    ]
    close(spark, stream)
    runs = {each.run: each for each in open_log(str(tmp_path / "out")).runs()}

    assert len(keys) == len({*keys}) > 0
    after = read_tables(tmp_path / "out")
    for name in ("rebalances", "members"):
        assert comparable(after[name]) == comparable(expected[name]) != [], name
    assert sorted(runs) == ["s-00000000", "s-00000001", "s-00000002", "s-end", "s-groups"]
    assert runs["s-groups"].rows == {
        name: sum(batch.num_rows for batch in expected[name]) for name in ("rebalances", "members")
    }
    assert not any(each.may_lack("rebalances") for each in runs.values())
