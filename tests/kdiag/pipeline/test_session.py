import os
import subprocess
import sys
from pathlib import Path

import pytest

from folders import CAPTURES
from kdiag.errors import ReportError, install_command
from kdiag.pipeline.session import (
    _settings_elsewhere,
    cores_in,
    missing,
    new_settings,
    open_session,
    require_streams,
)
from recordings.capture_tables import tables_of
from tiers.cases import for_each


@pytest.fixture
def spark_is_here() -> None:
    """Skip the test where Spark cannot run."""
    lack = missing()
    if lack:
        pytest.skip(lack)


@pytest.fixture
def without_java(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Let all be there but Java."""
    monkeypatch.setattr("kdiag.pipeline.session._LIBRARIES", ())
    monkeypatch.delenv("JAVA_HOME", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.mark.usefixtures("without_java")
def test_without_java_it_says_how_to_get_it() -> None:
    """Before anything is started."""
    with pytest.raises(ReportError, match=r"Spark: this needs Java: apt-get install .*JAVA_HOME"):
        open_session()


@pytest.mark.usefixtures("without_java")
def test_java_home_is_enough(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """It needs not be in PATH."""
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "java").touch()
    monkeypatch.setenv("JAVA_HOME", str(tmp_path))

    assert missing() == ""


def test_without_pyspark_it_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the one line that installs all."""
    monkeypatch.setattr("kdiag.pipeline.session._LIBRARIES", ("pyspark_that_is_not_there",))

    assert missing() == f"this needs pyspark_that_is_not_there: {install_command('spark')}"


@pytest.mark.usefixtures("spark_is_here")
def test_a_stream_says_which_spark_it_needs(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before it fails at what that one lacks."""
    monkeypatch.setattr("kdiag.pipeline.session.version", lambda _: "4.1.1")

    with pytest.raises(ReportError, match=r"needs PySpark 4\.2 or newer, and this is 4\.1\.1: pip"):
        require_streams()


def test_work_is_prepared_for_the_cores_that_there_are() -> None:
    """A session of a fixed size has them from the start."""
    assert cores_in({}, 2) == 2
    assert cores_in({"spark.dynamicAllocation.enabled": "false"}, 34) == 34


@for_each(
    ("limits", "cores"),
    [
        ({}, 64),
        ({"spark.executor.cores": "4"}, 256),
        ({"spark.executor.cores": "4", "spark.dynamicAllocation.maxExecutors": "8"}, 32),
        ({"spark.dynamicAllocation.maxExecutors": "1"}, 2),
    ],
)
def test_executors_that_come_on_demand_find_work(limits: dict[str, str], cores: int) -> None:
    """They come only for tasks that wait, so few tasks for few cores would stay few."""
    assert cores_in({"spark.dynamicAllocation.enabled": "true", **limits}, 2) == cores


def test_a_new_session_gets_only_what_nobody_has_set() -> None:
    """`spark-submit --conf` and `spark-defaults.conf` win."""
    elsewhere = {"spark.sql.adaptive.enabled": "true", "spark.ui.enabled": "true"}
    settings = new_settings("local[2]", elsewhere)

    assert not elsewhere.keys() & settings.keys()
    assert settings["spark.sql.session.timeZone"] == "UTC"


@for_each("master", [None, "yarn", "spark://host:7077", "local-cluster[2,1,1024]"])
def test_unix_sockets_are_for_this_machine_alone(master: str | None) -> None:
    """The containers of YARN have temporary folders whose paths are too long for a socket."""
    assert not any("socket" in key for key in new_settings(master, {}))
    assert any("socket" in key for key in new_settings("local[*]", {}))


def test_java_compiles_quickly_on_this_machine_alone() -> None:
    """What the driver of a cluster does there is not ours to say, nor what others have set."""
    key = "spark.driver.extraJavaOptions"
    assert new_settings("local[2]", {})[key] == "-XX:TieredStopAtLevel=1"
    assert key not in new_settings("local[2]", {key: "-Xmx2g"})
    assert key not in new_settings("spark://host:7077", {})


def test_a_socket_lies_where_its_path_is_short_enough(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """It has 107 bytes at most."""
    key = "spark.python.unix.domain.socket.dir"
    for folder, expected in ((str(tmp_path)[:4], str(tmp_path)[:4]), ("/" + "long/" * 20, "/tmp")):
        monkeypatch.setattr("tempfile.gettempdir", lambda folder=folder: folder)
        assert new_settings("local", {})[key] == expected


def test_what_is_set_elsewhere_is_found(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """In Spark's file, and in the arguments of PySpark, which win."""
    monkeypatch.delenv("PYSPARK_GATEWAY_PORT", raising=False)
    monkeypatch.setenv("SPARK_CONF_DIR", str(tmp_path))
    monkeypatch.setenv("PYSPARK_SUBMIT_ARGS", "--conf a=1 --conf 'b=x y' pyspark-shell")
    (tmp_path / "spark-defaults.conf").write_text("# mine\nb   2\nspark.ui.enabled\ttrue\n")

    assert _settings_elsewhere() == {"a": "1", "b": "x y", "spark.ui.enabled": "true"}


def run_python(program: str, *arguments: object, **variables: str) -> str:
    """Run a program in a process of its own; return what it prints."""
    done = subprocess.run(
        [sys.executable, "-c", program, *map(str, arguments)],
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-4000:]
    return done.stdout


GUEST = """
import sys
from pyspark.sql import SparkSession
from kdiag.pipeline.output.views import ask
from kdiag.pipeline.job import Job
from kdiag.pipeline.run import run
from kdiag.pipeline.session import open_session
from kdiag.report.sql_report import Query

capture, out = sys.argv[1:]
mine = {"spark.sql.adaptive.enabled": "true", "spark.sql.session.timeZone": "America/New_York"}
builder = SparkSession.builder.master("local[1]").config("spark.ui.enabled", "false")
for key, value in mine.items():
    builder = builder.config(key, value)
session = builder.getOrCreate()
same = open_session("local[2]")
rows = run(same, Job((capture,), out, parts=2)).rows["exchanges"]
hour = ask(same, out, Query("SELECT min(EXTRACT(hour FROM time)) AS hour FROM exchanges", {}))
print(same is session, {key: session.conf.get(key) for key in mine} == mine)
print(rows, hour.to_pylist(), session.catalog.tableExists("exchanges"))
"""


@pytest.mark.soak
@pytest.mark.usefixtures("spark_is_here")
def test_a_session_that_is_there_keeps_its_settings(tmp_path: Path) -> None:
    """A notebook loses neither its time zone, nor its adaptive plans, nor gets views unasked."""
    capture = CAPTURES / "acks.pcap"
    first, second = run_python(GUEST, capture, tmp_path).splitlines()[-2:]
    table = tables_of([capture])["exchanges"]
    hour = min(time.hour for time in table["time"].to_pylist())

    assert first == "True True"
    assert second == f"{table.num_rows} [{{'hour': {hour}}}] False"


OWN = """
import sys
from kdiag.pipeline.job import Job
from kdiag.pipeline.run import run
from kdiag.pipeline.session import open_session

capture, out = sys.argv[1:]
session = open_session("local[1]")
print(run(session, Job((capture,), out, parts=1)).rows["exchanges"])
print(session.conf.get("spark.sql.adaptive.enabled"))
"""


@pytest.mark.soak
@pytest.mark.usefixtures("spark_is_here")
def test_a_long_temporary_folder_and_settings_elsewhere_do_no_harm(tmp_path: Path) -> None:
    """As every container of YARN has; what PySpark's arguments set stays."""
    folder = tmp_path / ("deep" * 40)
    folder.mkdir()
    capture = CAPTURES / "acks.pcap"
    printed = run_python(
        OWN,
        capture,
        tmp_path / "out",
        _JAVA_OPTIONS=f"-Djava.io.tmpdir={folder}",
        TMPDIR=str(folder),
        PYSPARK_SUBMIT_ARGS="--conf spark.sql.adaptive.enabled=true pyspark-shell",
    )

    assert printed.split()[-2:] == [str(tables_of([capture])["exchanges"].num_rows), "true"]
