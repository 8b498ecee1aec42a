from pathlib import Path

import pyarrow as pa

from kdiag.pipeline.job import Job
from kdiag.pipeline.stages import PartWriter
from spark_runs.written_tables import connections

DAY_NS = 86_400_000_000_000


def test_rows_of_tables_are_staged_by_where_they_belong(tmp_path: Path) -> None:
    """Rows that other tasks read are staged by their kind."""
    writer = PartWriter(Job((), str(tmp_path), name="r"), 3)
    writer.write("connections", connections((0, "b:1", "a"), (DAY_NS, "b:1", "b")))
    writer.write("names", pa.record_batch({"name": ["n"]}))
    outcome = writer.close(["a fault"])

    assert [(each.name, each.part, each.rows) for each in outcome.staged] == [
        ("connections/date=1970-01-01", 3, 1),
        ("connections/date=1970-01-02", 3, 1),
        ("names", 3, 1),
    ]
    assert (outcome.written, outcome.faults) == ([], ["a fault"])
