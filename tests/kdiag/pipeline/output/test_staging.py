from pathlib import Path

import pyarrow as pa

from kdiag.pipeline.output.staging import Staging, read_all, read_staged


def batch(*values: int) -> pa.RecordBatch:
    """Return a record batch."""
    return pa.record_batch({"value": pa.array(values, pa.int64())})


def test_batches_come_back_in_their_order(tmp_path: Path) -> None:
    """All of them, or a range."""
    staging = Staging(str(tmp_path / "new"), 3)
    for each in (batch(1, 2), batch(3), batch(4)):
        staging.write("a", each)
    staging.write("b", batch(5))
    staged = {each.name: each for each in staging.close()}

    a = staged["a"]
    assert (a.part, a.batches, a.rows, a.bytes) == (3, 3, 4, 32)
    assert list(read_staged(a.uri)) == [batch(1, 2), batch(3), batch(4)]
    assert list(read_staged(a.uri, 1, 2)) == [batch(3)]
    assert list(read_all([staged["b"], a]))[:2] == [batch(5), batch(1, 2)]


def test_a_task_that_is_run_again_writes_other_files(tmp_path: Path) -> None:
    """What the first has written is nobody's result."""
    uris = set()
    for _ in range(2):
        staging = Staging(str(tmp_path), 0)
        staging.write("a", batch(1))
        uris |= {each.uri for each in staging.close()}

    assert len(uris) == 2


def test_nothing_written_is_no_file(tmp_path: Path) -> None:
    """Nor an error."""
    assert list(Staging(str(tmp_path / "new"), 0).close()) == []
    assert not (tmp_path / "new").exists()
