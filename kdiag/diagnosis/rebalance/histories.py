"""Events of many groups, or what coordinators wrote of them, become their histories."""

from collections.abc import Callable, Iterable

from kdiag.diagnosis.rebalance.classic import ClassicGroup
from kdiag.diagnosis.rebalance.epochs import EpochGroup
from kdiag.diagnosis.rebalance.events import (
    Beat,
    Client,
    CoordinatorFound,
    EpochBeat,
    Event,
    GroupRecord,
    JoinAnswered,
    JoinAsked,
    Leaving,
    PartitionsSeen,
    SyncAnswered,
    SyncAsked,
)
from kdiag.diagnosis.rebalance.model import GroupHistory, GroupType
from kdiag.diagnosis.rebalance.records.classic_records import RecordedClassicGroup
from kdiag.diagnosis.rebalance.records.epoch_records import RecordedEpochGroup
from kdiag.diagnosis.rebalance.records.record_words import RECORDS, RecordWords

_OF_CLASSIC = JoinAsked | JoinAnswered | SyncAsked | SyncAnswered | Leaving


_Place = tuple[str, str | None]
"""A group, and its cluster: two clusters may have groups of one name."""


def histories_of(events: Iterable[Event], source: str) -> list[GroupHistory]:
    """Return the histories of all groups that some events tell of, by name.

    Args:
        events: in the order of time.
        source: what made them, such as `capture`.
    """
    groups: dict[tuple[_Place, GroupType], ClassicGroup | EpochGroup] = {}
    kinds: dict[_Place, GroupType] = {}
    found: dict[_Place, list[CoordinatorFound]] = {}
    for event in events:
        place = event.group, _cluster_of(event)
        if isinstance(event, PartitionsSeen):
            for ((_, cluster), _), group in groups.items():
                if cluster == event.cluster:
                    group.take(event)
        elif isinstance(event, CoordinatorFound) and place not in kinds:
            found.setdefault(place, []).append(event)  # its kind is not known yet
        elif (kind := _kind_of(event, kinds.get(place))) is not None:
            kinds[place] = kind
            key = (place, kind)
            if key not in groups:
                groups[key] = _new_group(event.group, kind, source)
                groups[key].history.cluster = place[1]
            if place[1] is not None:
                history = groups[key].history
                history.coordinator = _client_of(event).broker or history.coordinator
            for each in found.pop(place, ()):
                groups[key].take(each)
            groups[key].take(event)
    histories = [each.finish() for each in groups.values()]
    return sorted(histories, key=lambda each: (each.group, each.type, each.cluster or ""))


def _cluster_of(event: Event) -> str | None:
    return event.cluster if isinstance(event, PartitionsSeen) else _client_of(event).cluster


def _client_of(event: Event) -> Client:
    assert not isinstance(event, PartitionsSeen)
    return (event.asked if isinstance(event, JoinAnswered) else event).client


def _kind_of(event: Event, known: GroupType | None) -> GroupType | None:
    """Return the kind of group that an event is about; commits and fetches follow the others."""
    if isinstance(event, EpochBeat):
        return event.type
    if isinstance(event, _OF_CLASSIC) or (isinstance(event, Beat) and event.is_heartbeat):
        return GroupType.CLASSIC
    return known


def _new_group(name: str, kind: GroupType, source: str) -> ClassicGroup | EpochGroup:
    if kind is GroupType.CLASSIC:
        return ClassicGroup(name, source)
    return EpochGroup(name, kind, source)


def histories_of_records(
    records: Iterable[GroupRecord], topic_name: Callable[[str], str | None]
) -> list[GroupHistory]:
    """Return the histories of all groups that records of `__consumer_offsets` tell of, by name.

    Args:
        records: those of a group in the order of offsets.
        topic_name: returns the name of a topic id, in Kafka's text form.
    """
    groups = RecordedGroups(topic_name)
    for record in records:
        groups.take(record)
    return groups.histories


class RecordedGroups:
    """The groups that records of `__consumer_offsets` tell of, as they come."""

    def __init__(
        self, topic_name: Callable[[str], str | None], words: RecordWords = RECORDS
    ) -> None:
        """Begin with none.

        Args:
            topic_name: returns the name of a topic id, in Kafka's text form.
            words: what is said of what the source does not tell.
        """
        self._words = words
        self._topic_name = topic_name
        self._groups: dict[tuple[str, GroupType], RecordedClassicGroup | RecordedEpochGroup] = {}

    def take(self, record: GroupRecord) -> None:
        """Take the next record; those of a group come in the order of offsets."""
        kind = _KINDS[record.name.partition("Group")[0]]
        key = (record.group, kind)
        if key not in self._groups:
            self._groups[key] = (
                RecordedClassicGroup(record.group, self._words)
                if kind is GroupType.CLASSIC
                else RecordedEpochGroup(record.group, kind, self._topic_name, self._words)
            )
        self._groups[key].take(record)

    @property
    def histories(self) -> list[GroupHistory]:
        """Return the histories so far of the groups that have rebalanced, by name."""
        groups = [self._groups[key] for key in sorted(self._groups)]
        return [each.history for each in groups if each.history.rebalances]


_KINDS = {
    "": GroupType.CLASSIC,
    "Consumer": GroupType.CONSUMER,
    "Share": GroupType.SHARE,
    "Streams": GroupType.STREAMS,
}
"""By what the names of the records begin with."""
