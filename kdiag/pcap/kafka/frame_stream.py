"""The frames of one direction of a Kafka connection, found again where their place was lost."""

from bisect import bisect_right
from typing import Final, NamedTuple, Protocol

from kdiag.exchange.model import Connection, Gap
from kdiag.exchange.secrets.redaction import first_bytes
from kdiag.pcap.kafka.frame_cutter import HEAD_BYTES, FrameCutter, FrameSink, Loss
from kdiag.pcap.kafka.frame_heuristics import FrameHeuristics
from kdiag.pcap.kafka.resync import NO_START, Found, FrameSearch, UnreadStart
from kdiag.pcap.tcp.segments import Segments
from kdiag.wire.frame import LENGTH_BYTES

_LOSS_BYTES: Final = 512
"""A place may be lost once in so many bytes of the stream, so that hostile bytes cost little."""
_MOST_CREDIT: Final = 64 * _LOSS_BYTES


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
        start: the first of them.
        is_fault: whether no broker understands them, either.
    """

    offset: int
    size: int
    time_ns: int
    why: str
    start: UnreadStart
    is_fault: bool = False

    def gap(self, connection: Connection, direction: str) -> Gap:
        """Return what is reported of them."""
        return Gap(
            connection=connection,
            direction=direction,
            time_ns=self.time_ns,
            offset=self.offset,
            size=self.size,
            reason=self.why,
            packet=self.start.packet,
            starts_with=first_bytes(self.start.data),
            is_fault=self.is_fault,
        )


class LostPlace(NamedTuple):
    """Where the next frame begins is not known from here on.

    Attributes:
        offset: where in the stream the bytes begin of which no frame can be made.
        searched_from: where the search begins; those before are known to be none.
        why: the reason.
        is_fault: whether no broker understands them, either.
    """

    offset: int
    searched_from: int
    why: str
    is_fault: bool


class StreamOwner(Protocol):
    """Knows what helps to find the next frame, and learns what is passed over."""

    def heuristics(self) -> FrameHeuristics:
        """Return how to recognise the next frame, now that its place is lost."""
        ...

    def skip(self, skip: Skip) -> None:
        """Note bytes of which no frame can be made."""
        ...

    def believes(self, head: bytes, size: int) -> bool:
        """Return whether a frame that is larger than the limit begins with these bytes."""
        ...


class FrameListener(Protocol):
    """Learns of frames while they are announced."""

    def note_frames(self, first: int) -> None:
        """Note the frames announced since there were `first`."""
        ...


class Run(NamedTuple):
    """Segments to read; see `ByteConsumer.add_segments`."""

    segments: Segments
    first: int
    last: int
    known: int


class FrameStream:
    """Cuts a direction into frames, and searches for the next one when its place is unknown.

    What is found must not depend on how many segments come at once. So the search goes from one
    segment to the next, and how often a place may be lost depends on the bytes of the stream: who
    has lost it too often passes over some before searching. A search that asks what the other
    direction has said waits (`waits_at_loss`) until that has been read as far.

    Attributes:
        listener: learns of the frames announced after each call, and before each search; None
            if nothing wants to know.
        waits_at_loss: whether to stop at a loss; the owner calls `catch_up` then.
        keeps_places: whether frames note where in the stream they start.
        is_sure: whether all frames were read from the first byte of the connection on.
    """

    __slots__ = (
        "_behind",
        "_credit",
        "_cutter",
        "_limits",
        "_lost",
        "_offset",
        "_owner",
        "_search",
        "_sink",
        "_spent_at",
        "_unsearched_bytes",
        "_untold",
        "is_sure",
        "keeps_places",
        "listener",
        "waits_at_loss",
    )

    def __init__(
        self,
        sink: FrameSink,
        limits: FrameLimits,
        owner: StreamOwner,
    ) -> None:
        """Start with the first byte of a frame.

        Args:
            sink: receives the frames.
            limits: their bounds.
            owner: asked when the place is lost, and learns of bytes without a frame.
        """
        self.listener: FrameListener | None = None
        self.waits_at_loss = False
        self.keeps_places = False
        self.is_sure = False
        self._sink = sink
        self._limits = limits
        self._owner = owner
        self._offset = 0
        self._lost = LostPlace(0, 0, "", is_fault=False)
        self._cutter = FrameCutter(sink, limits.max_frame_bytes)
        self._search: FrameSearch | None = None
        self._behind: list[Run] = []
        self._credit = _MOST_CREDIT
        self._spent_at = 0
        self._unsearched_bytes = 0
        self._untold: int | None = None

    @property
    def is_searching(self) -> bool:
        """Return whether the next frame's place is unknown."""
        return self._search is not None

    @property
    def is_behind(self) -> bool:
        """Return whether it waits at a loss."""
        return bool(self._behind)

    @property
    def held_bytes(self) -> int:
        """Return what the open frame or the search takes."""
        return (self._search or self._cutter).held_bytes

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
            self._owner.skip(skip)

    def search(self, why: str, before: UnreadStart = NO_START, *, is_fault: bool = False) -> None:
        """Search for the next frame from the next byte on.

        Args:
            why: the reason.
            before: bytes before that of which no frame can be made, either.
            is_fault: whether no broker understands them.
        """
        start = self._offset - len(before.data)
        self._lost = LostPlace(start, self._offset, why, is_fault)
        self.is_sure = False
        self._tell()
        heuristics = self._owner.heuristics()
        self._search = FrameSearch(heuristics, self._limits.max_search_bytes, before)
        if self._untold is not None:
            self._untold = len(self._sink.starts)

    def add_segments(self, segments: Segments, first: int, last: int, known: int = 0) -> None:
        """Cut the next bytes of the direction into frames."""
        self._untold = len(self._sink.starts)
        self._read([Run(segments, first, last, known)])
        self._tell()
        self._untold = None

    def catch_up(self, before_packet: int | None = None) -> None:
        """Read what waits at a loss, up to a packet if one is given."""
        self._untold = len(self._sink.starts)
        while self._behind:
            run = self._behind.pop()
            packet = run.segments.packet[run.first]
            if before_packet is not None and packet >= before_packet:
                self._behind.append(run)
                break
            if run.last - run.first > 1:
                self._behind.append(run._replace(first=run.first + 1))
            if self._cutter.loss is not None and self._search is None:
                self._lose(self._cutter.loss, run)
            self._read([run._replace(last=run.first + 1)], may_wait=False)
        self._tell()
        self._untold = None

    def flush(self, *, is_tail_lost: bool = False) -> None:
        """Hand over the last frame as far as it came: no more bytes will.

        Args:
            is_tail_lost: whether more bytes were sent than the capture has.
        """
        self.catch_up()
        while self._search is not None:
            self._search.flush()
            if self._search.found is None:
                search = self._search
                self._report(search.unread_bytes, search.last_ns, search.unread_start)
                break
            found = self._resume(self._search.found)
            run = Run(found.segments, 0, len(found.segments.packet), found.known)
            self._read([run], may_wait=False)
        self._cutter.flush(is_tail_lost=is_tail_lost)

    def _tell(self) -> None:
        """Tell whoever wants to know about the frames announced meanwhile, if a call goes on."""
        if self.listener is not None and self._untold is not None:
            self.listener.note_frames(self._untold)

    def _read(self, work: list[Run], *, may_wait: bool = True) -> None:
        """Read runs, the last of the list first."""
        while work:
            run = work.pop()
            if self._search is not None:
                work += self._search_in(run, self._search)
                continue
            rest = self._cut(run)
            if rest and may_wait and self.waits_at_loss:
                self._behind = [*work, *rest]
                return
            if rest:
                assert self._cutter.loss is not None
                self._lose(self._cutter.loss, rest[-1])
                work += rest

    def _cut(self, run: Run) -> list[Run]:
        """Cut frames; if the place of one is unknown, return what is left, the next run last."""
        segments, first, last, known = run
        cutter = self._cutter
        if self.keeps_places:
            cutter.origin = self._offset - segments.edge[first]
        cutter.add_segments(segments, first, last, known)
        if cutter.loss is None:
            self._offset += segments.edge[last] - segments.edge[first]
            return []
        position = cutter.loss.position
        self._offset += position - segments.edge[first]
        row = bisect_right(segments.edge, position, 0, last) - 1
        piece = Segments.of_pieces([segments.piece(row, position - segments.edge[row])])
        rest = [run._replace(first=row + 1)] if row + 1 < last else []
        return [*rest, Run(piece, 0, 1, known)]

    def _lose(self, loss: Loss, following: Run) -> None:
        """Search for the next frame, behind some bytes if too many places were lost before.

        Args:
            loss: where and why; its frame is read after all if the owner believes its length.
            following: what comes behind it.
        """
        _, why, opened, size = loss
        head = following.segments.piece(following.first).data[:HEAD_BYTES]
        if size > 0 and self._owner.believes(head, size):
            self._cutter.believe()
            if self.keeps_places:
                opened.frame.stream_offset = self._offset - LENGTH_BYTES
            return
        is_fault = self.is_sure and size != 0
        self._credit = min(_MOST_CREDIT, self._credit + self._offset - self._spent_at)
        self._credit -= _LOSS_BYTES
        self._spent_at = self._offset
        self._unsearched_bytes = max(0, -self._credit)
        before = UnreadStart(opened.frame.first_packet, opened.prefix)
        self.search(why, before, is_fault=is_fault)

    def _search_in(self, run: Run, search: FrameSearch) -> list[Run]:
        """Search in a run; return what is to be read next, the next run last."""
        segments, first, last, known = run
        while self._unsearched_bytes and first < last:
            size = segments.edge[first + 1] - segments.edge[first]
            search.pass_over(segments.piece(first))
            search.last_ns = segments.time_ns[first]
            self._offset += size
            self._unsearched_bytes = max(0, self._unsearched_bytes - size)
            first += 1
        stop = search.add_segments(segments, first, last, known)
        self._offset += segments.edge[stop] - segments.edge[first]
        rest = [run._replace(first=stop)] if stop < last else []
        if search.found is not None:
            found = self._resume(search.found)
            rest.append(Run(found.segments, 0, len(found.segments.packet), found.known))
        return rest

    def _resume(self, found: Found) -> Found:
        """Cut again, from the frame that was found."""
        self._search = None
        self._cutter = FrameCutter(self._sink, self._limits.max_frame_bytes)
        self._report(found.unread_bytes, found.time_ns, found.unread_start)
        self._offset = self._lost.searched_from + found.skipped_bytes
        return found

    def _report(self, unread: int, time_ns: int, start: UnreadStart) -> None:
        """Report bytes of which no frame can be made, if there are some."""
        if unread:
            lost = self._lost
            self._owner.skip(Skip(lost.offset, unread, time_ns, lost.why, start, lost.is_fault))
            self._lost = lost._replace(is_fault=False)
