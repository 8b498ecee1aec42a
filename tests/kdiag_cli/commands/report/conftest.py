from pathlib import Path

import pytest

from kdiag_cli.output.pages.chart_script import ChartScript


@pytest.fixture
def cached(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep a script that draws nothing, as making the true one takes seconds; return its file."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    script = ChartScript()
    script.discard()
    script._file.parent.mkdir(parents=True)
    script._file.write_text("/* no charts */" + " " * 100_000)
    return script._file
