"""What a stream keeps between two batches: decoders and sessions as they are, in files.

The files are read by the program that wrote them, from the folder that its user named: they are no
format, and another release of kdiag does not read them. A file is there whole or not at all.
"""

import copyreg
import io
import pickle
from typing import Any

from pyarrow import fs

from kdiag.pipeline.uri import create_parent, resolve


def keep(place: str, value: Any) -> None:
    """Write a value."""
    buffer = io.BytesIO()
    pickler = pickle.Pickler(buffer, pickle.HIGHEST_PROTOCOL)
    # What a frame that is still coming has of the last block.
    pickler.dispatch_table = {**copyreg.dispatch_table, memoryview: _reduce_view}
    pickler.dump(value)
    write_whole(place, buffer.getvalue())


def kept(place: str) -> Any:
    """Return a value; None if there is none."""
    data = read_whole(place)
    return None if data is None else pickle.loads(data)  # noqa: S301 - see above


def write_whole(place: str, data: bytes) -> None:
    """Write a file in place of an older one."""
    system, path = resolve(place)
    create_parent(system, path)
    with system.open_output_stream(f"{path}.partial") as stream:
        stream.write(data)
    system.move(f"{path}.partial", path)


def read_whole(place: str) -> bytes | None:
    """Return what is in a file; None if there is none."""
    system, path = resolve(place)
    if system.get_file_info(path).type != fs.FileType.File:
        return None
    with system.open_input_stream(path) as stream:
        return bytes(stream.read())


def _reduce_view(view: memoryview) -> tuple[type, tuple[bytes]]:
    return memoryview, (view.tobytes(),)
