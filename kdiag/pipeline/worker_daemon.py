"""The process that Spark's Python workers on this machine are forked from: Spark's own, sooner.

    python -m kdiag.pipeline.worker_daemon [WORKER]

Spark has Python find PySpark in an archive of its sources, which each process compiles anew: 0.5 s,
several times in a row before the first task. The archive is part of an installed PySpark, which is
compiled already.
"""

import runpy
import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder
from pathlib import Path
from typing import Final

_PACKAGES: Final = ("pyspark", "py4j")


def without_archives(paths: Iterable[str]) -> list[str]:
    """Return where to find modules: not in the archives of a PySpark that is found without them.

    Args:
        paths: as in `sys.path`.
    """
    # Installed is what is found where no archive is.
    paths = list(paths)
    others = [each for each in paths if not Path(each).is_file()]
    found = [PathFinder.find_spec(each, others) for each in _PACKAGES]
    spark = found[0]
    if None in found or spark is None or spark.origin is None:
        return paths
    # A distribution of Spark that is named by SPARK_HOME may be another release: its own stay.
    archives = Path(spark.origin).parent / "python" / "lib"
    return [each for each in paths if Path(each).parent != archives]


if __name__ == "__main__":
    sys.path[:] = without_archives(sys.path)
    runpy.run_module("pyspark.daemon", run_name="__main__", alter_sys=True)
