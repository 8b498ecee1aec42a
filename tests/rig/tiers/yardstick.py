"""How fast this machine is now: the CPU time of a fixed piece of work, as tests do much of it.

CPU time is not the same everywhere. A core with a lower clock, or one that shares its cache and its
units with a busy neighbour, needs more seconds for the same work. So whoever judges seconds asks
here how many this work takes beside them.
"""

import gc
import struct
import time
from typing import Final

REFERENCE_MS: Final = 40.0
"""What the work took on the machine for which budgets are written, while two workers ran on its two
cores and nothing else did."""

_RECORDS: Final = 24_000
_FIELDS: Final = struct.Struct(">iqI")


def measure_ms() -> float:
    """Return the CPU time of the work in this thread, in milliseconds.

    The garbage collector is off meanwhile: what it takes depends on what the tests keep.
    """
    was_enabled = gc.isenabled()
    gc.disable()
    try:
        began_ns = time.thread_time_ns()
        work()
        return (time.thread_time_ns() - began_ns) / 1e6
    finally:
        if was_enabled:
            gc.enable()


def slowness() -> float:
    """Return how many times longer than the reference this machine takes now; 1 if not longer."""
    return max(1.0, measure_ms() / REFERENCE_MS)


def work() -> int:
    """Pack, group, sort and read again so many records; return a checksum of them."""
    groups: dict[str, list[dict[str, object]]] = {}
    for offset in range(_RECORDS):
        packed = _FIELDS.pack(offset, offset * offset, offset ^ 0xFFFF)
        record: dict[str, object] = {"key": f"key {offset % 97}", "value": packed, "offset": offset}
        groups.setdefault(f"key {offset % 97}", []).append(record)
    checksum = 0
    for _, records in sorted(groups.items()):
        for record in sorted(records, key=lambda each: str(each["value"])):
            offset, square, other = _FIELDS.unpack(bytes(record["value"]))  # type: ignore[call-overload]
            checksum = (checksum * 31 + offset + square + other) & 0xFFFFFFFF
    return checksum
