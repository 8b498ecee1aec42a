"""The one clear line with which a command refuses, out of what it wrote on stderr.

Usage: kdiag decode [OPTIONS] [FILE]...          wrong usage: the line that begins with Error
Try 'kdiag decode -h' for help.

Error: Invalid value for '--port': 0 is not in the range 1<=x<=65535.

kdiag: nosuch.pcap: cannot be opened: No such file or directory      anything else: the only one
kdiag:   what to do about it is indented
"""

from typing import Final

from programs.kdiag_program import Done

_USAGE: Final = "Usage: "
_ERROR: Final = "Error: "
_OWN: Final = "kdiag: "
_REMEDY: Final = "kdiag:   "


def complaint(done: Done) -> str:
    """Return the line, if there is exactly one and it says something."""
    assert "Traceback" not in done.err
    lines = [line for line in done.err.splitlines() if not line.startswith(_REMEDY)]
    if lines and lines[0].startswith((_USAGE, _ERROR)):
        lines = [line for line in lines if line.startswith(_ERROR)]
    assert len(lines) == 1, done.err
    (line,) = lines
    assert line.startswith((_ERROR, _OWN))
    assert line.removeprefix(_OWN).removeprefix(_ERROR).strip()
    return line
