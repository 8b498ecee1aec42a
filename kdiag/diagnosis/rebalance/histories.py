"""Events of many groups, or what coordinators wrote of them, become their histories."""

from collections.abc import Callable, Iterable

from kdiag.diagnosis.rebalance.classic import ClassicGroup
from kdiag.diagnosis.rebalance.epochs import EpochGroup
from kdiag.diagnosis.rebalance.events import (
    Beat,
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


def histories_of(events: Iterable[Event], source: str) -> list[GroupHistory]:
    """Return the histories of all groups that some events tell of, by name.

    Args:
        events: in the order of time.
        source: what made them, such as `capture`.
    """
    groups: dict[tuple[str, GroupType], ClassicGroup | EpochGroup] = {}
    kinds: dict[str, GroupType] = {}
    found: dict[str, list[CoordinatorFound]] = {}
    for event in events:
        if isinstance(event, PartitionsSeen):
            for group in groups.values():
                group.take(event)
        elif isinstance(event, CoordinatorFound) and event.group not in kinds:
            found.setdefault(event.group, []).append(event)  # its kind is not known yet
        elif (kind := _kind_of(event, kinds)) is not None:
            kinds[event.group] = kind
            key = (event.group, kind)
            if key not in groups:
                groups[key] = _new_group(event.group, kind, source)
            for each in found.pop(event.group, ()):
                groups[key].take(each)
            groups[key].take(event)
    return [groups[key].finish() for key in sorted(groups)]


def _kind_of(event: Event, kinds: dict[str, GroupType]) -> GroupType | None:
    """Return the kind of group that an event is about; commits and fetches follow the others."""
    if isinstance(event, EpochBeat):
        return event.type
    if isinstance(event, _OF_CLASSIC) or (isinstance(event, Beat) and event.is_heartbeat):
        return GroupType.CLASSIC
    return kinds.get(event.group)


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
