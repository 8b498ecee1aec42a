"""Standard output that is a pipe: made wide, and watched for the day that nobody reads it.

Linux gives a pipe 64 KiB. What writes a hundred megabytes into that is woken thousands of times.
Who writes into a pipe without a reader is told so; who has nothing to write has to ask.
"""

import fcntl
import io
import select
from contextlib import suppress
from typing import Final, TextIO

_WIDE_BYTES: Final = 1 << 20
"""What Linux allows to everybody (`pipe-max-size`)."""


def widen(stream: TextIO) -> None:
    """Widen a stream that is a pipe; any other, or one that may not be widened, stays as it is."""
    set_size = getattr(fcntl, "F_SETPIPE_SZ", None)  # not on macOS
    if set_size is not None:
        with suppress(OSError):  # also of streams that are no files
            fcntl.fcntl(stream.fileno(), set_size, _WIDE_BYTES)


def require_reader(stream: TextIO) -> None:
    """Do nothing if somebody may read what is written; a file or a terminal always has a reader.

    Raises:
        BrokenPipeError: the stream is a pipe, and its reader has closed it.
    """
    watched = select.poll()
    with suppress(io.UnsupportedOperation):  # it is none of the system's streams
        watched.register(stream.fileno(), 0)  # errors and hang-ups are told unasked
        if watched.poll(0):
            raise BrokenPipeError
