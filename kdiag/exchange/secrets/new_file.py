"""Files in the place of others: new ones, so that nothing of the old one is left in force.

    with open_new(folder / "all.pcap", is_private=True) as file:
        file.write(b"...")

What stands at a path may be a link that another user made, or a file that others may read.
So a file is made beside it, by a name that cannot be guessed, and renamed into its place at once.
A link is replaced and not followed, and whoever has the old file open does not see what the new one
says.

Devices and pipes are written to as they are: `/dev/stdout`, `/dev/fd/63`, the user's named pipes.

Source: open(2), `O_EXCL`; rename(2).
"""

import os
import stat
from contextlib import suppress
from pathlib import Path
from secrets import token_hex
from typing import BinaryIO, Final

PRIVATE_FILE: Final = 0o600
PRIVATE_FOLDER: Final = 0o700
_ANY: Final = 0o666
"""The rights that the umask is taken from."""

_OF_OTHERS: Final = 0o077
_FLAGS: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_DEVICES: Final = ("/dev/", "/proc/")


def open_new(path: Path, *, is_private: bool) -> BinaryIO:
    """Open a new file in the place of whatever has its name.

    Args:
        path: in a folder that is there.
        is_private: whether its owner alone may read it; else the umask says who may.

    Raises:
        OSError: if it cannot be written.
    """
    if _is_stream(path):
        return path.open("wb")
    beside = path.with_name(f".kdiag-{token_hex(8)}.new")
    descriptor = os.open(beside, _FLAGS, PRIVATE_FILE if is_private else _ANY)
    try:
        beside.replace(path)
    except OSError:
        os.close(descriptor)
        with suppress(OSError):
            beside.unlink()
        raise
    return os.fdopen(descriptor, "wb")


def make_private_folder(folder: Path) -> None:
    """Make a folder that its owner alone may enter, and those above it that are not there.

    One that is there stays as it is.

    Raises:
        OSError: if that fails.
    """
    if not folder.parent.exists():
        make_private_folder(folder.parent)
    folder.mkdir(mode=PRIVATE_FOLDER, exist_ok=True)


def is_private_folder(folder: Path) -> bool:
    """Return whether a folder is one, no link to one, and its owner's alone, who runs this."""
    found = folder.lstat()
    is_own = stat.S_ISDIR(found.st_mode) and found.st_uid == os.getuid()
    return is_own and not found.st_mode & _OF_OTHERS


def _is_stream(path: Path) -> bool:
    """Return whether a path is a device or a pipe, by a name that others cannot have made."""
    if str(path.absolute()).startswith(_DEVICES):
        return True
    try:
        found = path.lstat()
    except OSError:
        return False
    is_own_pipe = stat.S_ISFIFO(found.st_mode) and found.st_uid == os.getuid()
    return is_own_pipe or stat.S_ISCHR(found.st_mode)
