"""The checkpoint of a stream: the state of decoders and sessions between two batches, in files.

The files are pickles, which only the release of kdiag that wrote them reads, from the folder that
its user named. A file is complete or absent.
"""

import copyreg
import io
import pickle
from typing import Any

from pyarrow import fs

from kdiag.pipeline.uri import create_parent, resolve


def save_state(uri: str, value: Any) -> None:
    """Write a state."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    # An incomplete frame holds a view of the last block.
    pickler.dispatch_table = {**copyreg.dispatch_table, memoryview: _reduce_view}
    pickler.dump(value)
    write_whole(uri, buffer.getvalue())


def load_state(uri: str) -> Any:
    """Return a state; None if there is none."""
    data = read_whole(uri)
    return None if data is None else pickle.loads(data)  # noqa: S301 - the user's own checkpoint, see above


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


def _reduce_view(view: memoryview) -> tuple[type, tuple[bytes]]:
    return memoryview, (view.tobytes(),)
