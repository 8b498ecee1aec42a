"""Opens the Spark session that a pipeline runs on, as a guest of what is there.

a session is there       its settings stay, and kdiag works in a child of it (`session_with`)
spark-submit, --conf,    what they set stays; kdiag sets what they leave open
spark-defaults.conf
nothing                  a local session on all cores, with settings measured to work best
"""

import os
import shlex
import shutil
import sys
import tempfile
from collections.abc import Iterable, Mapping
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, TypeAlias

import javaproperties

from kdiag.errors import ReportError, install_command
from kdiag.pipeline import worker_daemon

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    Session: TypeAlias = SparkSession
    """The type of a session, for callers that do not import PySpark."""

INSTALL_JAVA: Final = "apt-get install openjdk-17-jre-headless (or any Java 17), or set JAVA_HOME"
DEFAULT_MASTER: Final = "local[*]"

_LOOPBACK: Final = "127.0.0.1"
_NO_CONNECT: Final = (
    "is reached through Spark Connect, which knows neither the cores of the cluster nor its files: "
    "start the session without SPARK_REMOTE, or run kdiag with --master"
)
_MANY_EXECUTORS: Final = 64
_FIRST_WITH_STREAMS: Final = (4, 2)
_LIBRARIES: Final = ("pyspark", "pyarrow", "pandas", "duckdb", "sqlglot")
RUN_SETTINGS: Final = {
    "spark.sql.session.timeZone": "UTC",
    # The pipeline sizes its shuffles itself: Spark must not merge their partitions.
    "spark.sql.adaptive.enabled": "false",
}
"""For runs and streams."""

QUERY_SETTINGS: Final = {**RUN_SETTINGS, "spark.sql.adaptive.enabled": "true"}
"""For questions about tables, which Spark answers several times faster when it adapts its plan."""

_NEW_SESSION: Final = {
    **RUN_SETTINGS,
    "spark.log.level": "ERROR",
    "spark.ui.enabled": "false",
    "spark.ui.showConsoleProgress": "false",
}
FORMAT_SETTINGS: Final = {
    "delta": {
        "spark.sql.extensions": "io.delta.sql.DeltaSparkSessionExtension",
        "spark.sql.catalog.spark_catalog": "org.apache.spark.sql.delta.catalog.DeltaCatalog",
    },
    "iceberg": {
        "spark.sql.extensions": "org.apache.iceberg.spark.extensions.IcebergSparkSessionExtensions",
    },
}
"""What a new session takes besides the jars of a format of tables."""

_CATALOGS: Final = "spark.sql.catalog."
_DAEMON: Final = "spark.python.daemon.module"
_JAVA_OPTIONS: Final = "spark.driver.extraJavaOptions"
_QUICK_COMPILER: Final = "-XX:TieredStopAtLevel=1"
"""Here Python does the work: Java's better compiler takes longer than its code saves in a run of
under some GB."""

_UNIX_SOCKETS: Final = "spark.python.unix.domain.socket.enabled"
_UNIX_SOCKET_FOLDER: Final = "spark.python.unix.domain.socket.dir"
_MOST_SOCKET_FOLDER_BYTES: Final = 60
"""A socket's path has 107 bytes at most, and Spark adds a name of 42."""


def missing() -> str:
    """Return what this machine lacks to run Spark, and how to install it; empty if nothing."""
    absent = [name for name in _LIBRARIES if find_spec(name) is None]
    if absent:
        return f"this needs {', '.join(absent)}: {install_command('spark')}"
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


def require_streams() -> None:
    """Check that this machine can run a stream.

    Raises:
        ReportError: as `require` does, or if PySpark is too old.
    """
    require()
    try:
        release = version("pyspark")
    except PackageNotFoundError:  # as in a distribution of Spark, which has no such record
        return
    if tuple(map(int, release.split(".")[:2])) < _FIRST_WITH_STREAMS:
        first = ".".join(map(str, _FIRST_WITH_STREAMS))
        lack = f"a stream needs PySpark {first} or newer, and this is {release}"
        raise ReportError("Spark", f"{lack}: {install_command('spark')}")


def open_session(
    master: str | None = None,
    conf: Mapping[str, str] | None = None,
    name: str = "kdiag",
    table_format: str = "",
) -> "SparkSession":
    """Return a Spark session: the active one as it is, or a new one.

    Args:
        master: where a new one runs; by default that of `spark-submit`, else all cores here.
        conf: settings of Spark that the user has given; they precede all others.
        name: of the application.
        table_format: that of the tables, which a new session gets the settings for.

    Raises:
        ReportError: if PySpark or Java is missing, or Spark does not start, or it runs through
            Spark Connect.
    """
    require()
    from pyspark import SparkContext  # noqa: PLC0415 - an extra: see `require`
    from pyspark.errors import PySparkException  # noqa: PLC0415 - as above
    from pyspark.sql import SparkSession  # noqa: PLC0415 - as above
    from pyspark.sql.utils import is_remote  # noqa: PLC0415 - as above

    if is_remote():
        raise ReportError("Spark", _NO_CONNECT)
    # Without it, workers run the first `python3` in PATH.
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    given = dict(conf or {})
    builder = SparkSession.builder
    try:
        if SparkContext._active_spark_context is None:  # noqa: SLF001 - public ways create one
            is_submitted = "SPARK_ENV_LOADED" in os.environ
            master = master or (None if is_submitted else DEFAULT_MASTER)
            if master is not None:
                builder = builder.master(master)
            if is_local(master):
                os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK)
            elsewhere = _settings_elsewhere()
            given = {**new_settings(master, elsewhere, table_format), **given}
            builder = builder.appName(name)
        for key, value in given.items():
            builder = builder.config(key, value)
        return builder.getOrCreate()
    except (PySparkException, OSError, RuntimeError) as error:
        raise ReportError("Spark", f"does not start: {error}") from error


def session_with(session: "SparkSession", settings: Mapping[str, str]) -> "SparkSession":
    """Return a session with these settings: the same, if it has them, or a child of it.

    A child shares the executors; the settings and the views of its parent stay as they are.
    """
    if all(session.conf.get(key, None) == value for key, value in settings.items()):
        return session
    child = session.newSession()
    catalogs = {each: to for each, to in session.conf.getAll.items() if each.startswith(_CATALOGS)}
    for key, value in catalogs.items():  # those that were set later a child does not have
        child.conf.set(key, value)
    for key, value in settings.items():
        child.conf.set(key, value)
    return child


def new_settings(
    master: str | None, elsewhere: Mapping[str, str], table_format: str = ""
) -> dict[str, str]:
    """Return what to set in a new session.

    Args:
        master: where it runs; None for wherever `spark-submit` says.
        elsewhere: the settings that were made already; they stay.
        table_format: that of the tables.
    """
    settings = {**_NEW_SESSION, **FORMAT_SETTINGS.get(table_format, {})}
    if is_local(master):
        settings |= {_DAEMON: worker_daemon.__name__, _JAVA_OPTIONS: _QUICK_COMPILER}
        settings |= _unix_sockets(tempfile.gettempdir())
    return {key: value for key, value in settings.items() if key not in elsewhere}


def is_local(master: str | None) -> bool:
    """Return whether a master is this machine alone."""
    return master is not None and master.startswith("local") and "cluster" not in master


def _unix_sockets(folder: str) -> dict[str, str]:
    """Return the settings by which Python tasks are reached over Unix sockets.

    Over TCP, delayed acknowledgments cost each of them 40 ms. On a cluster `java.io.tmpdir` is each
    container's own, and mostly longer than a socket's path may be: there it stays with TCP.
    """
    if len(folder.encode()) > _MOST_SOCKET_FOLDER_BYTES:
        folder = "/tmp"  # noqa: S108 - as Java's: Spark gives its sockets names nobody can guess
    if not os.access(folder, os.W_OK):
        return {}
    return {_UNIX_SOCKETS: "true", _UNIX_SOCKET_FOLDER: folder}


def _settings_elsewhere() -> dict[str, str]:
    """Return the settings that `spark-submit`, PYSPARK_SUBMIT_ARGS or a file have made."""
    if "PYSPARK_GATEWAY_PORT" in os.environ:  # under spark-submit, whose JVM knows them all
        from pyspark import SparkConf, SparkContext  # noqa: PLC0415 - an extra: see `require`

        SparkContext._ensure_initialized()  # noqa: SLF001 - connects to that JVM
        return dict(SparkConf().getAll())
    arguments = shlex.split(os.environ.get("PYSPARK_SUBMIT_ARGS", ""))
    pairs = [after for flag, after in pairwise(arguments) if flag in {"--conf", "-c"}]
    settings = {key: value for key, _, value in (pair.partition("=") for pair in pairs)}
    home = os.environ.get("SPARK_HOME")
    folder = os.environ.get("SPARK_CONF_DIR") or (home and f"{home}/conf")
    file = Path(folder or "", "spark-defaults.conf")
    if folder and file.is_file():
        settings = {**javaproperties.loads(file.read_text(encoding="latin-1")), **settings}
    return settings


def require_reach(session: "SparkSession", uris: Iterable[str]) -> None:
    """Require that the machines of a session take paths for the same as this one.

    Raises:
        CaptureError: if one is relative, and the session is of other machines.
    """
    from kdiag.report.uri import require_absolute  # noqa: PLC0415 - needs an extra: see `require`

    if not is_local(session.sparkContext.master):
        require_absolute(uris)


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
