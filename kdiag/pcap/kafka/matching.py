"""Requests and responses of one connection, matched into exchanges.

A broker answers the requests of a connection in their order and repeats the correlation id of
each, so the id finds the request and the order is a check. A request whose id the capture lost can
be matched by the order alone. A response whose request was lost with its id is an exchange of its
own, and its API is found by trial decoding (`kdiag.pcap.kafka.unmatched_responses`).

Where the two directions were recorded by clocks that differ, responses come before their requests.
So a response whose request was not seen waits for it:

    response 41   waits
    request  41   pairs with it          the exchange has no latency; the skew is counted
    response 57   waits, 10 s at most
    request  58   ends that              the capture lacks request 57: the response is unmatched

Some frames have no partner: a Produce request with acks=0 is not answered. After SaslHandshake
version 0 (with GSSAPI before Kafka 0.10, from the start) frames are bare tokens without headers,
until one is a request again. What may be of a login is hidden once whole (`secrets.login`).

Source: KIP-43 and KIP-152 (SASL tokens and SaslAuthenticate), Kafka's `NetworkClient` (order of
responses) and `SaslServerAuthenticator`.
"""

from collections import deque
from collections.abc import Collection
from itertools import chain
from struct import Struct, error
from typing import Final, Protocol

from kdiag.exchange.model import Connection, Exchange, Status, UnansweredReason
from kdiag.exchange.secrets.login import LoginWatch
from kdiag.pcap.kafka.request_head import (
    TELLING_CLIENT,
    has_no_acks,
    is_request,
    note_bare_token,
    note_client,
)
from kdiag.pcap.kafka.trial_decoding import RequestKind
from kdiag.pcap.kafka.unmatched_responses import (
    ENOUGH_REQUESTS,
    ENOUGH_RESPONSES,
    MAX_HELD,
    UnmatchedResponses,
)
from kdiag.wire import api_keys
from kdiag.wire.frame import Frame
from kdiag.wire.header import REQUEST_START, raw_client_id

DEFAULT_MAX_OUTSTANDING: Final = 10_000
DEFAULT_MAX_OUTSTANDING_BYTES: Final = 64 << 20

_INT32: Final = Struct(">i")
_HEAD_BYTES: Final = 300
_OUTSTANDING_BYTES: Final = 600  # what a request takes beside its bytes
_MAX_CLIENT_IDS: Final = 10_000
_HEADLESS: Final = -(1 << 62)  # stands for a lost correlation id, plus the exchange's number
_LEAST_CORRELATION_ID: Final = -(1 << 31)

MAX_SKEW_NS: Final = 10_000_000_000
"""So much earlier than its request, by the clocks of the capture, a response may come."""

MAX_EARLY_RESPONSES: Final = 256
"""So many responses of a connection may wait for their requests."""


class ReasonOf(Protocol):
    """Tells why a request was not answered."""

    def __call__(self, exchange: Exchange, *, is_skipped: bool) -> UnansweredReason:
        """Return the reason, given whether later requests were answered."""
        ...


class ExchangeCollector:
    """Numbers the exchanges of all connections of a run, and collects the complete ones.

    Attributes:
        exchanges: complete exchanges; the caller empties the list.
        last_number: number of the newest exchange.
        unmatched_responses: holds the responses without a request until their API is known.
        overtaken, first_overtaken: responses that came after one to a later request, how many and
            the number of the first; 0 without any, as below.
        violations, first_violation: responses to no request, where no byte of requests is missing.
        early, first_early: responses that were captured before the last byte of their request.
        skew_ns: how much earlier, at most.
        max_outstanding, max_outstanding_bytes: requests of one connection that may wait for their
            responses; beyond, the oldest is given up.
    """

    def __init__(
        self,
        max_outstanding: int = DEFAULT_MAX_OUTSTANDING,
        max_outstanding_bytes: int = DEFAULT_MAX_OUTSTANDING_BYTES,
    ) -> None:
        self.exchanges: list[Exchange] = []
        self.unmatched_responses = UnmatchedResponses(self.exchanges)
        self.last_number = 0
        self.overtaken = 0
        self.first_overtaken = 0
        self.violations = 0
        self.first_violation = 0
        self.early = 0
        self.first_early = 0
        self.skew_ns = 0
        self.max_outstanding = max_outstanding
        self.max_outstanding_bytes = max_outstanding_bytes
        self.client_ids: dict[bytes, str] = {}

    def note_overtaken(self, number: int) -> None:
        """Count an exchange whose response came after one to a later request."""
        self.overtaken += 1
        self.first_overtaken = self.first_overtaken or number

    def note_violation(self, number: int) -> None:
        """Count an exchange that is a response to no request."""
        self.violations += 1
        self.first_violation = min(self.first_violation or number, number)

    def note_early(self, number: int, skew_ns: int) -> None:
        """Count an exchange whose response was captured before its request was complete."""
        self.early += 1
        self.first_early = min(self.first_early or number, number)
        self.skew_ns = max(self.skew_ns, skew_ns)


class ComingFrames:
    """The exchanges of the frames that are still coming, by frame: one or two at a time."""

    __slots__ = ("_pairs",)

    def __init__(self) -> None:
        self._pairs: list[tuple[Frame, Exchange]] = []

    def __len__(self) -> int:
        return len(self._pairs)

    def __contains__(self, frame: Frame | None) -> bool:
        return any(each is frame for each, _ in self._pairs)

    def __setitem__(self, frame: Frame, exchange: Exchange) -> None:
        self.pop(frame)
        self._pairs.append((frame, exchange))

    def pop(self, frame: Frame) -> Exchange | None:
        """Remove a frame; return its exchange, None if it was not coming."""
        for at, (each, exchange) in enumerate(self._pairs):
            if each is frame:  # two frames may be equal
                del self._pairs[at]
                return exchange
        return None


class Matcher:
    """Matches the frames of one connection.

    `begin_*` handle frames in the order of the capture as soon as their heads are known; a frame
    that is still coming then (its `last_packet` is 0) is given to `end_*` when it is complete.

    Attributes:
        last_head: the first bytes of the last request that had a header.
    """

    __slots__ = (
        "_collector",
        "_coming",
        "_connection",
        "_doubted",
        "_early",
        "_habits",
        "_held",
        "_is_from_start",
        "_last_answered",
        "_last_id",
        "_login",
        "_outstanding",
        "_outstanding_bytes",
        "_repeated",
        "_tokens",
        "last_head",
    )

    def __init__(
        self,
        collector: ExchangeCollector,
        connection: Connection,
        *,
        is_sasl: bool = False,
        is_from_start: bool = False,
    ) -> None:
        """Start with a connection's first frame.

        Args:
            collector: numbers the exchanges and receives the complete ones.
            connection: which one; its counts of frames and the client's software are kept.
            is_sasl: whether the first frames are bare tokens.
            is_from_start: whether the connection began in the capture.
        """
        self.last_head = b""
        self._collector = collector
        self._connection = connection
        self._login = LoginWatch(sends_bare_tokens=is_sasl)
        self._outstanding: dict[int, Exchange] = {}
        self._repeated: dict[int, deque[Exchange]] = {}
        self._tokens, self._coming = list[Exchange](), ComingFrames()
        self._outstanding_bytes = 0
        self._last_answered = 0
        self._habits = collector.unmatched_responses.habits(connection)
        self._held: list[int] = []
        self._is_from_start = is_from_start
        self._last_id: int | None = None
        self._early: dict[int, Exchange] = {}
        self._doubted: Exchange | None = None

    @property
    def is_sasl(self) -> bool:
        """Return whether frames of the client are bare tokens now."""
        return self._login.sends_bare_tokens

    @property
    def held_bytes(self) -> int:
        """Return what the requests take that wait for responses."""
        return self._outstanding_bytes + len(self._outstanding) * _OUTSTANDING_BYTES

    @property
    def early_ids(self) -> list[int]:
        """Return the correlation ids of the responses that wait for their requests."""
        return [*self._early]

    @property
    def outstanding(self) -> list[tuple[int, RequestKind]]:
        """Return the requests that are not answered: correlation id, as far as known, and kind."""
        again = (each for queue in self._repeated.values() for each in queue)
        return [
            (each.correlation_id, (each.api_key, each.version))
            for each in chain(self._outstanding.values(), again)
            if each.correlation_id is not None
            and each.api_key is not None
            and each.version is not None
        ]

    @property
    def has_open_ends(self) -> bool:
        """Return whether `give_up_outstanding` has anything to give up or to release."""
        waits = self._outstanding or self._tokens or self._early or self._held
        return bool(waits) or self._doubted is not None

    def begin_request(self, frame: Frame) -> None:
        """Handle a request."""
        self._connection.requests += 1
        data = frame.data
        if self._login.sends_bare_tokens:
            if not is_request(data, frame.size):
                self._begin_token(frame)
                return
            self._login.sends_bare_tokens = False
        try:
            api_key, version, correlation_id = REQUEST_START.unpack_from(data)
        except error:
            self._collector.last_number = number = self._collector.last_number + 1
            exchange = self._exchange(number, request=frame)
            self._login.begin(exchange)
            self._expect(_HEADLESS + number, exchange)
            return
        self.last_head = data[:_HEAD_BYTES]
        self._learn(api_key, version)
        self._last_id = correlation_id
        if self._early and self._pair_early(frame, correlation_id, (api_key, version)):
            return
        self._collector.last_number = number = self._collector.last_number + 1
        exchange = Exchange(
            number=number,
            connection=self._connection,
            api_key=api_key,
            version=version,
            correlation_id=correlation_id,
            client_id=self._client_id(data, api_key, version),
            request=frame,
            response=None,
        )
        self._login.begin(exchange)
        is_answered = api_key != api_keys.PRODUCE or not has_no_acks(data, version)
        if not frame.last_packet:
            self._coming[frame] = exchange
        if api_key in TELLING_CLIENT:
            note_client(self._connection, api_key, frame)
        if is_answered:
            self._expect(correlation_id, exchange)
        else:
            exchange.pairing = Status.NO_RESPONSE
            self._complete(exchange)

    def end_request(self, frame: Frame) -> None:
        """Handle the rest of a request that was still coming."""
        exchange = self._coming.pop(frame)
        if exchange is None:
            if self.is_sasl:
                note_bare_token(self._connection, frame)
            return  # else it has not begun: its turn comes with all its bytes
        exchange.client_id = self._client_id(frame.data, exchange.api_key, exchange.version)
        note_client(self._connection, exchange.api_key, frame)
        if exchange.response is not None or exchange.pairing is Status.NO_RESPONSE:
            self._complete(exchange)

    def begin_response(self, frame: Frame) -> None:
        """Handle a response."""
        self._connection.responses += 1
        if self._doubted is not None:
            self._end_doubt(self._doubted, frame)
        if self._early:
            self._expire_early(frame.first_byte_ns)
        exchange = self._match(frame) or self._unmatched(frame)
        exchange.response = frame
        if not frame.last_packet:
            self._coming[frame] = exchange
        self._complete(exchange)

    def end_response(self, frame: Frame) -> None:
        """Handle the rest of a response that was still coming."""
        exchange = self._coming.pop(frame)
        if exchange is not None:
            self._complete(exchange)

    def give_up_outstanding(
        self, reason_of: ReasonOf | None = None, *, lacks_requests: bool = True
    ) -> None:
        """Give up the requests that were not answered, and release the unmatched responses.

        Args:
            reason_of: tells why a request was not answered.
            lacks_requests: whether bytes of requests are missing; if not, a response that answers
                none of them breaks the protocol.
        """
        if self._doubted is not None:
            self._end_doubt(self._doubted, None)
        for correlation_id in list(self._early):
            self._give_up_early(correlation_id)
        again = [each for queue in self._repeated.values() for each in queue]
        left = [*self._outstanding.values(), *again, *self._tokens]
        asked = {each.correlation_id for each in left}
        self._release(None if lacks_requests or not self._is_from_start else asked)
        for exchange in sorted(left, key=lambda each: each.number):
            if exchange.pairing is Status.OK:
                exchange.pairing = Status.UNANSWERED
                if reason_of is not None:
                    is_skipped = self._is_skipped(exchange)
                    exchange.unanswered_reason = reason_of(exchange, is_skipped=is_skipped)
            self._login.complete(exchange)
            self._collector.exchanges.append(exchange)
        self._outstanding.clear()
        self._repeated.clear()
        self._tokens.clear()
        self._outstanding_bytes = 0

    def _is_skipped(self, exchange: Exchange) -> bool:
        """Return whether later requests were answered, but not this one, which wants it."""
        assert exchange.request is not None
        is_sure = exchange.api_key != api_keys.PRODUCE or exchange.request.is_whole
        return is_sure and exchange.number < self._last_answered

    def _begin_token(self, frame: Frame) -> None:
        """Handle a frame without a header: a SASL token."""
        self._is_from_start = False  # tokens have no ids: from here on these prove nothing
        self._collector.last_number += 1
        exchange = self._exchange(self._collector.last_number, request=frame)
        exchange.pairing = Status.OPAQUE
        self._tokens.append(exchange)
        note_bare_token(self._connection, frame)

    def _exchange(
        self, number: int, request: Frame | None = None, response: Frame | None = None
    ) -> Exchange:
        """Return an exchange of which the API is not known."""
        return Exchange(
            number=number,
            connection=self._connection,
            api_key=None,
            version=None,
            correlation_id=None,
            client_id=None,
            request=request,
            response=response,
        )

    def _expect(self, correlation_id: int, exchange: Exchange) -> None:
        """Wait for the response to a request; give the oldest up if too many wait."""
        if correlation_id in self._outstanding:
            self._repeated.setdefault(correlation_id, deque()).append(exchange)
        else:
            self._outstanding[correlation_id] = exchange
        collector = self._collector
        assert exchange.request is not None
        self._outstanding_bytes += exchange.request.size
        while len(self._outstanding) > 1 and (
            len(self._outstanding) > collector.max_outstanding
            or self._outstanding_bytes > collector.max_outstanding_bytes
        ):
            oldest = self._pop_outstanding(next(iter(self._outstanding)))
            oldest.pairing = Status.UNANSWERED
            self._is_from_start = False  # its response will have an id that nobody remembers
            oldest.unanswered_reason = UnansweredReason.GIVEN_UP
            self._login.complete(oldest)
            collector.exchanges.append(oldest)

    def _pop_outstanding(self, correlation_id: int) -> Exchange:
        """Remove an outstanding request, and return it."""
        exchange = self._outstanding.pop(correlation_id)
        if self._repeated and correlation_id in self._repeated:
            queue = self._repeated[correlation_id]
            self._outstanding[correlation_id] = queue.popleft()
            if not queue:
                del self._repeated[correlation_id]
        assert exchange.request is not None
        self._outstanding_bytes -= exchange.request.size
        return exchange

    def _match(self, frame: Frame) -> Exchange | None:
        """Return the request that a response answers, if it was seen."""
        correlation_id = _correlation_id(frame.data)
        if correlation_id is not None and correlation_id in self._outstanding:
            exchange = self._pop_outstanding(correlation_id)
        elif self._tokens:
            return self._tokens.pop(0)
        else:
            oldest = next(iter(self._outstanding), None)
            if oldest is None or (correlation_id is not None and oldest >= _LEAST_CORRELATION_ID):
                return None
            exchange = self._pop_outstanding(oldest)
            if exchange.correlation_id is None:
                exchange.correlation_id = correlation_id
        if exchange.number < self._last_answered:
            self._collector.note_overtaken(exchange.number)
            # With bytes missing or not understood, an id may be that of another request.
            connection = self._connection
            exchange.is_violation = not connection.gaps and not connection.not_understood
        else:
            self._last_answered = exchange.number
        return exchange

    def _unmatched(self, frame: Frame) -> Exchange:
        """Return the exchange of a response whose request was not seen."""
        self._collector.last_number += 1
        exchange = self._exchange(self._collector.last_number, response=frame)
        exchange.pairing = Status.UNMATCHED
        self._login.begin(exchange)
        exchange.correlation_id = correlation_id = _correlation_id(frame.data)
        if correlation_id is not None and correlation_id != self._last_id:
            self._early.setdefault(correlation_id, exchange)
        return exchange

    def _pair_early(self, request: Frame, correlation_id: int, asked: RequestKind) -> bool:
        """Pair a request with the response that waits for it; return whether there is one."""
        exchange = self._early.get(correlation_id)
        while self._early:
            oldest_id, oldest = next(iter(self._early.items()))
            if oldest is exchange or (exchange is None and oldest_id > correlation_id):
                break
            self._give_up_early(oldest_id)  # those answered before were requested before
        if exchange is None:
            return False
        del self._early[correlation_id]
        is_coming = exchange.response in self._coming
        if not is_coming and not self._collector.unmatched_responses.reclaim(exchange.number):
            return False  # there were too many to keep it
        exchange.api_key, exchange.version = asked
        exchange.client_id = self._client_id(request.data, *asked)
        exchange.request = request
        exchange.pairing = Status.OK
        self._login.begin(exchange)
        self._last_answered = max(self._last_answered, exchange.number)
        if not self._is_from_start and self._connection.requests == 1:
            self._doubted = exchange
        if not request.last_packet:
            self._coming[request] = exchange
        note_client(self._connection, asked[0], request)
        self._complete(exchange)
        return True

    def _end_doubt(self, exchange: Exchange, following: Frame | None) -> None:
        """Decide on an early pair that another explanation fits, by the response that follows.

        Where a connection is older than the capture, its first response may be that to a lost
        request, and a client that uses one id for all its requests sends that again. Then the
        response that follows has the same id, and is the right one.
        """
        self._doubted = None
        if following is None or _correlation_id(following.data) != exchange.correlation_id:
            self._complete(exchange)
            return
        response, collector = exchange.response, self._collector
        lone = self._exchange(exchange.number, response=response)
        lone.pairing, lone.correlation_id = Status.UNMATCHED, exchange.correlation_id
        collector.last_number = exchange.number = collector.last_number + 1
        exchange.response = None
        assert exchange.correlation_id is not None
        self._expect(exchange.correlation_id, exchange)
        if response is not None and response in self._coming:
            self._coming[response] = lone
        self._complete(lone)

    def _expire_early(self, now_ns: int) -> None:
        """Let the responses wait no more that have waited too long, or are too many."""
        while self._early:
            correlation_id, exchange = next(iter(self._early.items()))
            assert exchange.response is not None
            is_recent = now_ns - exchange.response.first_byte_ns <= MAX_SKEW_NS
            if is_recent and len(self._early) <= MAX_EARLY_RESPONSES:
                return
            self._give_up_early(correlation_id)

    def _give_up_early(self, correlation_id: int) -> None:
        """Let a response wait no more: its request will not come."""
        exchange = self._early.pop(correlation_id)
        if exchange.response not in self._coming:
            self._queue_for_trial(exchange)

    def _complete(self, exchange: Exchange) -> None:
        """Hand an exchange over if all its frames are complete."""
        request, response = exchange.request, exchange.response
        coming = self._coming
        if coming and (request in coming or response in coming):
            return
        if request is None:
            self._complete_unmatched(exchange)
        elif exchange is not self._doubted:
            if response is not None and response.first_byte_ns < request.last_byte_ns:
                skew_ns = request.last_byte_ns - response.first_byte_ns
                self._collector.note_early(exchange.number, skew_ns)
            self._login.complete(exchange)
            self._collector.exchanges.append(exchange)

    def _complete_unmatched(self, exchange: Exchange) -> None:
        """Hold a response until its request comes, or until the kinds of requests are known."""
        assert exchange.response is not None
        correlation_id = exchange.correlation_id
        if correlation_id is not None and self._early.get(correlation_id) is exchange:
            self._collector.unmatched_responses.hold(exchange, self._habits)
        elif exchange.response.is_whole or self._is_from_start:
            self._collector.unmatched_responses.hold(exchange, self._habits)
            self._queue_for_trial(exchange)
        else:
            self._collector.exchanges.append(exchange)  # what is cut could be anything

    def _queue_for_trial(self, exchange: Exchange) -> None:
        """Release a held response: one that is whole with others, once the requests show enough."""
        assert exchange.response is not None
        if self._is_from_start and len(self._held) < MAX_HELD:
            self._held.append(exchange.number)  # at the end it is certain what its id proves
            return
        if not exchange.response.is_whole:
            self._collector.unmatched_responses.release(exchange.number)
            return
        self._held.append(exchange.number)
        if self._connection.requests >= ENOUGH_REQUESTS or len(self._held) >= ENOUGH_RESPONSES:
            self._release()

    def _learn(self, api_key: int, version: int) -> None:
        """Count the kind of a request; release unmatched responses when enough are known."""
        asked, counts = (api_key, version), self._habits.counts
        if asked in counts:
            counts[asked] += 1
        else:
            self._habits.learn(asked)
        if not self._held or self._is_from_start:
            return
        if self._connection.requests >= ENOUGH_REQUESTS:
            self._release()

    def _release(self, asked: Collection[int | None] | None = None) -> None:
        """Release the unmatched responses.

        Args:
            asked: the ids of all requests without a response; with another, it answers none.
        """
        unmatched = self._collector.unmatched_responses
        unmatched.learn(self._held)
        for number in self._held:
            exchange = unmatched.release(number)
            if exchange is not None and asked is not None and exchange.correlation_id not in asked:
                exchange.is_violation = True
                self._collector.note_violation(number)
        self._held.clear()

    def _client_id(self, data: bytes, api_key: int | None, version: int | None) -> str | None:
        """Return the client id of a request, if there is one and its bytes are here."""
        text = raw_client_id(data)
        if text is None or (api_key == api_keys.CONTROLLED_SHUTDOWN and version == 0):
            return None
        known = self._collector.client_ids.get(text)
        if known is None:
            known = text.decode(errors="replace")
            if len(self._collector.client_ids) < _MAX_CLIENT_IDS:
                self._collector.client_ids[text] = known
        return known


def _correlation_id(data: bytes) -> int | None:
    """Return the correlation id that a response starts with."""
    return None if len(data) < _INT32.size else int(_INT32.unpack_from(data)[0])
