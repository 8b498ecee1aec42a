"""What the exchanges of a capture tell of groups becomes events in the order of time.

Three things take more than one exchange, and are settled when all are there: which software a
client is, when a topic had another number of partitions, and which fetch was a member's first.

    t=1  SyncGroup answered    t=2  Fetch    t=3  Fetch       ->  t=2  FetchBegan
    t=1  orders has 4          t=5  orders has 6              ->  t=5  PartitionsSeen 4 -> 6
"""

from array import array
from bisect import bisect_left
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import pairwise
from operator import attrgetter, itemgetter
from typing import Final

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.rebalance.capture.exchange_events import (
    BrokersSeen,
    Fact,
    GroupSighting,
    OfAll,
    PartitionCount,
    Partitions,
    SoftwareSeen,
    brokers_in,
    host_of,
    is_of_group,
    names_brokers,
    sightings_of,
)
from kdiag.diagnosis.rebalance.events import (
    Beat,
    Client,
    EpochBeat,
    Event,
    FetchBegan,
    FetchesPaused,
    JoinAnswered,
    JoinAsked,
    PartitionsSeen,
    SyncAnswered,
)
from kdiag.diagnosis.rebalance.model import EvidencePlace, GroupType
from kdiag.exchange.context.clusters import MOST_ANSWERS, Clusters, NamedBrokers
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Exchange
from kdiag.exchange.summary.counts import AgainOn
from kdiag.wire import api_keys

ClientKey = tuple[str | None, str | None]
"""The client id and the host of a client."""

Complete = Callable[[Client], Client]
"""Adds to a client its software and its cluster."""

FetchPoint = tuple[int, int]
"""When a fetch was sent, and its packet."""

_WINDOW_NS: Final = 60 * NS_PER_S
"""How often the same number of partitions is noted again."""

_MOST_COUNTS: Final = 1 << 16
"""So many numbers of partitions are kept before repetitions are dropped."""

_order: Final = itemgetter(slice(4))
"""As `GroupSighting.order`, for many."""

PAUSE_NS: Final = 3 * NS_PER_S
"""So long a connection carries no fetch where its process stands still; fetches wait 0.5 s."""

_MOST_PAUSES: Final = 100
"""So many of a connection are kept, the latest ones."""

_MOST_CONNECTIONS: Final = 1 << 14
"""So many that fetch are kept before those of no use are dropped, and half of them then."""

_MOST_FETCHES: Final = 1 << 20
"""So many are kept before those of no use are dropped; 16 bytes each."""


class CaptureEvents:
    """Collects what exchanges tell of groups; they may come in any order.

    Of the quiet heartbeats of a member in a generation the first and the last are kept, so that
    quiet groups take no memory.

    Attributes:
        unread_count: requests about groups that could not be read.
        orphan_count: responses whose requests were not seen: they may be about groups.
    """

    def __init__(self, topic_name: Callable[[str], str | None]) -> None:
        """Begin with nothing.

        Args:
            topic_name: returns the name of a topic id, in Kafka's text form; asked at the end.
        """
        self.unread_count = 0
        self.orphan_count = 0
        self._topic_name = topic_name
        self._sightings: list[GroupSighting] = []
        self._quiet: dict[tuple[object, ...], tuple[GroupSighting, GroupSighting]] = {}
        self._counts: dict[tuple[object, ...], GroupSighting] = {}
        self._brokers: dict[NamedBrokers, GroupSighting] = {}
        self._most_counts = _MOST_COUNTS
        self._fetches: dict[tuple[str | None, str], tuple[array[int], array[int]]] = {}
        self._fetch_count = 0
        self._first_fetches: dict[tuple[ClientKey, int], FetchPoint] = {}
        self._pauses: list[FetchesPaused] = []

    @property
    def revision(self) -> tuple[int, int]:
        """Return what differs once there is something that may be, or end, a rebalance."""
        return len(self._sightings), len(self._quiet)

    def concerns(self, exchange: Exchange) -> bool:
        """Return whether an exchange is about membership or brokers, so that it is decoded."""
        return is_of_group(exchange) or names_brokers(exchange)

    def add(self, dissection: Dissection) -> None:
        """Add an exchange."""
        exchange = dissection.exchange
        if exchange.request is None:
            self.orphan_count += 1
            return
        if exchange.api_key == api_keys.FETCH:
            self._add_fetch(exchange)
            return
        self.add_told(dissection)

    def again_on(self, dissection: Dissection) -> AgainOn | None:
        """Return who adds exchanges like one that was added; None where there is nothing to add.

        Of fetches that are alike those count that begin or end a pause, of commits the refused.
        """
        api_key = dissection.exchange.api_key
        if api_key == api_keys.FETCH:
            return lambda _: self._add_ends
        if api_key == api_keys.OFFSET_COMMIT and dissection.error_code:
            return lambda _: self._add_commits
        return None

    def _add_commits(self, exchanges: Sequence[Exchange]) -> None:
        for each in exchanges:
            self.add_told(Dissection(each))

    def _add_ends(self, exchanges: Sequence[Exchange]) -> None:
        """Add the first and the last of some fetches of a connection; all if it paused there."""
        is_short = exchanges[-1].time_ns - exchanges[0].time_ns < PAUSE_NS
        for each in exchanges[:: max(1, len(exchanges) - 1)] if is_short else exchanges:
            self._add_fetch(each)

    def _add_fetch(self, exchange: Exchange) -> None:
        key = (exchange.client_id, exchange.connection.client)
        if key not in self._fetches:
            self._fetches[key] = array("q"), array("q")
        times, packets = self._fetches[key]
        assert exchange.request is not None
        times.append(exchange.request.last_byte_ns)
        packets.append(exchange.request.first_packet)
        self._fetch_count += 1
        if self._fetch_count >= _MOST_FETCHES or len(self._fetches) >= _MOST_CONNECTIONS:
            self._settle_fetches()

    def add_brokers(self, dissection: Dissection) -> None:
        """Add who is in a cluster, which counts for groups whatever else is left out."""
        if names_brokers(dissection.exchange):
            self.add_sightings(brokers_in(dissection))

    def add_told(self, dissection: Dissection) -> None:
        """Add what an exchange tells by itself: of a fetch nothing."""
        sightings = sightings_of(dissection)
        if sightings is None:
            self.unread_count += is_of_group(dissection.exchange)
            return
        self.add_sightings(sightings)

    def add_sightings(self, sightings: Iterable[GroupSighting]) -> None:
        """Add what exchanges told."""
        for each in sightings:
            self.add_sighting(each)

    def add_sighting(self, sighting: GroupSighting) -> None:
        """Add what an exchange told."""
        fact = sighting.fact
        if isinstance(fact, BrokersSeen):
            known = self._brokers.get(fact.named, sighting)
            if fact.named in self._brokers or len(self._brokers) < MOST_ANSWERS:
                self._brokers[fact.named] = min(known, sighting, key=_order)
            return
        if isinstance(fact, PartitionCount):
            window = (*_topic_and_count(sighting), fact.at_ns // _WINDOW_NS)
            known = self._counts.get(window, sighting)
            self._counts[window] = min(known, sighting, key=_order)
            if len(self._counts) > self._most_counts:
                self._drop_repetitions()
            return
        quiet = _quiet_key(fact)
        if quiet is None:
            self._sightings.append(sighting)
            return
        first, last = self._quiet.get(quiet, (sighting, sighting))
        self._quiet[quiet] = min(first, sighting, key=_order), max(last, sighting, key=_order)

    @property
    def sightings(self) -> Iterator[GroupSighting]:
        """Yield what was kept, in no order; fetches are not among them."""
        yield from self._sightings
        yield from self._counts.values()
        yield from self._brokers.values()
        for first, last in self._quiet.values():
            yield first
            if first is not last:
                yield last

    def syncs(self) -> dict[ClientKey, list[int]]:
        """Return when members got their assignments, in order, by client."""
        found: dict[ClientKey, set[int]] = {}
        for each in self._sightings:
            fact = each.fact
            if isinstance(fact, SyncAnswered) and fact.error is None:
                found.setdefault(_key_of(fact.client), set()).add(fact.at_ns)
        return {key: sorted(times) for key, times in found.items()}

    def add_first_fetches(self, found: Mapping[tuple[ClientKey, int], FetchPoint]) -> None:
        """Add the first fetches behind assignments, by client and time of the assignment."""
        for place, point in found.items():
            self._first_fetches[place] = min(self._first_fetches.get(place, point), point)

    def in_order(self) -> list[Event]:
        """Return the events in the order of time."""
        self._settle_fetches()
        sightings = sorted(self.sightings, key=_order)
        software: dict[str, str] = {}
        for each in sightings:
            if isinstance(each.fact, SoftwareSeen):
                software.setdefault(each.fact.connection_id, each.fact.software)
        cluster_of = _cluster_of(sightings)
        clients: dict[Client, Client] = {}

        def complete(client: Client) -> Client:
            if client not in clients:
                clients[client] = client._replace(
                    software=software.get(client.connection or ""), cluster=cluster_of(client)
                )
            return clients[client]

        events: list[Event] = [
            self._complete(each.fact, complete)
            for each in sightings
            if not isinstance(each.fact, OfAll)
        ]
        events += self._fetches_paused(sightings, complete)
        events += self._partitions_seen(sightings, complete)
        events += self._fetches_began(sightings, complete)
        return sorted(events, key=attrgetter("at_ns"))  # those of one moment stay as they are

    def _complete(self, event: Event, complete: Complete) -> Event:
        """Return an event with the client's software, and the names of topics."""
        if isinstance(event, PartitionsSeen):
            return event
        if isinstance(event, JoinAnswered):
            asked = self._complete(event.asked, complete)
            assert isinstance(asked, JoinAsked)
            return event._replace(asked=asked)
        event = event._replace(client=complete(event.client))
        if isinstance(event, EpochBeat) and event.type is not GroupType.STREAMS:
            owned, assigned = self._named(event.owned), self._named(event.assigned)
            return event._replace(owned=owned, assigned=assigned)
        return event

    def _named(self, partitions: Partitions | None) -> Partitions | None:
        if partitions is None:
            return None
        return frozenset((self._topic_name(topic) or topic, number) for topic, number in partitions)

    def _partitions_seen(
        self, sightings: Iterable[GroupSighting], complete: Complete
    ) -> Iterator[PartitionsSeen]:
        """Yield when a topic had another number of partitions than before."""
        counts: dict[tuple[str | None, str], int] = {}
        for each in sightings:
            fact = each.fact
            if isinstance(fact, PartitionCount):
                asker = Client(None, None, None, fact.connection, broker=fact.broker)
                place = complete(asker).cluster, fact.topic
                before = counts.get(place, fact.partition_count)
                counts[place] = fact.partition_count
                if before != fact.partition_count:
                    change = (fact.topic, before, fact.partition_count)
                    yield PartitionsSeen(fact.at_ns, "", fact.evidence, *change, place[0])

    def _fetches_began(
        self, sightings: Iterable[GroupSighting], complete: Complete
    ) -> Iterator[FetchBegan]:
        """Yield the first fetch of each member behind each of its assignments."""
        for each in sightings:
            fact = each.fact
            if isinstance(fact, SyncAnswered) and fact.error is None:
                key = _key_of(fact.client)
                point = self._first_fetches.get((key, fact.at_ns))
                if point is not None:
                    evidence = EvidencePlace("packet", None, point[1])
                    client = Client(*key, None, cluster=complete(fact.client).cluster)
                    yield FetchBegan(point[0], fact.group, evidence, client)

    def _fetches_paused(
        self, sightings: Iterable[GroupSighting], complete: Complete
    ) -> Iterator[FetchesPaused]:
        """Yield the pauses of each client that has a member in a group."""
        groups: dict[ClientKey, dict[tuple[str, str | None], None]] = {}
        for each in sightings:
            if isinstance(each.fact, SyncAnswered):
                place = each.fact.group, complete(each.fact.client).cluster
                groups.setdefault(_key_of(each.fact.client), {})[place] = None
        ends = [
            FetchesPaused(
                times[-1],
                "",
                EvidencePlace("packet", None, packets[-1]),
                Client(client_id, host_of(address), None),
                None,
            )
            for (client_id, address), (times, packets) in self._fetches.items()
        ]
        for pause in (*self._pauses, *ends):
            for group, cluster in groups.get(_key_of(pause.client), ()):
                yield pause._replace(group=group, client=pause.client._replace(cluster=cluster))

    def _drop_repetitions(self) -> None:
        """Keep the first and the last sighting of each number of partitions that a topic had."""
        kept = changes_of(sorted(self._counts.values(), key=_order))
        self._counts = {
            (*_topic_and_count(each), each.fact.at_ns // _WINDOW_NS): each for each in kept
        }
        self._most_counts = max(_MOST_COUNTS, 2 * len(self._counts))

    def _settle_fetches(self) -> None:
        """Find the first fetch behind each assignment, and pauses; keep the last of each."""
        syncs = self.syncs()
        last: dict[tuple[str | None, str], tuple[array[int], array[int]]] = {}
        for (client_id, address), (times, packets) in self._fetches.items():
            key = (client_id, host_of(address))
            if key not in syncs:
                continue
            points = sorted(zip(times, packets, strict=True))
            self._pauses += _pauses_of(points, Client(*key, None))[-_MOST_PAUSES:]
            last[client_id, address] = array("q", points[-1][:1]), array("q", points[-1][1:])
            for sync_ns in syncs[key]:
                place = bisect_left(points, (sync_ns, 0))
                if place < len(points):
                    self.add_first_fetches({(key, sync_ns): points[place]})
        latest = sorted(last, key=lambda each: last[each][0][0])[-_MOST_CONNECTIONS // 2 :]
        self._fetches = {each: last[each] for each in latest}
        self._fetch_count = len(latest)
        del self._pauses[:-_MOST_CONNECTIONS]


def _pauses_of(points: Sequence[FetchPoint], client: Client) -> list[FetchesPaused]:
    """Return the pauses between fetches of a connection."""
    return [
        FetchesPaused(before[0], "", EvidencePlace("packet", None, before[1]), client, after[0])
        for before, after in pairwise(points)
        if after[0] - before[0] >= PAUSE_NS
    ]


def changes_of(counts: Iterable[GroupSighting]) -> list[GroupSighting]:
    """Return the first and the last sighting of each number of partitions that a topic had.

    Args:
        counts: sightings of `PartitionCount`, in order.
    """
    runs: dict[tuple[object, ...], list[list[GroupSighting]]] = {}
    for each in counts:
        *topic, count = _topic_and_count(each)
        known = runs.setdefault(tuple(topic), [])
        if known and _topic_and_count(known[-1][0])[-1] == count:
            known[-1][1:] = [each]
        else:
            known.append([each])
    return [each for of_topic in runs.values() for run in of_topic for each in run]


def _topic_and_count(sighting: GroupSighting) -> tuple[str, str | None, int]:
    """Return a topic, the broker that named it, and how many partitions it has."""
    assert isinstance(sighting.fact, PartitionCount)
    return sighting.fact.topic, sighting.fact.broker, sighting.fact.partition_count


def _cluster_of(sightings: Sequence[GroupSighting]) -> Callable[[Client], str | None]:
    """Return the id of the cluster of a client's connection, if there are several.

    Where the connection and its broker do not, it is that of the client's other connections, if
    these are with one cluster.
    """
    clusters = Clusters(each.fact.named for each in sightings if isinstance(each.fact, BrokersSeen))
    if len(clusters.ids) <= 1:
        return lambda _: None
    others: dict[ClientKey, set[str]] = {}
    for each in sightings:
        client = _client_of(each.fact)
        known = None if client is None else clusters.of(client.connection, client.broker)
        if client is not None and known is not None:
            others.setdefault(_key_of(client), set()).add(known)

    def cluster_of(client: Client) -> str | None:
        found = clusters.of(client.connection, client.broker)
        own = others.get(_key_of(client), set())
        return found or (next(iter(own)) if len(own) == 1 else None)

    return cluster_of


def _client_of(fact: Fact) -> Client | None:
    if isinstance(fact, OfAll | PartitionsSeen):
        return None
    return fact.asked.client if isinstance(fact, JoinAnswered) else fact.client


def _key_of(client: Client) -> ClientKey:
    return client.client_id, client.host


def _quiet_key(fact: Fact) -> tuple[object, ...] | None:
    """Return what quiet heartbeats of a member have in common; None for anything else."""
    if isinstance(fact, Beat) and fact.error is None:
        return fact.group, fact.member_id, fact.generation, fact.is_answered, fact.is_heartbeat
    if isinstance(fact, EpochBeat) and fact.error is None and fact.sent_epoch == fact.epoch:
        is_quiet = fact.topics is None and fact.assigned is None and fact.owned is None
        return (fact.type, fact.group, fact.member_id, fact.epoch) if is_quiet else None
    return None
