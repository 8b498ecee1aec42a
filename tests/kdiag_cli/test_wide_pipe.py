import fcntl
import io
import os
import sys
from pathlib import Path

import pytest

from kdiag_cli.wide_pipe import widen


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux can change the size of a pipe")
def test_a_pipe_takes_a_megabyte() -> None:
    """Its writer need not wait for that long."""
    reader, writer = os.pipe()
    with os.fdopen(reader, "rb"), os.fdopen(writer, "w", encoding="utf-8") as stream:
        widen(stream)
        assert fcntl.fcntl(writer, fcntl.F_GETPIPE_SZ) == 1 << 20


def test_what_is_no_pipe_stays_as_it_is(tmp_path: Path) -> None:
    """A file, or no file at all."""
    with (tmp_path / "file").open("w", encoding="utf-8") as stream:
        widen(stream)
    widen(io.StringIO())
