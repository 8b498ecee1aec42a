"""Files that hold a secret: their owner alone can read them, from their first byte on.

    write_private(folder / "client.properties", b"...")

A file or link that is there already is replaced, as `open_new` says.
"""

from pathlib import Path

from kdiag.errors import ConfigError
from kdiag.exchange.secrets.new_file import open_new


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
        with open_new(path, is_private=True) as file:
            file.write(data)
    except OSError as error:
        raise ConfigError(str(path), "lab", f"cannot be written: {error.strerror}") from None
