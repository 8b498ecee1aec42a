"""All captures there are to try things on: those that ship, the reference's, and the hard cases."""

import json
import os
from collections.abc import Iterator
from pathlib import Path
from typing import Final, NamedTuple

from folders import ROOT, TLS_CAPTURES
from recordings.hard_captures import CASES, Packets, base, one_sided, retransmitted, write

_HOUR_S: Final = 3600
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
    for folder in (ROOT / "captures", TLS_CAPTURES):
        for file in sorted(folder.glob("*.pcap*")):
            yield _with_keylog(file.stem, [file])
    for truth in sorted(REFERENCE.glob("*.json")) if "KDIAG_REFERENCE" in os.environ else []:
        names = [each["name"] for each in json.loads(truth.read_text())["files"]]
        yield _with_keylog(truth.stem, [REFERENCE / name for name in names if ".pcap" in name])


def write_hard_cases(folder: Path) -> Iterator[CaptureSet]:
    """Write the hard cases of TCP and of recorders into a folder, an hour apart, and yield them."""
    cases: dict[str, tuple[Packets, int | None]] = {
        name: (make(), None) for name, (make, _) in CASES.items()
    }
    cases |= {f"snap-{size}": (base(), size) for size in (200, 96)}
    cases["asked"] = one_sided(base(), source_port=40_000), None
    cases["told"] = one_sided(base(), source_port=9092), None
    cases["repeated"] = retransmitted(), None
    for number, (name, (packets, snap_bytes)) in enumerate(cases.items()):
        for packet in packets:
            packet.time = float(packet.time) + number * _HOUR_S
        file = folder / f"{name.replace('/', '-')}.pcap"
        yield _with_keylog(name, [write(packets, file, snap_bytes=snap_bytes)])


def _with_keylog(name: str, files: list[Path]) -> CaptureSet:
    keys = files[0].with_suffix(".keylog")
    return CaptureSet(name, files, keys.read_bytes() if keys.exists() else b"")
