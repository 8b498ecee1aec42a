"""Frame steps: how an answer leaves, write by write, when something is to go wrong with it.

    leave_by(plan, payload)  ->  Departure(steps, ending)

    100 bytes, close=middle             [104 // 2 bytes]                      CLOSE
    100 bytes, stall=3                  [3 bytes]                             SILENCE
    100 bytes, split=40                 [40 bytes] [40 bytes] [24 bytes]      DONE
    100 bytes, bandwidth=2kB/s          [40 bytes] 20 ms [40 bytes] 20 ms ... DONE
    100 bytes, corrupt=0, truncate=50   [54 bytes, of which one is another]   DONE

A byte is changed first, then the frame is cut, which its length prefix says; then it is known how
much of it leaves, and at last in which writes.
"""

from collections.abc import Iterable, Iterator
from enum import Enum, auto
from typing import Final, NamedTuple

from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.lab.fault.fault_plan import FaultPlan
from kdiag.net.send import LENGTH

SLICE_NS: Final = 20 * NS_PER_MS
"""How often bytes leave where the bandwidth is limited."""

_FLIPPED: Final = 0xFF


class AnswerEnd(Enum):
    """What comes after the last write."""

    DONE = auto()
    """The next request."""
    CLOSE = auto()
    """The end of the connection."""
    SILENCE = auto()
    """Nothing, for ever."""


class WriteStep(NamedTuple):
    """A write.

    Attributes:
        data: what is written.
        wait_ns: how long after the write before.
    """

    data: bytes
    wait_ns: int = 0


class Departure(NamedTuple):
    """How an answer leaves.

    Attributes:
        steps: its writes; they may be many, and are made one by one.
        ending: what comes then.
    """

    steps: Iterator[WriteStep]
    ending: AnswerEnd


def leave_by(plan: FaultPlan, payload: bytes) -> Departure:
    """Return how an answer leaves.

    Args:
        plan: what goes wrong.
        payload: the frame, without its length prefix.
    """
    data = _damaged(plan, payload)
    data, ending = _as_far_as(plan, LENGTH.pack(len(data)) + data)
    return Departure(iter(_steps(plan, data)), ending)


def framed(payload: bytes) -> bytes:
    """Return a frame with its length prefix."""
    return LENGTH.pack(len(payload)) + payload


def _damaged(plan: FaultPlan, payload: bytes) -> bytes:
    """Return a frame of which a byte is another, or of which the end is missing."""
    position = plan.first("corrupt")
    if position is not None and -len(payload) <= position < len(payload):
        changed = bytearray(payload)
        changed[position] ^= _FLIPPED
        payload = bytes(changed)
    size = plan.first("truncate_bytes")
    return payload if size is None else payload[:size]


def _as_far_as(plan: FaultPlan, data: bytes) -> tuple[bytes, AnswerEnd]:
    """Return what leaves of a frame, and what comes then."""
    close, stall = plan.first("close"), plan.first("stall_bytes")
    if plan.first("drop") is not None:
        return b"", AnswerEnd.SILENCE
    if close == "before":
        return b"", AnswerEnd.CLOSE
    if stall is not None:
        return data[:stall], AnswerEnd.SILENCE
    if close == "middle":
        return data[: len(data) // 2], AnswerEnd.CLOSE
    return data, AnswerEnd.DONE if close is None else AnswerEnd.CLOSE


def _steps(plan: FaultPlan, data: bytes) -> Iterable[WriteStep]:
    size, rate = plan.first("split_bytes"), plan.first("bytes_per_s")
    if not data:
        return ()
    if size is None and rate is None:
        return (WriteStep(data),)
    wait_ns = 0
    if rate is not None:
        slice_bytes = max(1, rate * SLICE_NS // NS_PER_S)
        size = slice_bytes if size is None else min(size, slice_bytes)
        wait_ns = size * NS_PER_S // rate
    assert size is not None
    return _pieces(data, size, wait_ns)


def _pieces(data: bytes, size: int, wait_ns: int) -> Iterator[WriteStep]:
    """Return writes of some bytes, with pauses between them that make the bandwidth."""
    for start in range(0, len(data), size):
        yield WriteStep(data[start : start + size], wait_ns)
