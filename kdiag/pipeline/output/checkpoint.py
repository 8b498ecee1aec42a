"""The checkpoint of a stream: the state of decoders and sessions between two batches, in files.

`state_graph` has the format of states, which later releases read or refuse, and `state_table` the
classes that a state may have objects of. A file is data: whoever can write into the folder can make
a stream report nonsense, but not make it do anything else.
"""

from typing import Any, Final, TypeVar

from kdiag.errors import ReportError
from kdiag.pipeline.output.state_graph import decode_state, encode_state
from kdiag.pipeline.output.whole_files import read_whole, write_whole

T = TypeVar("T")

_PICKLE: Final = b"\x80"


def save_state(uri: str, value: Any) -> None:
    """Write a state.

    Raises:
        TypeError: if it holds an object of a class that is not in the table.
    """
    write_whole(uri, encode_state(value))


def load_state(uri: str, kind: type[T] = object) -> T | None:  # type: ignore[assignment]
    """Return a state; None if there is none.

    Args:
        uri: of its file.
        kind: its class.

    Raises:
        ReportError: if it is damaged, of another class, or of a release with another format.
    """
    data = read_whole(uri)
    if data is None:
        return None
    if data.startswith(_PICKLE):
        todo = "close the stream with that, and begin another with a checkpoint of its own"
        raise ReportError(uri, f"is of a release that wrote pickles, which are not read: {todo}")
    state = decode_state(data, uri)
    if not isinstance(state, kind):
        raise ReportError(uri, f"is damaged: it holds {type(state).__name__}, not {kind.__name__}")
    return state
