import subprocess
from pathlib import Path

import pytest

from kdiag_program import start_kdiag


@pytest.mark.spark
def test_a_stream_needs_a_folder(tmp_path: Path) -> None:
    """What it does with one is tested where it is done, killed and started again."""
    arguments = ("--out", tmp_path / "out", "--checkpoint", tmp_path / "checkpoint", "--once")
    process = start_kdiag("pipeline", "stream", tmp_path / "in", *arguments, stderr=subprocess.PIPE)
    _, err = process.communicate()

    assert process.returncode == 2
    assert b"is no folder: name the one that captures come into" in err
