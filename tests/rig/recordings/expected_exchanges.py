"""Writes captures/NAME.jsonl: what `kdiag decode` says of each capture that ships.

    PYTHONPATH=tests/rig python -m recordings.expected_exchanges

Read the difference before it is committed: it is a change of what users' scripts are given.
"""

from pathlib import Path

from folders import CAPTURES
from programs.kdiag_program import kdiag


def decode_lines(capture: Path) -> bytes:
    """Return the JSON lines of a capture, with the values of records."""
    done = kdiag("decode", "--output", "jsonl", "--values", capture)
    if done.code not in (0, 8):
        raise RuntimeError(done.err)
    return done.out.encode()


def main() -> None:
    """Write the lines of every capture beside it."""
    for capture in sorted(CAPTURES.glob("*.pcap")):
        capture.with_suffix(".jsonl").write_bytes(decode_lines(capture))


if __name__ == "__main__":
    main()
