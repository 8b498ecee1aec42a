from pathlib import Path

import pytest

from kdiag.errors import ReportError
from kdiag.pipeline.session import INSTALL, missing, open_session


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
