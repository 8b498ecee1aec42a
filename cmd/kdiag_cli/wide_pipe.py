"""A pipe that takes more at once, so that its writer waits less often for its reader.

Linux gives a pipe 64 KiB. What writes a hundred megabytes into that is woken thousands of times.
"""

import fcntl
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
