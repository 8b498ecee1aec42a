"""Responses whose requests the capture lacks: held for a while, then identified by trial decoding.

A capture that starts in the middle of a connection begins with a response to nobody knows what. The
requests that follow show what kinds of requests the client sends; decoding the response as the
answer to each of these shows which of them it is:

    response  267 bytes, correlation id 40     held
    request   Fetch v16, id 41                 the response is a Fetch v16 to its last byte
    request   OffsetCommit v9, id 42           ... but no OffsetCommit v9: so it is a Fetch v16

If it is several of them it stays unknown. So does one that holds nothing but an error: Heartbeat,
LeaveGroup and many others look the same. A short one is many an API's, so the client must have sent
that kind more than once. Where no kind of this connection fits, those of others between the same
two hosts are tried; only long responses are believed then.

Where the capture has no request at all, as one direction of a mirror port, or none that fits, every
kind that Kafka has is tried:

    response  61 bytes     Metadata v9 to v13, and no other API      so it is Metadata
    response  39 bytes     Fetch v1 to v3, OffsetForLeaderEpoch v2   Fetch, if another response of
                                                                     the connection is Fetch alone

A broker's requests to others (LeaderAndIsr and its kin) are on connections of their own. What
several APIs fit stays without a name, but an error that all of them read is kept.
"""

from collections.abc import Collection, Iterable, Mapping
from typing import Final

from kdiag.exchange.model import Connection, Exchange, LoginPhase
from kdiag.pcap.kafka.frame_cutter import Start
from kdiag.pcap.kafka.trial_decoding import (
    RequestKind,
    can_try,
    common_error,
    fitting_kinds,
    is_whole_response,
)
from kdiag.pcap.tcp.reassembly import Moment, Recording
from kdiag.wire import api_keys

ENOUGH_REQUESTS: Final = 64
"""So many requests of a connection show all kinds of them: clients repeat themselves."""

ENOUGH_RESPONSES: Final = 64
"""So many unmatched responses of a connection are a sign that its requests will not come."""

MAX_HELD: Final = 1_000
MAX_HELD_BYTES: Final = 16 << 20
"""The most that is held in all, so that a capture of responses alone does not fill the memory."""

_MAX_KINDS: Final = 32  # a client uses half of these; trying more would cost more than it tells
_MAX_HOSTS: Final = 10_000
_MAX_TRIAL_BYTES: Final = 8 << 20
_BARE: Final = 12
"""A correlation id, a throttle time, an error code and two empty tag sections."""
_SHORT: Final = 20
_LONG: Final = 36
_MOST_TRIED: Final = 512
"""So often a response of a connection is decoded as every kind, which takes about 2 ms."""

_MOST_TRIED_IN_ALL: Final = 50_000

_MOST_TRIED_BYTES: Final = 1 << 20
_OF_CONTROLLERS: Final = frozenset(
    {
        api_keys.LEADER_AND_ISR,
        api_keys.STOP_REPLICA,
        api_keys.UPDATE_METADATA,
        api_keys.CONTROLLED_SHUTDOWN,
    }
)


class Habits:
    """The kinds of requests that the client of one connection sends.

    Attributes:
        counts: how often it sent each kind.
        certain: the kinds that responses fit of which no other API has any.
        tried: how often a response was decoded as every kind that there is.
    """

    __slots__ = ("_connection", "_run", "certain", "counts", "tried")

    def __init__(self, run: "UnmatchedResponses", connection: Connection) -> None:
        """Start with the kinds of the other connections between the same hosts.

        Args:
            run: knows these.
            connection: which one; its client is known when the first of its frames is matched.
        """
        self.counts: dict[RequestKind, int] = {}
        self.certain: set[RequestKind] = set()
        self.tried = 0
        self._run = run
        self._connection = connection

    def learn(self, asked: RequestKind) -> None:
        """Add a kind of request that was not seen before."""
        if len(self.counts) < _MAX_KINDS and can_try(asked):
            self.counts[asked] = 1
            others = self._run.kinds_between(self._connection)
            if len(others) < _MAX_KINDS:
                others.setdefault(asked, self._run.now)

    def asked_for(self, response: bytes) -> RequestKind | None:
        """Return the only kind of request that a response fits; None if none or several do."""
        if len(response) <= _BARE:
            return None
        fitting = _fitting(response, self.counts)
        if fitting:
            asked, *others = fitting
            is_told = len(response) > _SHORT or self.counts[asked] > 1
            return asked if is_told and not others else None
        if not self.counts or len(response) < _LONG:
            return None
        return asked_among(self._run.kinds_between(self._connection), response)

    def leaves_to_others(self, response: bytes) -> bool:
        """Return whether the requests of other connections alone can identify a response."""
        return len(response) >= _LONG and bool(self.counts) and not _fitting(response, self.counts)


class UnmatchedResponses:
    """Holds the unmatched responses of a run; drops the oldest when there are too many.

    Attributes:
        unsure: receives, instead, those that only the requests of other connections can
            identify, and when that was; None where this run knows all other connections.
        asked_between: the kinds of requests, by the client's host and the broker, and when each
            was seen first.
        now: the packet whose turn it is, for `unsure` and `asked_between`; kept by who needs them.
    """

    def __init__(self, identified: list[Exchange]) -> None:
        """Hold nothing yet.

        Args:
            identified: where exchanges go when they are held no more.
        """
        self.unsure: list[tuple[Exchange, int]] | None = None
        self.asked_between: dict[tuple[str, str], dict[RequestKind, int]] = {}
        self.now = 0
        self._identified = identified
        self._held: dict[int, tuple[Exchange, Habits]] = {}
        self._held_bytes = 0
        self._tried = 0

    def habits(self, connection: Connection) -> Habits:
        """Return the habits of a new connection."""
        return Habits(self, connection)

    def kinds_between(self, connection: Connection) -> dict[RequestKind, int]:
        """Return the kinds of requests between the hosts of a connection; more may be added."""
        hosts = hosts_of(connection)
        kinds = self.asked_between.get(hosts, {})
        if len(self.asked_between) < _MAX_HOSTS:
            self.asked_between[hosts] = kinds
        return kinds

    def hold(self, exchange: Exchange, habits: Habits) -> None:
        """Keep the exchange of a response; what is cut stays unknown, for it could be anything."""
        assert exchange.response is not None
        self._held[exchange.number] = exchange, habits
        self._held_bytes += len(exchange.response.data)
        while len(self._held) > MAX_HELD or self._held_bytes > MAX_HELD_BYTES:
            self.release(next(iter(self._held)))

    def reclaim(self, number: int) -> bool:
        """Forget an exchange whose request has come; return whether it was still held."""
        exchange, _ = self._held.pop(number, (None, None))
        if exchange is None:
            return False
        assert exchange.response is not None
        self._held_bytes -= len(exchange.response.data)
        return True

    def release(self, number: int) -> Exchange | None:
        """Identify an exchange, as far as that is possible, and hold it no more; return it."""
        exchange, habits = self._held.pop(number, (None, None))
        if exchange is None or habits is None:
            return None
        assert exchange.response is not None
        self._held_bytes -= len(exchange.response.data)
        if not exchange.response.is_whole or exchange.login is LoginPhase.ASKED:
            self._identified.append(exchange)
            return exchange
        if self.unsure is not None and habits.leaves_to_others(exchange.response.data):
            self.unsure.append((exchange, self.now))
            return exchange
        asked = habits.asked_for(exchange.response.data)
        if asked is not None:
            exchange.api_key, exchange.version = asked
            exchange.guessed = True
        else:
            certain = () if habits.counts else habits.certain
            name_by_trial(exchange, certain, tries_all=self._may_try(habits))
        self._identified.append(exchange)
        return exchange

    def learn(self, numbers: Iterable[int]) -> None:
        """Note what held responses of a connection are that are of one API alone."""
        for number in numbers:
            exchange, habits = self._held.get(number, (None, None))
            if exchange is None or habits is None or habits.counts:
                continue
            assert exchange.response is not None
            if not self._may_try(habits):
                return
            if exchange.response.is_whole and exchange.login is not LoginPhase.ASKED:
                kinds = _kinds_of(exchange.response.data)
                if len({api_key for api_key, _ in kinds}) == 1:
                    habits.certain.update(kinds)

    def _may_try(self, habits: Habits) -> bool:
        """Return whether another response may be decoded as every kind that there is."""
        self._tried += 1
        habits.tried += 1
        return habits.tried <= _MOST_TRIED and self._tried <= _MOST_TRIED_IN_ALL


class Turns:
    """Takes the turns of a decoder that is fed some connections of a capture, and notes them.

    What an exchange tells about others, and what they tell about it, depends on which of them was
    complete first. So each has the packet, of all in the capture, at which that happened.

    Attributes:
        of_exchanges: those packets, of the exchanges that were complete when turns were taken last.
    """

    def __init__(self, unmatched: UnmatchedResponses) -> None:
        """Take none yet; `unmatched` learns whose turn it is."""
        self.of_exchanges: list[int] = []
        self._unmatched = unmatched
        self._ended_by: dict[str, Moment] = {}
        self._last_packet: int | None = None

    def end_at(self, last: Moment) -> Moment:
        """Take the last turns from now on: no bytes will come; return the last packet of all."""
        self._last_packet = last.packet
        return last

    def expect_end(self, connection: Connection, after: Moment) -> None:
        """Note that a connection ends at the first packet behind one and later than a time.

        The decoder itself may come to that only with a later packet, of those it is fed.
        """
        self._ended_by[connection.connection_id] = after

    def take(
        self,
        due: Iterable[Start],
        exchanges: list[Exchange],
        ended: list[Connection],
        recording: Recording,
    ) -> None:
        """Match frames and end connections.

        Args:
            due: whose turn it is.
            exchanges: gets those that are complete.
            ended: gets the connections that end.
            recording: knows the packets of other connections.
        """
        self.of_exchanges = turns = [self._end_of(each) for each in exchanges]
        unsure = [] if self._unmatched.unsure is None else self._unmatched.unsure
        for packet, turn, frame in due:
            self._unmatched.now = packet
            ended_count, unsure_count = len(ended), len(unsure)
            turn.begin(frame)
            turns.extend([packet] * (len(exchanges) - len(turns)))
            if len(ended) > ended_count:
                after = self._ended_by.pop(ended[-1].connection_id, None)
                if after is not None and len(unsure) > unsure_count:
                    end = recording.first_after(*after)
                    at = packet if end is None else min(packet, end.packet)
                    unsure[unsure_count:] = [(each, at) for each, _ in unsure[unsure_count:]]

    def _end_of(self, exchange: Exchange) -> int:
        """Return the packet with which an exchange was complete before its turn."""
        frames = [each for each in (exchange.request, exchange.response) if each is not None]
        if self._last_packet is not None and not all(frame.is_whole for frame in frames):
            return self._last_packet
        return max(frame.last_packet for frame in frames)


def hosts_of(connection: Connection) -> tuple[str, str]:
    """Return the host of the client, and the broker."""
    return connection.client.rpartition(":")[0], connection.broker


def first_asked(asked: Mapping[RequestKind, int], before: int) -> list[RequestKind]:
    """Return the kinds of requests that one run knew when it came to a packet.

    Args:
        asked: the packets at which it learnt each.
        before: the packet.
    """
    first = sorted(asked, key=lambda kind: (asked[kind], kind))[:_MAX_KINDS]
    return [kind for kind in first if asked[kind] <= before]


def asked_among(kinds: Collection[RequestKind], response: bytes) -> RequestKind | None:
    """Return the only one of some kinds of requests that a response fits; None if there is none."""
    fitting = _fitting(response, kinds)
    return fitting[0] if len(fitting) == 1 else None


def name_by_trial(
    exchange: Exchange, certain: Collection[RequestKind] = (), *, tries_all: bool = True
) -> None:
    """Name the API of a response that one alone has, and note an error that all read that fit.

    Args:
        exchange: of the response alone.
        certain: kinds that other responses of the connection have alone.
        tries_all: whether to try more than these, which are enough for long responses.
    """
    assert exchange.response is not None
    data = exchange.response.data
    if not tries_all:
        kinds: Collection[RequestKind] = [
            kind for kind in certain if len(data) >= _LONG and is_whole_response(data, kind)
        ]
    else:
        kinds = _kinds_of(data)
    if not {key for key, _ in certain} <= {*_OF_CONTROLLERS, api_keys.API_VERSIONS}:
        kinds = [kind for kind in kinds if kind[0] not in _OF_CONTROLLERS]
    known = [kind for kind in kinds if kind in certain]
    if len(data) >= _LONG and len({key for key, _ in known}) == 1:
        kinds = known
    apis = {key for key, _ in kinds}
    if len(apis) == 1:
        versions = [version for _, version in kinds]
        exchange.api_key, exchange.guessed = apis.pop(), True
        if len(versions) == 1:
            exchange.version = versions[0]
            return
        exchange.guessed_versions = min(versions), max(versions)
    exchange.guessed_error = common_error(data, kinds)


def _kinds_of(response: bytes) -> tuple[RequestKind, ...]:
    """Return all kinds that a response fits; none if it is too long to try."""
    return fitting_kinds(response) if len(response) <= _MOST_TRIED_BYTES else ()


def _fitting(response: bytes, kinds: Collection[RequestKind]) -> list[RequestKind]:
    """Return which of the kinds of requests a response may answer; two are enough."""
    found: list[RequestKind] = []
    if len(response) * len(kinds) > _MAX_TRIAL_BYTES:
        return found
    for asked in kinds:
        if is_whole_response(response, asked):
            found.append(asked)
            if len(found) > 1:
                break
    return found
