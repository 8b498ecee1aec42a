"""All captures there are to try things on: those that ship, the reference's, and the hard cases."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from hard_captures import CASES, base, one_sided, retransmitted, write

ROOT: Final = Path(__file__).parents[2]
REFERENCE: Final = Path(os.environ.get("KDIAG_REFERENCE", "")) / "captures"


class CaptureSet(NamedTuple):
    """Captures that are read as one recording.

    Attributes:
        name: of the set.
        files: its captures.
        keylog: the TLS secrets beside them.
    """

    name: str
    files: list[Path]
    keylog: bytes


def recorded_sets() -> Iterator[CaptureSet]:
    """Yield the captures of files, rotated ones together."""
    for folder in (ROOT / "captures", ROOT / "tests" / "captures_tls"):
        for file in sorted(folder.glob("*.pcap*")):
            yield _with_keylog(file.stem, [file])
    for truth in sorted(REFERENCE.glob("*.json")) if "KDIAG_REFERENCE" in os.environ else []:
        names = [each["name"] for each in json.loads(truth.read_text())["files"]]
        yield _with_keylog(truth.stem, [REFERENCE / name for name in names if ".pcap" in name])


def write_hard_cases(folder: Path) -> Iterator[CaptureSet]:
    """Write the hard cases of TCP and of recorders into a folder, and yield them."""
    for name, (make, _) in CASES.items():
        yield _with_keylog(name, [write(make(), folder / f"{name.replace('/', '-')}.pcap")])
    for snap_bytes in (200, 96):
        file = folder / f"snap-{snap_bytes}.pcap"
        yield _with_keylog(file.stem, [write(base(), file, snap_bytes=snap_bytes)])
    for port, name in ((40_000, "asked"), (9092, "told")):
        file = folder / f"{name}.pcap"
        yield _with_keylog(name, [write(one_sided(base(), source_port=port), file)])
    yield _with_keylog("repeated", [write(retransmitted(), folder / "repeated.pcap")])


def _with_keylog(name: str, files: list[Path]) -> CaptureSet:
    keys = files[0].with_suffix(".keylog")
    return CaptureSet(name, files, keys.read_bytes() if keys.exists() else b"")
