"""The segments of a log, in the order of their base offsets.

The last one is the active one: only it is appended to. An offset is in the segment with the largest
base offset that is not above it, if it is anywhere.

Source: Kafka's `LogSegments`.
"""

from bisect import bisect_left, bisect_right
from collections.abc import Iterator

from kdiag.lab.log.segment import LogSegment


class LogSegments:
    """The segments of a log."""

    def __init__(self) -> None:
        self._offsets: list[int] = []
        self._segments: dict[int, LogSegment] = {}

    def __len__(self) -> int:
        return len(self._offsets)

    def __iter__(self) -> Iterator[LogSegment]:
        return iter([self._segments[offset] for offset in self._offsets])

    @property
    def base_offsets(self) -> list[int]:
        """Return the base offsets, ascending."""
        return [*self._offsets]

    @property
    def active(self) -> LogSegment:
        """Return the last segment."""
        return self._segments[self._offsets[-1]]

    @property
    def first(self) -> LogSegment:
        """Return the first segment."""
        return self._segments[self._offsets[0]]

    @property
    def size_in_bytes(self) -> int:
        """Return the bytes of all .log files together."""
        return sum(segment.size for segment in self._segments.values())

    def add(self, segment: LogSegment) -> None:
        """Add a segment, instead of the one with its base offset if there is one."""
        if segment.base_offset not in self._segments:
            self._offsets.insert(
                bisect_left(self._offsets, segment.base_offset), segment.base_offset
            )
        self._segments[segment.base_offset] = segment

    def remove(self, segment: LogSegment) -> None:
        """Remove a segment; its files stay."""
        self._offsets.remove(segment.base_offset)
        del self._segments[segment.base_offset]

    def floor(self, offset: int) -> LogSegment | None:
        """Return the segment that holds an offset, if any does."""
        after = bisect_right(self._offsets, offset)
        return self._segments[self._offsets[after - 1]] if after else None

    def after(self, segment: LogSegment) -> LogSegment | None:
        """Return the segment after another; None after the last."""
        index = bisect_right(self._offsets, segment.base_offset)
        return self._segments[self._offsets[index]] if index < len(self._offsets) else None

    def from_offset(self, offset: int) -> list[LogSegment]:
        """Return the segment that holds an offset and those after it."""
        start = max(0, bisect_right(self._offsets, offset) - 1)
        return [self._segments[each] for each in self._offsets[start:]]
