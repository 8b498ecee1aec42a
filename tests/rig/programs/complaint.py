"""The one clear line with which a command refuses, out of what it wrote on stderr.

Usage: kdiag decode [OPTIONS] [FILE]...          wrong usage: the line that begins with Error
Try 'kdiag decode -h' for help.

Error: Invalid value for '--port': 0 is not in the range 1<=x<=65535.

kdiag: nosuch.pcap: cannot be opened: No such file or directory      anything else: the only one
kdiag:   what to do about it is indented
"""

import shlex
from pathlib import Path
from typing import Final

from folders import CAPTURES
from programs.kdiag_program import Done, kdiag

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


def assert_refused(line: str, words: str, folder: Path) -> None:
    """Run a command line that is wrong: it has done nothing, and says why in one line.

    Args:
        line: the arguments; `acks.pcap` is a capture in it, and `TMP` the folder.
        words: of the line on stderr, with the same names.
        folder: an empty one.
    """
    stands = {"acks.pcap": str(CAPTURES / "acks.pcap"), "TMP": str(folder)}
    arguments = shlex.split(line)
    for short, text in stands.items():
        arguments = [each.replace(short, text) for each in arguments]
        words = words.replace(short, text)
    done = kdiag(*arguments)
    assert (done.code, done.out) == (2, "")
    assert words in complaint(done)
