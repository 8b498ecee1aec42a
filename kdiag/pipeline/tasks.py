"""The tasks of a run: functions of a number that Spark runs anywhere.

do_tasks     runs a function for each number, and returns what it yields, as JSON
Outcome      the files that tasks have written
freeze_gc    keeps Python's collector from scanning libraries over and over
"""

import gc
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, Final, NamedTuple

import msgspec
import pyarrow as pa
from pyspark.sql import SparkSession

from kdiag.pipeline.output.partitions import Written
from kdiag.pipeline.output.staging import Staged

RESULT_DDL: Final = "result binary"
_RESULT: Final = pa.schema([("result", pa.binary())])
_GC_THRESHOLDS: Final = (100_000, 10, 100)

Rows = Iterable[pa.RecordBatch]


class Outcome(NamedTuple):
    """The files that tasks have written, and the faults of kdiag's own that they met."""

    staged: list[Staged]
    written: list[Written]
    faults: list[str]

    def row(self) -> pa.RecordBatch:
        """Return the outcome as the result of a task."""
        text = pa.array([msgspec.json.encode(self)], pa.binary())
        return pa.RecordBatch.from_arrays([text], schema=_RESULT)

    def of(self, name: str) -> list[Staged]:
        """Return the staged files of a name, by part."""
        return sorted(each for each in self.staged if each.name == name)

    def add(self, other: "Outcome") -> None:
        """Add the files of other tasks."""
        self.staged.extend(other.staged)
        self.written.extend(other.written)
        self.faults.extend(other.faults)


def do_tasks(
    spark: SparkSession, count: int, do: Callable[[int], Iterator[Any]], tasks: int = 0
) -> list[bytes]:
    """Return the results for each number, in their order; from a task each, or so many tasks."""
    numbers = spark.range(0, count, 1, tasks or count)
    answer = numbers.mapInArrow(partial(_do_numbered, do), f"number bigint, {RESULT_DDL}")
    return [row["result"] for row in sorted(answer.collect(), key=lambda row: row["number"])]


def _do_numbered(do: Callable[[int], Iterator[Any]], batches: Rows) -> Iterator[pa.RecordBatch]:
    freeze_gc()
    for batch in batches:
        for number in batch.column(0).to_pylist():
            for each in do(number):
                columns = [pa.array([number]), pa.array([msgspec.json.encode(each)], pa.binary())]
                yield pa.RecordBatch.from_arrays(columns, ["number", "result"])


def outcome_of(results: Iterable[bytes]) -> Outcome:
    """Return the outcome of all tasks from their results."""
    total = Outcome([], [], [])
    for each in results:
        total.add(msgspec.json.decode(each, type=Outcome))
    return total


def freeze_gc() -> None:
    """Exempt all objects so far from garbage collection, once in a process, and collect seldom."""
    gc.set_threshold(*_GC_THRESHOLDS)
    if not gc.get_freeze_count():
        gc.freeze()
