import stat
from pathlib import Path

import pytest

from kdiag.errors import ConfigError
from kdiag.lab.security.private_file import write_private


def test_what_cannot_be_written_is_said(tmp_path: Path) -> None:
    """With the file."""
    with pytest.raises(ConfigError, match="No such file or directory"):
        write_private(tmp_path / "none" / "file", b"")


def test_a_file_that_is_there_is_replaced(tmp_path: Path) -> None:
    """With rights of its own."""
    path = tmp_path / "file"
    path.write_text("old")
    path.chmod(0o644)
    write_private(path, b"new")
    assert path.read_bytes() == b"new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
