"""A capture as a file: how large it is, and when its packets were.

Filled while it is read, by whoever reads all of it: one process, or the walk that divides a capture
among many. So all of them say the same of it.
"""

from typing import Any

import msgspec
import numpy.typing as npt

from kdiag.errors import CaptureError


class CaptureFacts(msgspec.Struct):
    """What is known of a capture.

    Attributes:
        name: as it was given.
        stored_bytes: its size as it is stored; None for a pipe.
        modified_ns: when it was written last, since 1970; None for a pipe.
        packets: how many were read, of all protocols.
        first_ns, last_ns: the earliest and the latest time of these; None without any.
        damage: why not all of it could be read; None if it could.
    """

    name: str
    stored_bytes: int | None = None
    modified_ns: int | None = None
    packets: int = 0
    first_ns: int | None = None
    last_ns: int | None = None
    damage: str | None = None

    def break_off(self, error: CaptureError) -> None:
        """Note where reading ended before the end of the file, and why."""
        self.damage = str(CaptureError(self.name, error.why, offset=error.offset))

    def add(self, time_ns: npt.NDArray[Any]) -> None:
        """Add packets by their times, at least one."""
        first_ns, last_ns = int(time_ns.min()), int(time_ns.max())
        self.packets += len(time_ns)
        self.first_ns = first_ns if self.first_ns is None else min(self.first_ns, first_ns)
        self.last_ns = last_ns if self.last_ns is None else max(self.last_ns, last_ns)
