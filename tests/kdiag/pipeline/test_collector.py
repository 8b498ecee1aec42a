import subprocess
import sys

_SCRIPT = """
import gc
from kdiag.pipeline.collector import settle
settle()
first = gc.get_freeze_count()
more = [[] for _ in range(1000)]
settle()
print(first > 0, gc.get_freeze_count() == first, gc.get_threshold()[0])
"""


def test_what_is_there_is_passed_over_from_the_first_time_on() -> None:
    """In a process of its own, for the collector is one for all of it."""
    told = subprocess.run(
        [sys.executable, "-c", _SCRIPT], capture_output=True, text=True, check=True
    )

    assert told.stdout.split() == ["True", "True", "20000"]
