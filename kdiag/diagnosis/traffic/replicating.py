"""Writes with acks=all that wait for followers, while their broker answers everything else.

    ledger       Produce acks=all   strict[0]   | | |  <---- no answer, 10 s ---->
    clicks-web   Produce acks=1     clicks[0]   | | | | | | | | | | | | | | | | |
    reader       Fetch              clicks[0]   |  |  |  |  |  |  |  |  |  |  |

A broker answers them when all in-sync replicas have the records, so no error code speaks of a
follower that is down or hangs, until the leader drops it or the request times out.

Other causes are ruled out by what the same broker answers meanwhile: nothing at all (it is silent),
nothing to the host that waits (the way there), writes with acks=1 late as well (its disk), other
writes with acks=all to the same topic (they have their followers).

Source: Kafka's `DelayedProduce`, and `ReplicaManager.maybeShrinkIsr`.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, NamedTuple

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.check.report import listed
from kdiag.diagnosis.traffic import silence
from kdiag.diagnosis.traffic.ledgers import (
    Asker,
    Case,
    Ledgers,
    answers_of,
    client_of,
    counted,
    findings_of,
)
from kdiag.diagnosis.traffic.silence import LEAST_SILENT_NS, BrokerTimes
from kdiag.exchange.context.topic_names import TopicNames
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.documents.document import Clockface
from kdiag.exchange.line.shown_time import time_of_day, zone_label
from kdiag.exchange.model import Exchange, Status, UnansweredReason
from kdiag.exchange.summary.counts import Again, AgainOn
from kdiag.findings.finding import Finding
from kdiag.wire import api_keys
from kdiag.wire.primitives import uuid_text

ACKS_ALL: Final = -1
_ALIVE_AFTER_NS: Final = NS_PER_S
"""An answer that comes so much later than a write was sent is no answer of before."""

_MOST_WAITS: Final = 10_000
_MOST_PARTITIONS: Final = 10_000
_MOST_SHOWN: Final = 3
_FETCHER: Final = re.compile(r"broker-(\d+)-fetcher-\d+")
"""The client id with which a follower fetches."""

UNKNOWN: Final = silence.UNKNOWN | {
    UnansweredReason.RESPONSES_NOT_CAPTURED,
    UnansweredReason.END_NOT_CAPTURED,
}
"""What may have been answered: besides, where a capture has no end, or no response at all."""

_Places = tuple[tuple[str, int], ...]
"""Topics, by name or id, each with a partition."""


class WriteWait(NamedTuple):
    """A Produce request that waited long, or in vain.

    Attributes:
        asked_ns: when it was sent.
        ended_ns: when it was answered, or its connection ended; 0 if neither was seen.
        client: that sent it.
        acks: that it asked for.
        places: the partitions that it writes to.
        exchange: its number.
    """

    asked_ns: int
    ended_ns: int
    client: Asker
    acks: int
    places: _Places
    exchange: int


class WritePause(NamedTuple):
    """A time in which a broker answered no write with acks=all to some topics.

    Attributes:
        broker: its address.
        first_ns: when the first of the writes was sent.
        last_ns: when the next one succeeded, or the capture ended.
        is_over: whether one succeeded.
        waits: the writes.
        followers: the node ids of those that did not fetch meanwhile, if the capture shows it.
    """

    broker: str
    first_ns: int
    last_ns: int
    is_over: bool
    waits: Sequence[WriteWait]
    followers: Sequence[str]


class Replicating:
    """Looks at how long writes with acks=all wait, beside all else that brokers answer."""

    def __init__(self, names: TopicNames) -> None:
        self._names = names
        self._written: Ledgers[tuple[str, str], BrokerTimes] = Ledgers(BrokerTimes)
        self._others: Ledgers[tuple[str, str], BrokerTimes] = Ledgers(BrokerTimes)
        self._fetchers: Ledgers[tuple[str, str], BrokerTimes] = Ledgers(BrokerTimes)
        self._waits: dict[str, list[WriteWait]] = {}
        self._replicas: dict[tuple[str, int], int] = {}
        self._waits_left = _MOST_WAITS
        self._last_ns = 0

    @property
    def left_out(self) -> int:
        """Return how often there was no room for a client or topic of a broker."""
        return sum(each.left_out for each in (self._written, self._others, self._fetchers))

    def learn_replicas(self, response: Any) -> None:
        """Learn from a response to Metadata how many replicas partitions have."""
        for topic in response.topics or ():
            for each in topic.partitions or ():
                if topic.name:
                    replicas = len(each.replica_nodes or ())
                    self.learn_replica_count(topic.name, each.partition_index, replicas)

    def restore(self, waits: Sequence[tuple[str, WriteWait]], last_ns: int) -> None:
        """Take over writes that waited, by broker, which were found elsewhere.

        Args:
            waits: the writes.
            last_ns: when the capture ended.
        """
        self._last_ns = last_ns
        for broker, wait in waits:
            self._waits.setdefault(broker, []).append(wait)

    def learn_replica_count(self, topic: str, partition: int, count: int) -> None:
        """Learn how many replicas a partition has."""
        if len(self._replicas) < _MOST_PARTITIONS:
            self._replicas[topic, partition] = count

    def note_answers(self, kind: str, place: tuple[str, str], times_ns: Sequence[int]) -> None:
        """Note answers that were found elsewhere, in the order of time.

        Args:
            kind: `written`, `others` or `fetchers`.
            place: the broker, and the topic, the client's host or the follower's client id.
            times_ns: when they came.
        """
        kinds = {"written": self._written, "others": self._others, "fetchers": self._fetchers}
        times = kinds[kind].of(place)
        if times is not None:
            times.answered(times_ns)

    def add(self, dissection: Dissection) -> AgainOn | None:
        """Add an exchange; return who adds those like it."""
        exchange, request = dissection.exchange, dissection.request
        self._last_ns = max(self._last_ns, exchange.time_ns, exchange.connection.last_ns)
        if exchange.request is None:
            return None
        is_write = exchange.api_key == api_keys.PRODUCE
        if is_write and (request is None or request.status is not Status.OK):
            return None
        if exchange.response is None:
            reason = exchange.unanswered_reason
            if is_write and reason is not None and reason not in UNKNOWN:
                self._note(dissection, exchange.connection.closed_ns or 0)
            return None
        acks = request.message.acks if is_write and request is not None else 0
        topics = sorted(dissection.topics) if acks == ACKS_ALL else []
        is_success = not dissection.error_code
        return counted(partial(self._again_on, acks, topics, is_success), exchange)

    def _again_on(
        self,
        acks: int,
        topics: Sequence[str],
        is_success: bool,  # noqa: FBT001 - for partial
        exchange: Exchange,
    ) -> Again | None:
        broker, client = exchange.connection.broker, client_of(exchange)
        if acks == ACKS_ALL:
            found = [self._written.of((broker, topic)) for topic in topics if is_success]
        else:
            found = [self._others.of((broker, client.host))]
            if client.client_id is not None and _FETCHER.fullmatch(client.client_id):
                found.append(self._fetchers.of((broker, client.client_id)))
        ledgers = [each for each in found if each is not None]

        def again(exchanges: Sequence[Exchange]) -> None:
            answers = answers_of(exchanges)
            for each in ledgers:
                each.answered(answers.times_ns)
            if acks and answers.longest_ns >= LEAST_SILENT_NS:
                for late in answers:
                    if (late.latency_ns or 0) >= LEAST_SILENT_NS:
                        self._note(Dissection(late), late.end_ns)

        return again

    def _note(self, dissection: Dissection, ended_ns: int) -> None:
        """Keep a write that waited."""
        request, exchange = dissection.request, dissection.exchange
        if request is None or request.message is None or self._waits_left <= 0:
            return
        places = tuple(_places(request.message))
        if places and request.message.acks:
            self._waits_left -= 1
            waits = self._waits.setdefault(exchange.connection.broker, [])
            waits.append(
                WriteWait(
                    exchange.time_ns,
                    ended_ns,
                    client_of(exchange),
                    request.message.acks,
                    places,
                    exchange.number,
                )
            )

    def pauses(self) -> list[WritePause]:
        """Return when writes with acks=all waited for followers, for each broker."""
        made = []
        for broker, waits in self._waits.items():
            by_time: dict[tuple[int, int], list[WriteWait]] = {}
            for topic in {topic for each in waits for topic, _ in each.places}:
                of_topic = [each for each in waits if topic in dict(each.places)]
                times = self._written.of((broker, topic))
                for span in self._spans(times, of_topic):
                    by_time.setdefault(span, []).extend(self._within(broker, span, of_topic))
            made += [
                self._pause(broker, span, dict.fromkeys(found))
                for span, found in by_time.items()
                if found
            ]
        return _joined(made)

    def _spans(
        self, times: BrokerTimes | None, waits: Sequence[WriteWait]
    ) -> list[tuple[int, int]]:
        """Return from when to when no write to a topic was answered."""
        spans = [] if times is None else times.silences(self._last_ns)
        if times is not None and times.has_answered(0, self._last_ns + 1):
            return spans
        return [(min(each.asked_ns for each in waits) - 1, self._last_ns)]

    def _within(
        self, broker: str, span: tuple[int, int], waits: Sequence[WriteWait]
    ) -> list[WriteWait]:
        """Return the writes that waited for followers in a time without answers."""
        first_ns, last_ns = span
        found = [
            each
            for each in waits
            if self._is_within(each, span)
            and each.acks == ACKS_ALL
            and any(self._replica_count(place) != 1 for place in each.places)
        ]
        if not found:
            return []
        asked_ns = min(each.asked_ns for each in found)
        has_waited = last_ns - asked_ns >= LEAST_SILENT_NS
        is_stuck = any(
            each.acks != ACKS_ALL and self._is_within(each, span) for each in self._waits[broker]
        )
        alive_from_ns = max(first_ns, asked_ns) + _ALIVE_AFTER_NS
        is_alive = any(
            times is not None and times.has_answered(alive_from_ns, last_ns)
            for host in {each.client.host for each in found}
            for times in [self._others.of((broker, host))]
        )
        return found if has_waited and is_alive and not is_stuck else []

    def _is_within(self, wait: WriteWait, span: tuple[int, int]) -> bool:
        """Return whether a write waited in a time, or in a part of it."""
        first_ns, last_ns = span
        return wait.asked_ns < last_ns and (wait.ended_ns or self._last_ns) > first_ns

    def _replica_count(self, place: tuple[str, int]) -> int | None:
        topic, partition = place
        return self._replicas.get((self._names.name(topic) or topic, partition))

    def _pause(
        self, broker: str, span: tuple[int, int], waits: Mapping[WriteWait, None]
    ) -> WritePause:
        first_ns, last_ns = span
        asked_ns = min(each.asked_ns for each in waits)
        # followers that come back fetch before the writes are answered
        from_ns, until_ns = max(first_ns, asked_ns) + _ALIVE_AFTER_NS, last_ns - _ALIVE_AFTER_NS
        followers = [
            client_id
            for (fetched, client_id), times in self._fetchers.items()
            if fetched == broker and not times.has_answered(from_ns, until_ns)
        ]
        nodes = sorted({_FETCHER.sub(r"\1", each) for each in followers})
        return WritePause(broker, asked_ns, last_ns, last_ns < self._last_ns, list(waits), nodes)

    def findings(self, refused: frozenset[str], causes: Sequence[str] = ()) -> Iterator[Finding]:
        """Yield the writes that waited.

        Args:
            refused: topics whose writes are refused, too: another finding has both.
            causes: what else is wrong that may be behind it, such as brokers that are silent.
        """
        by_rule: dict[str, list[Case]] = {}
        for pause in self.pauses():
            topics = self._partitions(pause)
            if not refused.issuperset(topics):
                rule = "KD4405" if pause.is_over else "KD4404"
                case = Case(len(pause.waits), pause.broker, self._evidence(pause, causes))
                by_rule.setdefault(rule, []).append(case)
        for rule, cases in sorted(by_rule.items()):
            yield from findings_of(rule, cases)

    def texts(self) -> dict[str, str]:
        """Return how long writes to a topic waited, by its name."""
        return {
            topic: f"{len(pause.waits):,} Produce requests with acks=all waited unanswered from"
            f" {time_of_day(pause.first_ns)} {zone_label(pause.first_ns)}"
            for pause in self.pauses()
            for topic in self._partitions(pause)
        }

    def brokers(self) -> frozenset[str]:
        """Return the brokers whose writes waited for followers."""
        return frozenset(each.broker for each in self.pauses())

    def _partitions(self, pause: WritePause) -> dict[str, set[int]]:
        """Return the partitions that a pause is about, by topic."""
        found: dict[str, set[int]] = {}
        for topic, partition in {place for each in pause.waits for place in each.places}:
            found.setdefault(self._names.name(topic) or topic, set()).add(partition)
        return found

    def _evidence(self, pause: WritePause, causes: Sequence[str]) -> dict[str, Any]:
        clock = Clockface()
        partitions = {
            topic: sorted(indexes) for topic, indexes in sorted(self._partitions(pause).items())
        }
        shown = [
            f"{topic}[{','.join(map(str, indexes[:_MOST_SHOWN]))}"
            f"{',…' if len(indexes) > _MOST_SHOWN else ''}]"
            for topic, indexes in partitions.items()
        ]
        clients = dict.fromkeys(
            each.client.client_id or each.client.host for each in sorted(pause.waits)
        )
        reasons = list(causes)
        if pause.followers:
            noun = "broker" if len(pause.followers) == 1 else "brokers"
            reasons.insert(0, f"{noun} {', '.join(pause.followers)} fetched nothing meanwhile")
        unanswered = sum(not each.ended_ns for each in pause.waits)
        return {
            "clients": listed(list(clients)),
            "about": listed(shown),
            "partitions": partitions,
            "broker": pause.broker,
            "requests": len(pause.waits),
            "unanswered": unanswered,
            "first": time_of_day(pause.first_ns),
            "last": time_of_day(pause.last_ns),
            "zone": zone_label(pause.last_ns),
            "first_time": clock.text(pause.first_ns),
            "last_time": clock.text(pause.last_ns),
            "followers": list(pause.followers),
            "because": f" ({'; '.join(reasons)})" if reasons else "",
            "exchange": min(pause.waits).exchange,
        }


def _places(request: Any) -> Iterator[tuple[str, int]]:
    """Yield the partitions that a Produce request writes to."""
    for topic in request.topic_data or ():
        name = topic.name or uuid_text(topic.topic_id)
        for each in topic.partition_data or ():
            yield name, each.index


def _joined(pauses: Sequence[WritePause]) -> list[WritePause]:
    """Join the pauses of a broker that overlap: those of several topics are one."""
    joined: list[WritePause] = []
    for pause in sorted(pauses):
        last = joined[-1] if joined else None
        if last is not None and last.broker == pause.broker and pause.first_ns < last.last_ns:
            joined[-1] = last._replace(
                last_ns=max(last.last_ns, pause.last_ns),
                is_over=last.is_over and pause.is_over,
                waits=list(dict.fromkeys([*last.waits, *pause.waits])),
                followers=sorted({*last.followers, *pause.followers}),
            )
        else:
            joined.append(pause)
    return joined
