"""Files that are complete or absent, wherever a URI reaches, and the lock of a folder.

A file is written beside its place and moved there, so that a reader never sees half of it; what a
process that was killed leaves behind has another name.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from pyarrow import fs

from kdiag.errors import ReportError
from kdiag.report.uri import create_parent, resolve

_LOCK: Final = "lock"


@contextmanager
def locked(folder: str) -> Iterator[None]:
    """Keep other processes of this machine from using a checkpoint meanwhile.

    In an object store nothing is locked: there Spark's own log ends the second stream.

    Raises:
        ReportError: if one uses it.
    """
    system, path = resolve(folder)
    if not isinstance(system, fs.LocalFileSystem):
        yield
        return
    Path(path).mkdir(parents=True, exist_ok=True)
    with Path(path, _LOCK).open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise ReportError(folder, "is in use by another process: wait, or end it") from None
        yield


def write_whole(uri: str, data: bytes) -> None:
    """Write a file completely, and replace an older one."""
    system, path = resolve(uri)
    create_parent(system, path)
    with system.open_output_stream(f"{path}.partial") as stream:
        stream.write(data)
    system.move(f"{path}.partial", path)


def read_whole(uri: str) -> bytes | None:
    """Return the content of a file; None if there is none."""
    system, path = resolve(uri)
    if system.get_file_info(path).type != fs.FileType.File:
        return None
    with system.open_input_stream(path) as stream:
        return bytes(stream.read())
