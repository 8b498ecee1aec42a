import fcntl
import io
import os
import sys
from pathlib import Path

import pytest

from kdiag_cli.output.pipe import require_reader, widen


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


def test_a_pipe_without_a_reader_is_told(tmp_path: Path) -> None:
    """Before anything is written; all other streams may be read by somebody, at some time."""
    reader, writer = os.pipe()
    with os.fdopen(writer, "w", encoding="utf-8") as stream:
        require_reader(stream)
        os.close(reader)
        with pytest.raises(BrokenPipeError):
            require_reader(stream)
    with (tmp_path / "file").open("w", encoding="utf-8") as stream:
        require_reader(stream)
    require_reader(io.StringIO())
