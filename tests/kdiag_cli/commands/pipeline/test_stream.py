from pathlib import Path

import pytest

from programs.kdiag_program import kdiag


@pytest.mark.soak
def test_a_stream_needs_a_folder(tmp_path: Path) -> None:
    """What it does with one is tested where it is done, killed and started again."""
    places = ("--out", tmp_path / "out", "--checkpoint", tmp_path / "checkpoint")
    done = kdiag("pipeline", "stream", tmp_path / "in", *places, "--once")

    assert done.code == 2
    assert "is not a folder: name the one that captures come into" in done.err
