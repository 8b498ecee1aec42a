"""Writes captures/NAME.jsonl: what `kdiag decode` says of each capture that ships.

    python tests/rig/recordings/expected_exchanges.py

Read the difference before it is committed: it is a change of what users' scripts are given.
"""

import subprocess
import sys
from pathlib import Path
from typing import Final

from folders import CAPTURES

_PROGRAM: Final = "from kdiag_cli.__main__ import main; main()"


def decode_lines(capture: Path) -> bytes:
    """Return the JSON lines of a capture, with the values of records."""
    arguments = ["decode", "--output", "jsonl", "--values", str(capture)]
    done = subprocess.run(
        [sys.executable, "-c", _PROGRAM, *arguments], capture_output=True, check=False
    )
    if done.returncode not in (0, 8):
        raise RuntimeError(done.stderr.decode(errors="replace"))
    return done.stdout


def main() -> None:
    """Write the lines of every capture beside it."""
    for capture in sorted(CAPTURES.glob("*.pcap")):
        capture.with_suffix(".jsonl").write_bytes(decode_lines(capture))


if __name__ == "__main__":
    main()
