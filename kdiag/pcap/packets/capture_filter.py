"""Capture filters: what libpcap makes of `tcp port 9092`, for the kernel to run on each packet.

The compiler is tcpdump's, which whoever captures has, or can have. It is asked about an empty
capture file, so it needs neither an interface nor rights:

    tcp port 9092   ->   24 instructions    48 0 0 0 / 84 0 0 240 / ... / 6 0 0 262144 / 6 0 0 0

The program looks at packets as the socket sees them, so it depends on their link type. A VLAN tag
it cannot see: the kernel takes tags off before.

Source: tcpdump(1) `-ddd`; Linux `Documentation/networking/filter.rst` and
`include/uapi/linux/filter.h`.
"""

import re
import shutil
import struct
import subprocess
from typing import Final

from kdiag.errors import CaptureError
from kdiag.pcap.writer.savefile import file_header

_PLACES: Final = ("/usr/sbin", "/usr/local/sbin", "/usr/bin", "/sbin")
_INSTRUCTION: Final = struct.Struct("=HBBI")
_LINE: Final = re.compile(r"\d+ \d+ \d+ \d+")
_VLAN: Final = re.compile(r"\bvlan\b")
_COMPILE_S: Final = 10
_RETURN: Final = 6
_WHOLE: Final = 1 << 18
"""What a filter lets pass is captured with all its bytes: no packet of Linux is longer."""

INSTRUCTION_BYTES: Final = _INSTRUCTION.size
"""The size of an instruction: code, two jumps, operand."""


def compile_filter(text: str, link_type: int) -> bytes:
    """Compile a filter with tcpdump; return its instructions as the kernel has them.

    Args:
        text: in the language of pcap-filter(7).
        link_type: LINKTYPE_ value of the packets.

    Raises:
        CaptureError: there is no tcpdump, or the filter is wrong.
    """
    if _VLAN.search(text):
        raise _refusal(text, "`vlan` cannot be filtered: the kernel takes tags off before a filter")
    places = shutil.which("tcpdump") or shutil.which("tcpdump", path=":".join(_PLACES))
    if places is None:
        raise _refusal(text, "tcpdump compiles filters: install it, or leave --filter out")
    try:
        result = subprocess.run(  # noqa: S603 - the program that it says, the text as one argument
            [places, "-r", "-", "-ddd", "--", text],
            input=file_header(link_type),
            capture_output=True,
            timeout=_COMPILE_S,
            check=False,
        )
    except (OSError, ValueError, subprocess.TimeoutExpired) as error:
        raise _refusal(text, f"tcpdump cannot compile it: {error}") from error
    lines = result.stdout.decode(errors="replace").split("\n")
    program = [_instruction(line) for line in lines if _LINE.fullmatch(line)]
    if result.returncode or not program:
        raise _refusal(text, _reason(result.stderr.decode(errors="replace")))
    return b"".join(program)


def _instruction(line: str) -> bytes:
    code, if_true, if_false, operand = map(int, line.split())
    if code == _RETURN and operand:
        operand = _WHOLE
    return _INSTRUCTION.pack(code, if_true, if_false, operand)


def _reason(said: str) -> str:
    """Return the last line of what tcpdump said, without its name."""
    lines = [line for line in said.splitlines() if line.startswith("tcpdump: ")]
    return lines[-1].removeprefix("tcpdump: ") if lines else "tcpdump cannot compile it"


def _refusal(text: str, why: str) -> CaptureError:
    return CaptureError(f"filter {text!r}", why)
