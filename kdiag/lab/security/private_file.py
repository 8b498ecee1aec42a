"""Files that hold a secret: their owner alone can read them, from their first byte on.

    write_private(folder / "client.properties", b"...")

A file that is there already is replaced by a new one, lest it keeps the rights that it had: whoever
could read the old one, or has it open, does not get to see what the new one says.

Source: open(2), `O_EXCL`.
"""

import os
from pathlib import Path
from typing import Final

from kdiag.errors import ConfigError

_PRIVATE: Final = 0o600
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL


def write_private(path: Path, data: bytes) -> None:
    """Write a file that its owner alone can read.

    Nobody else has a moment in which it could be opened: it is made with these rights, and is not
    followed if it is a link to somewhere else.

    Args:
        path: in a folder that is there.
        data: all of it.

    Raises:
        ConfigError: if it cannot be written.
    """
    try:
        path.unlink(missing_ok=True)
        descriptor = os.open(path, _FLAGS, _PRIVATE)
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
    except OSError as error:
        raise ConfigError(str(path), "lab", f"cannot be written: {error.strerror}") from None
