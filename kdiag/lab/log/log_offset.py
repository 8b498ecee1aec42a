"""An offset of a log, and where it is: how far apart two of them are, in bytes, without reading.

    LogOffsetMetadata(4711, segment_base_offset=4000, relative_position=70_000)

is offset 4711, 70,000 bytes behind the beginning of the segment 4000. Two offsets of one segment
are so many bytes apart as their positions are; of two segments it is known which is older. An
offset alone (`LogOffsetMetadata(4711)`) is neither: nobody has looked where it is.

Source: Kafka's `LogOffsetMetadata`, `LogOffsetSnapshot`.
"""

from typing import Final, NamedTuple

_UNKNOWN: Final = -1


class LogOffsetMetadata(NamedTuple):
    """An offset, and its place if it is known.

    Attributes:
        message_offset: the offset.
        segment_base_offset: the segment that holds it, by its first offset; -1 if not known.
        relative_position: bytes from the beginning of that segment; -1 if not known.
    """

    message_offset: int
    segment_base_offset: int = _UNKNOWN
    relative_position: int = _UNKNOWN

    @property
    def is_message_offset_only(self) -> bool:
        """Return whether its place is not known."""
        return self.segment_base_offset == _UNKNOWN

    def is_on_older_segment(self, other: "LogOffsetMetadata") -> bool:
        """Return whether it is known to be in an older segment than another offset."""
        if self.is_message_offset_only or other.is_message_offset_only:
            return False
        return self.segment_base_offset < other.segment_base_offset

    def is_on_same_segment(self, other: "LogOffsetMetadata") -> bool:
        """Return whether it is known to be in the same segment as another offset."""
        if self.is_message_offset_only or other.is_message_offset_only:
            return False
        return self.segment_base_offset == other.segment_base_offset


class LogOffsetSnapshot(NamedTuple):
    """The ends of a log at one moment.

    Attributes:
        log_start_offset: the first offset that can be read.
        log_end_offset: the offset of the next record, for followers.
        high_watermark: what all replicas in sync have ends before it, for consumers.
        last_stable_offset: no transaction is open before it, for `read_committed`.
    """

    log_start_offset: int
    log_end_offset: LogOffsetMetadata
    high_watermark: LogOffsetMetadata
    last_stable_offset: LogOffsetMetadata
