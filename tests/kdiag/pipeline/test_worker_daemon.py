import sys
from pathlib import Path

import pytest

from kdiag.pipeline.worker_daemon import without_archives


def test_the_archives_of_an_installed_pyspark_are_left_out(tmp_path: Path) -> None:
    """Others stay, such as those that a user sends."""
    pyspark = pytest.importorskip("pyspark")
    archives = Path(pyspark.__file__).parent / "python" / "lib"
    own = str(tmp_path / "own.zip")
    given = [str(archives / "pyspark.zip"), own, *sys.path]

    assert without_archives(given) == [own, *sys.path]


def test_archives_stay_where_nothing_else_has_pyspark(tmp_path: Path) -> None:
    """As in a distribution of Spark."""
    given = [str(tmp_path / "python" / "lib" / "pyspark.zip"), str(tmp_path)]

    assert without_archives(given) == given
