"""One direction's bytes, in order, cut into frames by walking from length to length.

Segments and frames have nothing to do with each other: one segment may hold many frames, a frame
may need many segments, and the four bytes of a length may be split between two. Three frames of
10, 3 and 8 bytes, each after its length, over segments of 16, 9 and 8 bytes:

    frames    [len|..........][len|...][len|........]
    segments  |---------------|-------|--------|

Frame 1 lies in the first segment, with the first two bytes of frame 2's length; both start in a
segment with one other. A frame inside one segment, the usual case, costs one slice. Any other is
kept open, by its parts, until its last byte has come.

A frame that misses bytes still ends where its length says: it keeps what comes before the hole,
and the next frame starts at the exact byte. Only where a *length* is missing or absurd is the next
place unknown; then the owner is called and searches for it (`kdiag.pcap.kafka.resync`). A length
above the limit is absurd unless the owner believes it by what follows; of such a frame no more than
the limit is kept.

A frame is announced once its head is known, `HEAD_BYTES` at most, so that a long one holds up
nobody. Exchanges are numbered by the packet with their first byte (`place`). It is not always known
by then that a frame starts there: bytes before it may be missing, or its length be split. The other
frames of the capture wait for it, but not for ever: after `MAX_WAIT_PACKETS` more packets its place
is where it becomes known. So the order depends on the packets alone, not on how they were read.
"""

from bisect import bisect_left, bisect_right
from io import SEEK_END, BytesIO
from struct import Struct
from typing import Final, NamedTuple, Protocol

from kdiag.pcap.tcp.segments import Segments
from kdiag.wire.frame import LENGTH_BYTES, Frame

HEAD_BYTES: Final = 512
"""A frame is announced when so many of its bytes have come, or all that it has."""

MAX_WAIT_PACKETS: Final = 4096
"""So many packets later at most, a frame still gets its place by its first byte; see `place`."""

LEAST_BYTES: Final = 4
"""A frame begins with a correlation id, or with an API key and a version. Only a SASL token may be
shorter, even empty, and is followed by something that is not."""

TLS_INSTEAD: Final = "this end speaks TLS, not bare Kafka"
"""Why a length is refused that is the start of a TLS record."""

_NO_SEGMENTS: Final = Segments.hole(0, 0, 0)
_LENGTH: Final = Struct(">i")
_TLS_RECORDS: Final = (b"\x15\x03", b"\x16\x03")  # an alert, a handshake


def place(first_packet: int, known_packet: int) -> int:
    """Return the number of the packet that gives a frame its place among all frames.

    Args:
        first_packet: the packet with its first byte.
        known_packet: the packet that made known that a frame starts there.
    """
    if known_packet - first_packet > MAX_WAIT_PACKETS:
        return known_packet
    return first_packet


class Turn(Protocol):
    """What is done when the turn of a frame, or of a connection's end, has come."""

    def begin(self, frame: Frame, /) -> None:
        """Handle a frame, of which the rest may still be coming."""
        ...


class FrameHandler(Turn, Protocol):
    """Handles the frames of one direction."""

    def end(self, frame: Frame) -> None:
        """Handle the rest of a frame that was still coming."""
        ...


class FrameSink(NamedTuple):
    """Where the frames of one direction go.

    Attributes:
        starts: receives (order, handler, frame) for each frame once its head is known; one that is
            still coming has the `last_packet` 0, and its head for `data`. `order` is the packet
            that gives it its place among all frames of the capture.
        ends: receives (handler, frame) for each frame that was announced while it was coming.
        handler: handles the frames when their turn has come.
    """

    starts: "list[Start]"
    ends: "list[End]"
    handler: FrameHandler


Start = tuple[int, Turn, Frame]
End = tuple[FrameHandler, Frame]


class OpenFrame:
    """A frame whose last byte has not come."""

    __slots__ = (
        "frame",
        "is_announced",
        "is_broken",
        "kept",
        "known_packet",
        "last_ns",
        "last_packet",
        "left",
        "parts",
        "prefix",
        "unknown_head",
    )

    def __init__(self, frame: Frame) -> None:
        self.frame = frame
        self.prefix = b""
        self.left = 0
        self.unknown_head = 0
        self.known_packet = 0
        self.parts: list[memoryview] = []
        self.kept: BytesIO | None = None
        self.is_broken = False
        self.is_announced = False
        self.last_packet = 0
        self.last_ns = 0

    def keep_parts(self) -> None:
        """Copy the parts, which lie in a block, behind those that were kept before.

        A `BytesIO` grows where it is and gives its content away without a copy: a frame of many
        megabytes is never in memory twice.
        """
        if self.kept is None:
            self.kept = BytesIO(b"".join(self.parts))
            self.kept.seek(0, SEEK_END)
        else:
            self.kept.writelines(self.parts)
        self.parts.clear()

    def head(self) -> bytes:
        """Return the first of the bytes that were kept."""
        assert self.kept is not None
        self.kept.seek(0)
        head = self.kept.read(HEAD_BYTES)
        self.kept.seek(0, SEEK_END)
        return head

    def data(self) -> bytes:
        """Return all bytes."""
        if self.kept is None:
            return b"".join(self.parts)
        self.kept.writelines(self.parts)
        return self.kept.getvalue()


class Loss(NamedTuple):
    """Where a cutter stopped because the next frame's place is unknown.

    Attributes:
        position: the place in the segments that were added last; nothing from here on was cut.
        why: the reason.
        opened: the frame that would start there, with the bytes of its length.
        size: that length if it is whole and no frame's; else 0. The owner may believe a large one.
    """

    position: int
    why: str
    opened: OpenFrame
    size: int = 0


class FrameCutter:
    """Cuts frames out of the bytes that `add_segments` is given, which must come in order.

    Attributes:
        loss: why it cannot go on; None while it can.
        origin: where in the stream the segments' place 0 is, so that frames note theirs; set
            before each call, or None if nobody wants it.
    """

    __slots__ = (
        "_known",
        "_last",
        "_max_frame_bytes",
        "_open",
        "_segments",
        "_sink",
        "_was_short",
        "loss",
        "origin",
    )

    def __init__(self, sink: FrameSink, max_frame_bytes: int) -> None:
        self._was_short = False
        self._sink = sink
        self._max_frame_bytes = max_frame_bytes
        self._open: OpenFrame | None = None
        self._segments = _NO_SEGMENTS
        self._last = 0
        self._known = 0
        self.loss: Loss | None = None
        self.origin: int | None = None

    def unresolved_packet(self, oldest: int) -> int | None:
        """Return the packet that starts a frame not announced yet, unless before `oldest`."""
        if self._open is None or self._open.is_announced:
            return None
        packet = self._open.frame.first_packet
        return packet if packet >= oldest else None

    @property
    def held_bytes(self) -> int:
        """Return what the open frame takes."""
        if self._open is None or self._open.kept is None:
            return 0
        return self._open.kept.getbuffer().nbytes

    def add_segments(self, segments: Segments, first: int, last: int, known: int = 0) -> None:
        """Cut the next bytes of the direction.

        Args:
            segments: where they are.
            first: the first of the segments, which follow those added before.
            last: the one after the last.
            known: the packet that made them known, where it is later than those that brought them.
        """
        self._segments, self._last, self._known = segments, last, known
        position, stop = segments.edge[first], segments.edge[last]
        if self._open is not None:
            position = self._fill(self._open, position)
        if position < stop and self.loss is None:
            first_start = len(self._sink.starts)
            self._cut(position)
            if self.origin is not None:
                self._note_places(first_start, self.origin + position)
        if self._open is not None:
            self._open.keep_parts()
            self._announce(self._open)
        self._segments = _NO_SEGMENTS  # its memory is not for keeping

    def believe(self) -> None:
        """Go on behind the length where the loss is: it is that of a frame."""
        assert self.loss is not None
        _, _, self._open, size = self.loss
        self.loss = None
        self._expect(self._open, size)

    def flush(self, *, is_tail_lost: bool = False) -> None:
        """Give up waiting: a frame that is still open is announced as it is.

        Args:
            is_tail_lost: whether more bytes were sent than the capture has.
        """
        opened, self._open = self._open, None
        if opened is not None and opened.frame.size >= 0:
            if is_tail_lost:
                opened.frame.gap_bytes += opened.left
            else:
                opened.frame.unsent_bytes = opened.left
            opened.unknown_head = 0
            self._end(opened)

    def _cut(self, position: int) -> None:
        """Cut frames from `position`, the place of a length, to the end of the run."""
        view, begin, end, edge, packet, time_ns, _ = self._segments
        starts, handler = self._sink.starts, self._sink.handler
        first_start = len(starts)
        limit, unpack = self._max_frame_bytes, _LENGTH.unpack_from
        stop = edge[self._last]
        row = bisect_right(edge, position, 0, self._last) - 1
        here: list[Frame] = []
        shared = position > edge[row]
        while position < stop:
            if position >= edge[row + 1]:
                if shared or len(here) > 1:
                    _share(here, is_shared=shared)
                here.clear()
                row += 1
                if position >= edge[row + 1]:
                    row = bisect_right(edge, position, row, self._last) - 1
                shared = position > edge[row]
            at = begin[row] + position - edge[row] + LENGTH_BYTES
            room = end[row] - at
            if room >= 0:
                size: int = unpack(view, at - LENGTH_BYTES)[0]
                if LEAST_BYTES <= size <= room and size <= limit:
                    self._was_short = False
                    number, ns = packet[row], time_ns[row]
                    frame = Frame(view[at : at + size].tobytes(), size, ns, ns, number, number)
                    here.append(frame)
                    starts.append((number, handler, frame))
                    position += size + LENGTH_BYTES
                    continue
            self._open = opened = OpenFrame(
                Frame(b"", -1, time_ns[row], 0, packet[row], segments=0)
            )
            here.append(opened.frame)
            position = self._fill(opened, position)
            if self.loss is not None:
                # A length that ends in a later segment counts in this one: it is read later, too.
                # So is one behind which the segment ends, if it may be believed by what follows.
                is_whole = len(opened.prefix) == LENGTH_BYTES and self.loss.size <= 0
                if position < edge[row + 1] + is_whole:
                    here.pop()
                break
        _share(here, is_shared=shared)
        if self._known:
            starts[first_start:] = [
                (place(order, self._known), handler, frame)
                for order, _, frame in starts[first_start:]
            ]

    def _note_places(self, first_start: int, place_in_stream: int) -> None:
        """Note in the frames that were just cut, one behind the other, where they start."""
        for _, _, frame in self._sink.starts[first_start:]:
            frame.stream_offset = place_in_stream
            place_in_stream += LENGTH_BYTES + frame.size
        if self._open is not None:
            self._open.frame.stream_offset = place_in_stream

    def _fill(self, opened: OpenFrame, position: int) -> int:
        """Give the bytes from `position` on to the open frame; return where it or they end."""
        if opened.frame.size < 0:
            position = self._fill_length(opened, position)
            if opened.frame.size < 0:
                return position
        stop = min(self._segments.edge[self._last], position + opened.left)
        if stop > position:
            self._fill_body(opened, position, stop)
        if not opened.left:
            self._open = None
            self._end(opened)
        return stop

    def _fill_length(self, opened: OpenFrame, position: int) -> int:
        """Read the length as far as it is here; return the position after it."""
        view, begin, end, edge, *_ = self._segments
        while len(opened.prefix) < LENGTH_BYTES and position < edge[self._last]:
            row = bisect_right(edge, position, 0, self._last) - 1
            at = begin[row] + position - edge[row]
            some = view[at : min(at + LENGTH_BYTES - len(opened.prefix), end[row])].tobytes()
            if not some:
                why = "the length of the next frame is missing"
                return self._lose(Loss(position, why, opened))
            opened.prefix += some
            position += len(some)
            self._stamp(opened, row, row)
        if len(opened.prefix) == LENGTH_BYTES:
            (size,) = _LENGTH.unpack(opened.prefix)
            if not 0 <= size <= self._max_frame_bytes:
                if size > 0 and position == edge[self._last]:
                    return position  # what follows shows whether it is one
                why = self._fault(opened.prefix, size)
                return self._lose(Loss(position, why, opened, 0 if why == TLS_INSTEAD else size))
            if size < LEAST_BYTES and self._was_short:
                why = f"frame after frame states {size} bytes"
                return self._lose(Loss(position, why, opened))
            self._expect(opened, size)
        return position

    def _expect(self, opened: OpenFrame, size: int) -> None:
        """Expect the bytes of a frame behind its length."""
        self._was_short = size < LEAST_BYTES
        opened.frame.size = opened.left = size
        opened.unknown_head = min(size, HEAD_BYTES)
        opened.known_packet = opened.last_packet

    def _fault(self, prefix: bytes, size: int) -> str:
        """Return the fault of a length."""
        if prefix.startswith(_TLS_RECORDS):
            return TLS_INSTEAD
        return f"a frame states {size} bytes; 0 to {self._max_frame_bytes} are allowed"

    def _fill_body(self, opened: OpenFrame, position: int, stop: int) -> None:
        """Add the bytes from `position` to `stop` to the open frame."""
        view, begin, end, edge, packet, _, has_missing = self._segments
        row = bisect_right(edge, position, 0, self._last) - 1
        last = bisect_left(edge, stop, row + 1, self._last) - 1
        if opened.frame.size > self._max_frame_bytes:
            self._fill_large(opened, position, stop)
        elif has_missing or opened.is_broken:
            self._fill_with_holes(opened, position, stop)
        elif row == last:
            at = begin[row] + position - edge[row]
            opened.parts.append(view[at : at + stop - position])
        else:
            opened.parts.append(view[begin[row] + position - edge[row] : end[row]])
            spans = zip(begin[row + 1 : last], end[row + 1 : last], strict=True)
            opened.parts += [view[start:finish] for start, finish in spans]
            opened.parts.append(view[begin[last] : begin[last] + stop - edge[last]])
        if 0 < opened.unknown_head <= stop - position:
            known_at = bisect_left(edge, position + opened.unknown_head, row + 1, last + 1) - 1
            opened.known_packet = packet[known_at]
        opened.unknown_head = max(0, opened.unknown_head - (stop - position))
        opened.left -= stop - position
        self._stamp(opened, row, last)

    def _fill_large(self, opened: OpenFrame, position: int, stop: int) -> None:
        """Add the bytes up to the limit to the open frame; count what is missing of all."""
        came = opened.frame.size - opened.left
        kept = min(stop, position + max(0, self._max_frame_bytes - came))
        self._fill_with_holes(opened, position, kept)
        if kept < stop:
            opened.is_broken = True
            self._fill_with_holes(opened, kept, stop)

    def _fill_with_holes(self, opened: OpenFrame, position: int, stop: int) -> None:
        """Add the bytes from `position` up to a hole, and count those behind it up to `stop`."""
        view, begin, end, edge, *_ = self._segments
        row = bisect_right(edge, position, 0, self._last) - 1
        while position < stop:
            finish = min(stop, edge[row + 1])
            at = begin[row] + position - edge[row]
            here = min(max(end[row] - at, 0), finish - position)
            if not opened.is_broken:
                opened.parts.append(view[at : at + here])
            missing = finish - position - here
            opened.is_broken = opened.is_broken or missing > 0
            opened.frame.gap_bytes += missing
            position = finish
            row += 1

    def _stamp(self, opened: OpenFrame, row: int, last: int) -> None:
        """Note that segments `row` to `last` carried the open frame."""
        segments = self._segments
        rows = range(row, last + 1)
        if segments.has_missing:
            carried = sum(segments.end[each] > segments.begin[each] for each in rows)
        else:
            carried = len(rows)
        is_known = segments.packet[row] == opened.last_packet and carried > 0
        opened.frame.segments += carried - is_known
        opened.last_packet = segments.packet[last]
        opened.last_ns = segments.time_ns[last]

    def _lose(self, loss: Loss) -> int:
        """Note that the next frame's place is unknown; return from where on."""
        self._open = None
        self.loss = loss
        return loss.position

    def _announce(self, opened: OpenFrame) -> None:
        """Announce a frame that is still coming, if its head is known."""
        if opened.is_announced or opened.frame.size < 0 or opened.unknown_head:
            return
        opened.is_announced = True
        opened.frame.data = opened.head()
        self._start(opened)

    def _start(self, opened: OpenFrame) -> None:
        frame = opened.frame
        order = place(frame.first_packet, max(opened.known_packet, self._known))
        self._sink.starts.append((order, self._sink.handler, frame))

    def _end(self, opened: OpenFrame) -> None:
        """Hand over the open frame with the bytes that came."""
        frame = opened.frame
        frame.data = opened.data()
        frame.last_packet, frame.last_byte_ns = opened.last_packet, opened.last_ns
        if opened.is_announced:
            self._sink.ends.append((self._sink.handler, frame))
        else:
            self._start(opened)


def _share(frames: list[Frame], *, is_shared: bool) -> None:
    """Note in the frames that start in one segment how many others have bytes in it.

    Args:
        frames: those that start in it.
        is_shared: whether a frame that started before ends in it.
    """
    others = len(frames) + is_shared - 1
    if others > 0:
        for frame in frames:
            frame.starts_in_segment_with = others
