"""What a stream knows of groups: all that was told of those that live, and files of the others.

    batch 6   JoinGroup of g    orders has 4                  rows of g so far
    batch 7   SyncGroup of g    Fetch behind batch 6's sync   rows of g so far, in place of those
    batch 9                     g was silent for an hour      rows of g once more, which stay

A rebalance may run over any number of batches, and later ones tell more of it. So rows of groups
that live are made again from what is kept. It is bounded: of quiet heartbeats the first and the
last of each member and generation count; a group that is silent leaves; one that is told too much
of begins anew, as if its capture began there.
"""

from bisect import bisect_right
from collections.abc import Callable, Iterable, Sequence
from itertools import groupby
from operator import attrgetter
from typing import TYPE_CHECKING, Final, NamedTuple

import pyarrow as pa
from pyarrow import compute, ipc

from kdiag.clock import NS_PER_S
from kdiag.diagnosis.rebalance.capture.capture_events import (
    CaptureEvents,
    ClientKey,
    FetchPoint,
    changes_of,
)
from kdiag.diagnosis.rebalance.capture.exchange_events import (
    BrokersSeen,
    Fact,
    GroupSighting,
    OfAll,
    PartitionCount,
    SoftwareSeen,
    host_of,
)
from kdiag.diagnosis.rebalance.events import (
    Beat,
    CoordinatorFound,
    EpochBeat,
    JoinAnswered,
    PartitionsSeen,
)
from kdiag.pipeline.input.split import Split
from kdiag.pipeline.rows.group_rows import first_fetches, select_fetches
from kdiag.report.uri import canonical

if TYPE_CHECKING:
    from kdiag.pipeline.output.partitions import Written

MOST_FACTS: Final = 20_000
"""A group of which more is kept begins anew, once it is steady; at twice as many, anyway."""

_STEADY_NS: Final = 60 * NS_PER_S
_MOST_FETCHES: Final = 1 << 17
_MOST_CLIENTS: Final = 1 << 14
"""Of so many clients it is known until when their fetches are forgotten; then of all at once."""

_MOST_SOFTWARE: Final = 1 << 14
"""So many connections without a group are remembered, the latest ones."""

_MOST_BROKERS: Final = 1 << 12
"""So many answers that name brokers are remembered, the latest ones."""

_Moment = tuple[ClientKey, int]


class ToldBatch(NamedTuple):
    """What the exchanges of a batch tell.

    Attributes:
        sightings: of groups.
        fetches: what `fetches_in` has returned for some frames, for all of them.
    """

    sightings: list[GroupSighting]
    fetches: list[bytes]


def fetches_in(frames: Iterable[pa.RecordBatch]) -> bytes:
    """Return the fetches among rows of `FRAMES` with what tells whose they are, as Arrow."""
    found = list(map(select_fetches, frames))
    return _packed(pa.Table.from_batches(found)) if found else b""


def _packed(fetches: pa.Table) -> bytes:
    sink = pa.BufferOutputStream()
    with ipc.new_stream(
        sink, fetches.schema, options=ipc.IpcWriteOptions(compression="zstd")
    ) as to:
        to.write_table(fetches)
    return bytes(sink.getvalue())


def _unpacked(fetches: Iterable[bytes]) -> pa.Table | None:
    tables = [ipc.open_stream(each).read_all() for each in fetches if each]
    return pa.concat_tables(tables) if tables else None


class Parted(NamedTuple):
    """What is known of groups after a batch, parted by whether rows may change.

    Attributes:
        live: of groups that live.
        settled: of those whose rows stay; None if there are none.
        cut_count: how many of them live, but are told too much of.
    """

    live: CaptureEvents
    settled: CaptureEvents | None
    cut_count: int


class StreamGroups:
    """What a stream keeps of groups between two batches.

    Attributes:
        settled: the files with rows that stay.
        late_count: assignments told so late that the first fetch behind them is forgotten.
    """

    def __init__(self) -> None:
        """Begin with nothing."""
        self.settled: list[Written] = []
        self.late_count = 0
        self._sightings: list[GroupSighting] = []
        self._captures: list[tuple[int, int, str]] = []
        self._first_fetches: dict[_Moment, FetchPoint] = {}
        self._late: set[_Moment] = set()
        self._fetches = b""
        self._forgotten_ns: dict[ClientKey, int] = {}
        self._others_forgotten_ns = 0

    def learn_captures(self, splits: Sequence[Split]) -> None:
        """Note which packets the captures of a batch have."""
        for uri, group in groupby(splits, key=attrgetter("uri")):
            own = list(group)
            last = own[-1].first_packet + own[-1].packets - 1
            self._captures.append((own[0].first_packet, last, canonical(uri)))

    def capture_of(self, packet: int) -> str | None:
        """Return the capture that holds a packet; None if nothing is kept of it."""
        place = bisect_right(self._captures, packet, key=lambda each: each[0]) - 1
        if place < 0 or packet > self._captures[place][1]:
            return None
        return self._captures[place][2]

    def add(
        self,
        told: ToldBatch,
        topic_name: Callable[[str], str | None],
        idle_before_ns: int | None,
    ) -> Parted:
        """Add what a batch tells; return what rows are made of.

        Args:
            told: by its exchanges.
            topic_name: returns the name of a topic id, in Kafka's text form.
            idle_before_ns: groups that were silent since then are settled; None for none.
        """
        whole = CaptureEvents(topic_name)
        whole.add_sightings(self._sightings)
        before = _moments(whole)
        whole.add_sightings(told.sightings)
        late = {each for each in _moments(whole) - before if self._is_late(each)}
        self._late |= late
        self.late_count += len(late)
        self._find_fetches(whole, told.fetches, idle_before_ns)
        kept = sorted(whole.sightings, key=attrgetter("order"))
        silent, cut = _to_settle(kept, idle_before_ns)
        gone = silent | cut
        live = [each for each in kept if _group_of(each.fact) not in gone]
        settled = [each for each in kept if _is_of_all(each) or _group_of(each.fact) in gone]
        parted = Parted(
            self._events(live, topic_name),
            self._events(settled, topic_name) if gone else None,
            len(cut),
        )
        self._keep(live, _moments(parted.live))
        return parted

    def forget_packets(self) -> None:
        """Forget captures that no row can be from, once the rows are made."""
        packets = sorted({each.packet for each in self._sightings})
        self._captures = [
            each
            for each in self._captures
            if bisect_right(packets, each[1]) > bisect_right(packets, each[0] - 1)
        ]

    def _events(
        self, sightings: Iterable[GroupSighting], topic_name: Callable[[str], str | None]
    ) -> CaptureEvents:
        events = CaptureEvents(topic_name)
        events.add_sightings(sightings)
        events.add_first_fetches(self._first_fetches)
        return events

    def _find_fetches(
        self, events: CaptureEvents, new: list[bytes], idle_before_ns: int | None
    ) -> None:
        """Find the first fetch behind each assignment, and keep fetches for those to come."""
        fetches = _unpacked([self._fetches, *new])
        if fetches is None:
            return
        syncs = {
            key: [each for each in times if (key, each) not in self._late]
            for key, times in events.syncs().items()
        }
        for place, point in first_fetches(fetches.to_batches(), syncs).items():
            self._first_fetches[place] = min(self._first_fetches.get(place, point), point)
        times = fetches["request_last_byte_ns"]
        from_ns = idle_before_ns or 0
        if fetches.num_rows > _MOST_FETCHES:
            order = compute.sort_indices(times, sort_keys=[("", "descending")])
            from_ns = max(from_ns, times[order[_MOST_FETCHES - 1].as_py()].as_py())
        is_kept = compute.greater_equal(times, from_ns)
        self._fetches = _packed(fetches.filter(is_kept))
        self._forget(fetches.filter(compute.invert(is_kept)))

    def _forget(self, fetches: pa.Table) -> None:
        """Note until when fetches of each client are forgotten."""
        latest = fetches.group_by(["client_id", "client"]).aggregate(
            [("request_last_byte_ns", "max")]
        )
        for row in latest.to_pylist():
            key = row["client_id"], host_of(row["client"])
            time_ns = row["request_last_byte_ns_max"]
            self._forgotten_ns[key] = max(time_ns, self._forgotten_ns.get(key, 0))
        excess = sorted(self._forgotten_ns.items(), key=lambda each: -each[1])[_MOST_CLIENTS:]
        for client, time_ns in excess:
            del self._forgotten_ns[client]
            self._others_forgotten_ns = max(time_ns, self._others_forgotten_ns)

    def _is_late(self, moment: _Moment) -> bool:
        """Return whether a fetch may be forgotten that came behind an assignment."""
        key, time_ns = moment
        return time_ns <= max(self._forgotten_ns.get(key, 0), self._others_forgotten_ns)

    def _keep(self, live: list[GroupSighting], moments: set[_Moment]) -> None:
        """Keep what later rows of groups that live are made of."""
        counts = [each for each in live if isinstance(each.fact, PartitionCount)]
        told = [each for each in live if not _is_of_all(each)]
        connections = {_connection_of(each.fact) for each in told}
        software = [each for each in live if isinstance(each.fact, SoftwareSeen)]
        named = [each for each in software if _connection_of(each.fact) in connections]
        others = [each for each in software if _connection_of(each.fact) not in connections]
        brokers = [each for each in live if isinstance(each.fact, BrokersSeen)]
        self._sightings = [
            *(*told, *changes_of(counts), *brokers[-_MOST_BROKERS:]),
            *(*named, *others[-_MOST_SOFTWARE:]),
        ]
        self._late &= moments
        self._first_fetches = {
            place: point for place, point in self._first_fetches.items() if place in moments
        }


def _moments(events: CaptureEvents) -> set[_Moment]:
    """Return the assignments that some events tell."""
    return {(key, each) for key, times in events.syncs().items() for each in times}


def _group_of(fact: Fact) -> str | None:
    """Return the group that a fact is about; None if it concerns all."""
    return None if isinstance(fact, OfAll) else fact.group


def _is_of_all(sighting: GroupSighting) -> bool:
    return _group_of(sighting.fact) is None


def _connection_of(fact: Fact) -> str | None:
    if isinstance(fact, SoftwareSeen):
        return fact.connection_id
    if isinstance(fact, PartitionCount | PartitionsSeen | BrokersSeen):
        return None
    return (fact.asked if isinstance(fact, JoinAnswered) else fact).client.connection


def _is_steady(fact: Fact) -> bool:
    """Return whether a fact tells of no change of a group."""
    if isinstance(fact, EpochBeat):
        return fact.error is None and fact.sent_epoch == fact.epoch
    return isinstance(fact, CoordinatorFound) or (isinstance(fact, Beat) and fact.error is None)


def _to_settle(
    kept: Iterable[GroupSighting], idle_before_ns: int | None
) -> tuple[set[str], set[str]]:
    """Return the groups that are silent, and those of which too much is kept."""
    last_ns: dict[str, int] = {}
    changed_ns: dict[str, int] = {}
    counts: dict[str, int] = {}
    for each in kept:
        group = _group_of(each.fact)
        if group is not None:
            last_ns[group] = max(each.at_ns, last_ns.get(group, each.at_ns))
            counts[group] = counts.get(group, 0) + 1
            if not _is_steady(each.fact):
                changed_ns[group] = max(each.at_ns, changed_ns.get(group, each.at_ns))
    silent = {
        group
        for group, time_ns in last_ns.items()
        if idle_before_ns is not None and time_ns < idle_before_ns
    }
    cut = {
        group
        for group, count in counts.items()
        if count > 2 * MOST_FACTS
        or (count > MOST_FACTS and last_ns[group] - changed_ns.get(group, 0) > _STEADY_NS)
    }
    return silent, cut - silent
