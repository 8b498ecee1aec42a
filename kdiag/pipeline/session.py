"""Opens the Spark session that a pipeline runs on, with settings measured to work best."""

import os
import shutil
import sys
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

from kdiag.errors import ReportError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    Session: TypeAlias = SparkSession
    """The type of a session, for callers that do not import PySpark."""

INSTALL: Final = "pip install 'kdiag[spark]'"
INSTALL_JAVA: Final = "apt-get install openjdk-17-jre-headless (or any Java 17), or set JAVA_HOME"
DEFAULT_MASTER: Final = "local[*]"

_LOOPBACK: Final = "127.0.0.1"
_MANY_EXECUTORS: Final = 64
_LIBRARIES: Final = ("pyspark", "pyarrow", "pandas", "duckdb", "sqlglot")
_CONF: Final = {
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
    "spark.sql.session.timeZone": "UTC",
    # The pipeline sizes its shuffles itself: Spark must not merge their partitions.
    "spark.sql.adaptive.enabled": "false",
    # Over TCP, delayed acknowledgments cost each Python task 40 ms.
    "spark.python.unix.domain.socket.enabled": "true",
}


def missing() -> str:
    """Return what this machine lacks to run Spark, and how to install it; empty if nothing."""
    absent = [name for name in _LIBRARIES if find_spec(name) is None]
    if absent:
        return f"this needs {', '.join(absent)}: {INSTALL}"
    home = os.environ.get("JAVA_HOME")
    java = Path(home, "bin", "java") if home else None
    if (java is not None and java.exists()) or shutil.which("java"):
        return ""
    return f"this needs Java: {INSTALL_JAVA}"


def require() -> None:
    """Check that this machine can run Spark.

    Raises:
        ReportError: if PySpark or Java is missing; it says how to install it.
    """
    lack = missing()
    if lack:
        raise ReportError("Spark", lack)


def open_session(
    master: str | None = None, conf: Mapping[str, str] | None = None, name: str = "kdiag"
) -> "SparkSession":
    """Return a Spark session: the active one, or a new one.

    Args:
        master: where it runs; by default that of `spark-submit`, else all cores here.
        conf: settings of Spark that replace kdiag's own.
        name: of the application.

    Raises:
        ReportError: if PySpark or Java is missing, or Spark does not start.
    """
    require()
    from pyspark.errors import PySparkException  # noqa: PLC0415 - an extra: see `require`
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above

    # Without it, workers run the first `python3` in PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    builder = SparkSession.builder.appName(name)
    is_submitted = "SPARK_ENV_LOADED" in os.environ
    if master is None and not is_submitted:
        master = DEFAULT_MASTER
    if master is not None:
        builder = builder.master(master)
        if master.startswith("local"):
            os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
    for key, value in {**_CONF, **(conf or {})}.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise ReportError("Spark", f"does not start: {error}") from error


def cores_of(session: "SparkSession") -> int:
    """Return how many cores a session has or, if executors come on demand, may soon have."""
    context = session.sparkContext
    return cores_in(dict(context.getConf().getAll()), context.defaultParallelism)


def cores_in(conf: Mapping[str, str], now: int) -> int:
    """Return how many cores to prepare work for.

    With dynamic allocation a session begins with few cores, and gets executors for the tasks that
    wait. So there must be enough tasks first.

    Args:
        conf: the settings of Spark.
        now: the cores at present.
    """
    if conf.get("spark.dynamicAllocation.enabled") != "true":
        return now
    executors = int(conf.get("spark.dynamicAllocation.maxExecutors", _MANY_EXECUTORS))
    return max(now, min(executors, _MANY_EXECUTORS) * int(conf.get("spark.executor.cores", "1")))


def cancel(session: "SparkSession") -> None:
    """Stop all work of a session at once and silently; it cannot be used afterwards."""
    session.sparkContext.setLogLevel("OFF")  # it logs cancelled jobs at length
    for query in session.streams.active:
        query.stop()
    session.sparkContext.cancelAllJobs()
