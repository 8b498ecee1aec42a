"""The frames of one direction of a Kafka connection, found again where their place was lost."""

from bisect import bisect_right
from collections.abc import Callable
from typing import Final, NamedTuple

from kdiag.pcap.kafka.frame_cutter import FrameCutter, FrameSink
from kdiag.pcap.kafka.frame_heuristics import FrameHeuristics
from kdiag.pcap.kafka.resync import Found, FrameSearch
from kdiag.pcap.tcp.segments import Segments

_MAX_LOSSES: Final = 4  # in one call, so that hostile bytes cost little


class FrameLimits(NamedTuple):
    """The bounds of frames and searches.

    Attributes:
        max_frame_bytes: the largest size that a frame may state.
        max_search_bytes: how much is kept while searching for a frame.
    """

    max_frame_bytes: int
    max_search_bytes: int


class Skip(NamedTuple):
    """Bytes of a direction of which no frame can be made.

    Attributes:
        offset: where in the stream they, or the missing bytes before them, start.
        size: how many of them are in the capture.
        time_ns: when that was known, since 1970.
        why: the reason.
    """

    offset: int
    size: int
    time_ns: int
    why: str


class FrameStream:
    """Cuts a direction into frames, and searches for the next one when its place is unknown.

    Attributes:
        on_frames: if set, called with the number of frames announced before, after each call.
    """

    __slots__ = (
        "_cutter",
        "_heuristics",
        "_limits",
        "_lost_at",
        "_offset",
        "_on_skip",
        "_search",
        "_sink",
        "_why",
        "on_frames",
    )

    def __init__(
        self,
        sink: FrameSink,
        limits: FrameLimits,
        heuristics: Callable[[], FrameHeuristics],
        on_skip: Callable[[Skip], None],
    ) -> None:
        """Start with the first byte of a frame.

        Args:
            sink: receives the frames.
            limits: their bounds.
            heuristics: called when the place is lost; recognise the next frame.
            on_skip: called for bytes of which no frame can be made.
        """
        self.on_frames: Callable[[int], None] | None = None
        self._sink = sink
        self._limits = limits
        self._heuristics = heuristics
        self._on_skip = on_skip
        self._offset = 0
        self._lost_at = 0
        self._why = ""
        self._cutter = FrameCutter(sink, limits.max_frame_bytes)
        self._search: FrameSearch | None = None

    @property
    def is_searching(self) -> bool:
        """Return whether the next frame's place is unknown."""
        return self._search is not None

    def unresolved_packet(self, oldest: int) -> int | None:
        """Return the first packet, from `oldest` on, that may start a frame not announced yet."""
        return (self._search or self._cutter).unresolved_packet(oldest)

    def skip(self, size: int, skip: Skip) -> None:
        """Pass over the next bytes, of which no frame can be made.

        Args:
            size: how many bytes of the stream; more than `skip` has if some are missing.
            skip: what to report.
        """
        self._offset += size
        if skip.size:
            self._on_skip(skip)

    def search(self, why: str) -> None:
        """Search for the next frame from the next byte on."""
        self._lost_at, self._why = self._offset, why
        self._search = FrameSearch(self._heuristics(), self._limits.max_search_bytes)

    def add_segments(self, segments: Segments, first: int, last: int, known: int = 0) -> None:
        """Cut the next bytes of the direction into frames."""
        before = len(self._sink.starts)
        work = [(segments, first, last, known)]
        losses = 0
        while work:
            segments, first, last, known = work.pop()
            if self._search is None:
                rest = self._cut(segments, first, last, known)
                if rest is not None:
                    losses += 1
                    if losses > _MAX_LOSSES:
                        self._pass_over(rest)
                    else:
                        work.append((rest, 0, len(rest.packet), known))
                continue
            stop = self._search.add_segments(segments, first, last, known)
            self._offset += segments.edge[stop] - segments.edge[first]
            if stop < last:
                work.append((segments, stop, last, known))
            if self._search.found is not None:
                found = self._resume(self._search.found)
                work.append((found.segments, 0, len(found.segments.packet), found.known))
        if self.on_frames is not None:
            self.on_frames(before)

    def flush(self) -> None:
        """Hand over the last frame as far as it came: no more bytes will."""
        if self._search is not None:
            self._search.flush()
            if self._search.found is not None:
                found = self._resume(self._search.found)
                self._cut(found.segments, 0, len(found.segments.packet), found.known)
        if self._search is not None:
            self._report(self._search.unread_bytes, self._search.last_ns)
        self._cutter.flush()

    def _cut(self, segments: Segments, first: int, last: int, known: int) -> Segments | None:
        """Cut frames; if the place of one is unknown, start searching and return what is left."""
        cutter = self._cutter
        cutter.add_segments(segments, first, last, known)
        if cutter.loss is None:
            self._offset += segments.edge[last] - segments.edge[first]
            return None
        position, why = cutter.loss
        self._offset += position - segments.edge[first]
        self.search(why)
        row = bisect_right(segments.edge, position, 0, last) - 1
        pieces = [segments.piece(row, position - segments.edge[row])]
        pieces += [segments.piece(each) for each in range(row + 1, last)]
        return Segments.of_pieces(pieces)

    def _pass_over(self, segments: Segments) -> None:
        """Skip the rest of the call's bytes."""
        assert self._search is not None
        size = segments.edge[-1]
        self._search.pass_over(size, len(segments.view))
        self._offset += size

    def _resume(self, found: Found) -> Found:
        """Cut again, from the frame that was found."""
        self._search = None
        self._cutter = FrameCutter(self._sink, self._limits.max_frame_bytes)
        self._report(found.unread_bytes, found.time_ns)
        self._offset = self._lost_at + found.skipped_bytes
        return found

    def _report(self, unread: int, time_ns: int) -> None:
        """Report bytes of which no frame can be made, if there are some."""
        if unread:
            self._on_skip(Skip(self._lost_at, unread, time_ns, self._why))
