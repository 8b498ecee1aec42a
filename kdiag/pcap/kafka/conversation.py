"""A Kafka connection's frames, in both directions.

The frames of one direction help to find the other's again after a loss: a request comes
from a client id that was seen before and follows the last correlation id; a response repeats the
id of a request that waits for it.
"""

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from kdiag.pcap.kafka.frame_cutter import End, FrameSink, Start
from kdiag.pcap.kafka.frame_heuristics import RequestHeuristics, ResponseHeuristics
from kdiag.pcap.kafka.frame_stream import FrameLimits, FrameStream, Skip
from kdiag.pcap.kafka.matching import Matcher
from kdiag.wire.header import REQUEST_START, raw_client_id

if TYPE_CHECKING:
    from kdiag.pcap.kafka.trial_decoding import RequestKind


class Announcements(NamedTuple):
    """Where the frames of a run are announced; see `FrameSink`."""

    starts: list[Start]
    ends: list[End]


class Conversation:
    """Cuts and matches the frames of one connection.

    Attributes:
        requests: cuts the client's bytes.
        responses: cuts the broker's bytes.
        matcher: makes exchanges of their frames.
    """

    __slots__ = (
        "_announcements",
        "_begin_request",
        "_max_frame_bytes",
        "_outstanding",
        "matcher",
        "requests",
        "responses",
    )

    def __init__(
        self,
        matcher: Matcher,
        announcements: Announcements,
        limits: FrameLimits,
        on_skip: Callable[[str, Skip], None],
    ) -> None:
        """Start with the first byte of both directions.

        Args:
            matcher: makes exchanges of the frames.
            announcements: where the frames are announced until it is their turn.
            limits: their bounds.
            on_skip: called with (direction, skip) for bytes of which no frame can be made.
        """
        self.matcher = matcher
        self._announcements = announcements
        self._max_frame_bytes = limits.max_frame_bytes
        self._outstanding: dict[int, set[RequestKind]] = {}
        starts, ends = announcements
        self._begin_request = matcher.begin_request
        self.requests = FrameStream(
            FrameSink(starts, ends, self._begin_request, matcher.end_request),
            limits,
            self._request_heuristics,
            partial(on_skip, "request"),
        )
        self.responses = FrameStream(
            FrameSink(starts, ends, matcher.begin_response, matcher.end_response),
            limits,
            self._response_heuristics,
            partial(on_skip, "response"),
        )

    @property
    def has_no_requests(self) -> bool:
        """Return whether no request was seen, though there must have been some."""
        return not self.matcher.last_head and not self._outstanding

    @property
    def is_searching(self) -> bool:
        """Return whether the next frame's place is unknown in a direction."""
        return self.requests.is_searching or self.responses.is_searching

    def flush(self) -> None:
        """Hand over the last frames as far as they came."""
        self.requests.flush()
        self.responses.flush()

    def _request_heuristics(self) -> RequestHeuristics:
        """Return how to recognise the next request after those seen."""
        head = self.matcher.last_head
        for _, begin, frame in reversed(self._announcements.starts):
            if begin == self._begin_request and len(frame.data) >= REQUEST_START.size:
                head = frame.data
                break
        client_id = raw_client_id(head)
        client_ids = {client_id} if client_id else set()
        correlation_id = REQUEST_START.unpack_from(head)[2] if head else None
        return RequestHeuristics(self._max_frame_bytes, client_ids, correlation_id)

    def _response_heuristics(self) -> ResponseHeuristics:
        """Return how to recognise the next response, given the outstanding requests."""
        self._outstanding.clear()
        for correlation_id, asked in self.matcher.outstanding:
            self._outstanding.setdefault(correlation_id, set()).add(asked)
        self._expect_responses(0)
        self.requests.on_frames = self._expect_responses
        return ResponseHeuristics(
            self._max_frame_bytes, self._outstanding, is_one_sided=self.has_no_requests
        )

    def _expect_responses(self, first: int) -> None:
        """Note the requests announced since there were `first` frames."""
        if first and not self.responses.is_searching:
            self.requests.on_frames = None
            return
        for _, begin, frame in self._announcements.starts[first:]:
            if begin == self._begin_request and len(frame.data) >= REQUEST_START.size:
                api_key, version, correlation_id = REQUEST_START.unpack_from(frame.data)
                self._outstanding.setdefault(correlation_id, set()).add((api_key, version))
