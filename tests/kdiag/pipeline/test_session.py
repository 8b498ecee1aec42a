from pathlib import Path

import pytest

from kdiag.errors import ReportError
from kdiag.pipeline.session import INSTALL, cores_in, missing, open_session


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

    assert missing() == f"this needs pyspark_that_is_not_there: {INSTALL}"


def test_work_is_prepared_for_the_cores_that_there_are() -> None:
    """A session of a fixed size has them from the start."""
    assert cores_in({}, 2) == 2
    assert cores_in({"spark.dynamicAllocation.enabled": "false"}, 34) == 34


@pytest.mark.parametrize(
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
