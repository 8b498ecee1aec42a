"""The checkpoint of a stream: the state of decoders and sessions between two batches, in files.

A file is complete or absent. `state_graph` has the format of states, which later releases read.
"""

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

from pyarrow import fs

from kdiag.errors import ReportError
from kdiag.pipeline.output.state_graph import decode_state, encode_state
from kdiag.report.uri import create_parent, resolve

_PICKLE: Final = b"\x80"
_LOCK: Final = "lock"


def save_state(uri: str, value: Any) -> None:
    """Write a state.

    Raises:
        TypeError: if it holds what is not kdiag's own.
    """
    write_whole(uri, encode_state(value))


def load_state(uri: str) -> Any:
    """Return a state; None if there is none.

    Raises:
        ReportError: if it is damaged, or of a release that reads another format.
    """
    data = read_whole(uri)
    if data is None:
        return None
    if data.startswith(_PICKLE):
        todo = "close the stream with that, and begin another with a checkpoint of its own"
        raise ReportError(uri, f"is of a release that wrote pickles, which are not read: {todo}")
    return decode_state(data, uri)


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
