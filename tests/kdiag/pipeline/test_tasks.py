import subprocess
import sys
from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

from kdiag.pipeline.output.partitions import Written
from kdiag.pipeline.output.staging import Staged
from kdiag.pipeline.tasks import Outcome, do_tasks, outcome_of

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


FRAMES = Staged("frames", 1, "there", 2, 3, 4)
NAMES = Staged("names", 0, "there", 2, 3, 4)
GAPS = Written("gaps", "here", "there", 5)


def twice(number: int) -> Iterator[int]:
    """Yield a number two times."""
    yield number
    yield number


def test_an_outcome_is_the_sum_of_what_tasks_return() -> None:
    """Files of a name come by their parts."""
    rows = [
        Outcome([FRAMES], [GAPS], []).row(),
        Outcome([NAMES, FRAMES._replace(part=0)], [], ["a fault"]).row(),
    ]
    total = outcome_of(row.column("result")[0].as_py() for row in rows)

    assert [each.part for each in total.of("frames")] == [0, 1]
    assert total.of("names") == [NAMES]
    assert total.written == [GAPS]
    assert total.faults == ["a fault"]


@pytest.mark.soak
def test_results_come_in_the_order_of_the_numbers(spark: "SparkSession") -> None:
    """In however many tasks."""
    for tasks in (0, 2):
        assert do_tasks(spark, 3, twice, tasks) == [b"0", b"0", b"1", b"1", b"2", b"2"]


_SCRIPT = """
import gc
from kdiag.pipeline.tasks import freeze_gc
freeze_gc()
first = gc.get_freeze_count()
more = [[] for _ in range(1000)]
freeze_gc()
print(first > 0, gc.get_freeze_count() == first, gc.get_threshold()[0])
"""


@pytest.mark.thorough
def test_what_is_there_is_passed_over_from_the_first_time_on() -> None:
    """In a process of its own, for the collector is one for all of it."""
    told = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True
    )

    assert told.stdout.split() == ["True", "True", "100000"]
