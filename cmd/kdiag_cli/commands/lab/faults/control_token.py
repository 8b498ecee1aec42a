"""The token of a control port: a file that only the user who opened the port can read.

    /run/user/1000/kdiag/control-8095.token     by the port: `kdiag lab fault` finds it
    FOLDER/control.token                        beside client.properties, for programs

Both are there as long as the port. Without $XDG_RUNTIME_DIR, or where it belongs to another user
(`sudo`), the first one is in `kdiag-UID` in the folder for temporary files.

Source: XDG Base Directory Specification.
"""

import os
import stat
from contextlib import ExitStack
from pathlib import Path
from typing import Final

from kdiag.errors import ConfigError
from kdiag.lab.security.private_file import write_private

FILE_NAME: Final = "control.token"
_VARIABLE: Final = "XDG_RUNTIME_DIR"
_PRIVATE: Final = 0o700
_OTHERS: Final = 0o077


def publish_token(closing: ExitStack, token: str, port: int, folder: Path | None) -> Path:
    """Write the files of a token, and return the one to name to people and programs.

    Args:
        closing: removes them.
        token: of the control port.
        port: of the control port.
        folder: that of client.properties; None where there is none.

    Raises:
        ConfigError: if one cannot be written.
    """
    files = [token_file(port)]
    _make_folder(files[0].parent)
    if folder is not None:
        files.append(folder / FILE_NAME)
    for file in files:
        write_private(file, f"{token}\n".encode())
        closing.callback(file.unlink, missing_ok=True)
    return files[-1]


def read_token(file: Path) -> str | None:
    """Return the token in a file; None if there is no such file, or it is another user's."""
    try:
        return file.read_text(encoding="ascii").strip()
    except (OSError, ValueError):
        return None


def token_file(port: int) -> Path:
    """Return the file that has the token of a control port of this user, if there is one."""
    given = os.environ.get(_VARIABLE, "")
    if given and _is_own(Path(given)):
        folder = Path(given, "kdiag")
    else:
        from tempfile import gettempdir  # noqa: PLC0415 - 4 ms, if asked for

        folder = Path(gettempdir(), f"kdiag-{os.geteuid()}")
    return folder / f"control-{port}.token"


def _make_folder(folder: Path) -> None:
    """Create a folder, unless it is there already and belongs to this user alone.

    Raises:
        ConfigError: if it cannot be made, or other users can read or write in it.
    """
    try:
        folder.mkdir(mode=_PRIVATE, exist_ok=True)
    except OSError as error:
        raise ConfigError(str(folder), "control token", f"{error.strerror}") from None
    if not _is_own(folder) or stat.S_IMODE(folder.lstat().st_mode) & _OTHERS:
        why = f"other users can use this folder: remove it, or set {_VARIABLE} to one of your own"
        raise ConfigError(str(folder), "control token", why)


def _is_own(folder: Path) -> bool:
    """Return whether this is a folder, and not a link, of whoever runs this."""
    try:
        found = folder.lstat()
    except OSError:
        return False
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid()
