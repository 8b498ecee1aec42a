"""A Kafka connection's frames, in both directions.

The frames of one direction help to find the other's again after a loss: a request comes
from a client id that was seen before and follows the last correlation id; a response repeats the
id of a request that waits for it.
"""

from operator import itemgetter
from struct import Struct
from typing import Final, NamedTuple, Protocol

from kdiag.pcap.kafka.evidence import Evidence, request_evidence
from kdiag.pcap.kafka.frame_cutter import HEAD_BYTES, End, FrameSink, Start
from kdiag.pcap.kafka.frame_heuristics import (
    FrameHeuristics,
    RequestHeuristics,
    ResponseHeuristics,
)
from kdiag.pcap.kafka.frame_stream import FrameLimits, FrameStream, Skip
from kdiag.pcap.kafka.matching import DEFAULT_MAX_OUTSTANDING, MAX_EARLY_RESPONSES, Matcher
from kdiag.pcap.kafka.request_head import asks_nothing, is_request
from kdiag.pcap.kafka.trial_decoding import RequestKind, fits_as_response
from kdiag.wire import api_keys
from kdiag.wire.frame import Frame
from kdiag.wire.header import REQUEST_START, raw_client_id

CONVERSATION_BYTES: Final = 2_400
"""What a conversation takes while nothing waits in it; measured."""

_INT32: Final = Struct(">i")
_ID_AT: Final = REQUEST_START.size - _INT32.size


class Announcements(NamedTuple):
    """Where the frames of a run are announced; see `FrameSink`."""

    starts: list[Start]
    ends: list[End]


class RequestsSeen:
    """The requests of a connection that were announced so far: what they tell to searches.

    A frame is announced before it is its turn to be matched, so the matcher knows some of them and
    not the others; which ones depends on how the packets are divided into batches. Here they are
    all: those that the matcher knows at first, then each that is announced.

    Attributes:
        awaited: the kinds of those not answered, by correlation id.
        last_head: the first bytes of the last one.
    """

    def __init__(self, matcher: Matcher) -> None:
        """Begin with the requests that were matched, or wait for that."""
        self.awaited: dict[int, set[RequestKind]] = {}
        self.last_head = matcher.last_head
        self._is_sasl = matcher.is_sasl
        self._asked: dict[int, list[RequestKind]] = {}
        self._early = dict.fromkeys(matcher.early_ids)
        for correlation_id, asked in matcher.outstanding:
            self._await(correlation_id, asked)

    def add_request(self, frame: Frame) -> None:
        """Note a request that was announced."""
        data = frame.data
        if len(data) < REQUEST_START.size or (self._is_sasl and not is_request(data, frame.size)):
            return
        api_key, version, correlation_id = REQUEST_START.unpack_from(data)
        self.last_head = data[:HEAD_BYTES]
        self._is_sasl = api_key == api_keys.SASL_HANDSHAKE and version == 0
        if self._is_answered(correlation_id) or asks_nothing(frame):
            return
        self._await(correlation_id, (api_key, version))

    def add_response(self, frame: Frame) -> None:
        """Note a response that was announced."""
        if len(frame.data) >= _INT32.size:
            (correlation_id,) = _INT32.unpack_from(frame.data)
        else:
            correlation_id = next(iter(self._asked), 0)
        if correlation_id in self._asked:
            self._forget(correlation_id)
        elif self.last_head[_ID_AT:][: _INT32.size] != frame.data[: _INT32.size]:
            self._early.setdefault(correlation_id)
            if len(self._early) > MAX_EARLY_RESPONSES:
                del self._early[next(iter(self._early))]

    def _is_answered(self, correlation_id: int) -> bool:
        """Return whether the response to a request was captured before it, as matching sees it."""
        while self._early:
            oldest = next(iter(self._early))
            if oldest > correlation_id and correlation_id not in self._early:
                break
            del self._early[oldest]
            if oldest == correlation_id:
                return True
        return False

    def _await(self, correlation_id: int, asked: RequestKind) -> None:
        self._asked.setdefault(correlation_id, []).append(asked)
        self.awaited.setdefault(correlation_id, set()).add(asked)
        if len(self._asked) > DEFAULT_MAX_OUTSTANDING:
            self._forget(next(iter(self._asked)))

    def _forget(self, correlation_id: int) -> None:
        """Wait no more for the response to the oldest request with an id."""
        asked = self._asked.pop(correlation_id, [])[1:]
        self.awaited.pop(correlation_id, None)
        if asked:
            self._asked[correlation_id] = asked
            self.awaited[correlation_id] = set(asked)


class SkipListener(Protocol):
    """Learns of bytes of which no frame can be made."""

    def note_skip(self, direction: str, skip: Skip) -> None:
        """Note bytes of a direction: `request` or `response`."""
        ...


class ConversationSide:
    """One direction of a conversation: where its frames go, and what is done at a loss.

    Attributes:
        is_request: whether it is the client's.
    """

    __slots__ = ("_conversation", "_skips", "is_request")

    def __init__(
        self, conversation: "Conversation", skips: SkipListener, *, is_request: bool
    ) -> None:
        self.is_request = is_request
        self._conversation = conversation
        self._skips = skips

    def begin(self, frame: Frame) -> None:
        """Match a frame: its turn has come."""
        matcher = self._conversation.matcher
        if self.is_request:
            matcher.begin_request(frame)
        else:
            matcher.begin_response(frame)

    def end(self, frame: Frame) -> None:
        """Match the rest of a frame that was still coming."""
        matcher = self._conversation.matcher
        if self.is_request:
            matcher.end_request(frame)
        else:
            matcher.end_response(frame)

    def heuristics(self) -> FrameHeuristics:
        """Return how to recognise the next frame after those seen."""
        if self.is_request:
            return self._conversation.request_heuristics()
        return self._conversation.response_heuristics()

    def believes(self, head: bytes, size: int) -> bool:
        """Return whether a frame that is larger than the limit begins with these bytes."""
        if self.is_request:
            return request_evidence(head, size, is_all=True) >= Evidence.LOOKS
        return self._conversation.awaits(head, size)

    def skip(self, skip: Skip) -> None:
        """Pass on bytes of which no frame can be made."""
        self._skips.note_skip("request" if self.is_request else "response", skip)


class Conversation:
    """Cuts and matches the frames of one connection.

    Attributes:
        requests: cuts the client's bytes.
        responses: cuts the broker's bytes.
        matcher: makes exchanges of their frames.
    """

    __slots__ = (
        "_announcements",
        "_max_frame_bytes",
        "_seen",
        "_sides",
        "matcher",
        "requests",
        "responses",
    )

    def __init__(
        self,
        matcher: Matcher,
        announcements: Announcements,
        limits: FrameLimits,
        skips: SkipListener,
    ) -> None:
        """Start with the first byte of both directions.

        Args:
            matcher: makes exchanges of the frames.
            announcements: where the frames are announced until it is their turn.
            limits: their bounds.
            skips: learns of bytes of which no frame can be made.
        """
        self.matcher = matcher
        self._announcements = announcements
        self._max_frame_bytes = limits.max_frame_bytes
        self._seen: RequestsSeen | None = None
        starts, ends = announcements
        self._sides: tuple[ConversationSide, ...] = tuple(
            ConversationSide(self, skips, is_request=is_request) for is_request in (True, False)
        )
        self.requests, self.responses = (
            FrameStream(FrameSink(starts, ends, side), limits, side) for side in self._sides
        )

    @property
    def is_searching(self) -> bool:
        """Return whether the next frame's place is unknown in a direction."""
        return self.requests.is_searching or self.responses.is_searching

    @property
    def held_bytes(self) -> int:
        """Return what it takes, with open frames, searches and outstanding requests."""
        held = self.requests.held_bytes + self.responses.held_bytes + self.matcher.held_bytes
        return CONVERSATION_BYTES + held

    def flush(self, *, is_tail_lost: bool = False) -> None:
        """Hand over the last frames as far as they came.

        Args:
            is_tail_lost: whether more bytes were sent than the capture has.
        """
        self.requests.flush(is_tail_lost=is_tail_lost)
        self.responses.flush(is_tail_lost=is_tail_lost)

    def awaits(self, head: bytes, size: int) -> bool:
        """Return whether a response that begins with these bytes is one to a request."""
        if len(head) < _INT32.size:
            return False
        (correlation_id,) = _INT32.unpack_from(head)
        kinds = self._requests_seen().awaited.get(correlation_id, ())
        return any(fits_as_response(head, size, kind) for kind in kinds)

    def let_go(self) -> None:
        """Let go of both directions, which refer back to it: no more bytes will come.

        Their memory is free at once then; a search for cycles comes after millions of objects.
        """
        self._sides = ()
        del self.requests, self.responses

    def request_heuristics(self) -> RequestHeuristics:
        """Return how to recognise the next request after those seen."""
        head = self._requests_seen().last_head
        client_id = raw_client_id(head)
        client_ids = {client_id} if client_id else set()
        correlation_id = REQUEST_START.unpack_from(head)[2] if head else None
        return RequestHeuristics(self._max_frame_bytes, client_ids, correlation_id)

    def response_heuristics(self) -> ResponseHeuristics:
        """Return how to recognise the next response, given the outstanding requests."""
        seen = self._requests_seen()
        is_one_sided = not seen.last_head and not seen.awaited
        return ResponseHeuristics(self._max_frame_bytes, seen.awaited, is_one_sided=is_one_sided)

    def _requests_seen(self) -> RequestsSeen:
        """Return what the requests tell; from the first loss on that is kept up to date."""
        if self._seen is None:
            self._seen = RequestsSeen(self.matcher)
            starts = self._announcements.starts
            self._note(sorted(starts, key=itemgetter(0)))
            self.requests.listener = self.responses.listener = self
        return self._seen

    def note_frames(self, first: int) -> None:
        """Note the frames announced since there were `first`."""
        self._note(self._announcements.starts[first:])

    def _note(self, starts: list[Start]) -> None:
        assert self._seen is not None
        requests, responses = self._sides
        for _, handler, frame in starts:
            if handler is requests:
                self._seen.add_request(frame)
            elif handler is responses:
                self._seen.add_response(frame)
