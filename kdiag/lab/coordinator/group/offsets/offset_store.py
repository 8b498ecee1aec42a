"""The offsets of the groups of a partition; those of open transactions lie apart, by producer.

    replay(key, value, origin)             committed, or pending with its producer
    replay_end_transaction(17, commit)     what producer 17 has pending is committed now, or dropped
    is_pending("billing", "orders", 0)     whether a reader of stable offsets has to wait

When a transaction commits, the latest record of a partition wins, whatever order the commits came
in: only so a log that was compacted gives the same.

Source: Kafka's `OffsetMetadataManager`; KIP-98, KIP-447.
"""

from collections.abc import Iterator, Mapping
from typing import Final, NamedTuple

from kdiag.lab.coordinator.group.offsets.committed_offset import CommittedOffset, read_offset
from kdiag.lab.coordinator.runtime.coordinator_record import NO_PRODUCER_ID, RecordOrigin
from kdiag.wire.internal.offset_commit import OffsetCommitKey, OffsetCommitValue


class PartitionOfTopic(NamedTuple):
    """A partition.

    Attributes:
        topic: its topic.
        partition: its number.
    """

    topic: str
    partition: int


_OffsetsByGroup = dict[str, dict[PartitionOfTopic, CommittedOffset]]
_NONE: Final[Mapping[PartitionOfTopic, CommittedOffset]] = {}


class OffsetStore:
    """Offsets, by group."""

    def __init__(self) -> None:
        self._committed: _OffsetsByGroup = {}
        self._pending: dict[int, _OffsetsByGroup] = {}

    def __repr__(self) -> str:
        return f"<OffsetStore of {len(self._committed)} groups>"

    def __len__(self) -> int:
        """Return how many offsets are committed."""
        return sum(map(len, self._committed.values()))

    def of_group(self, group_id: str) -> Mapping[PartitionOfTopic, CommittedOffset]:
        """Return the offsets of a group."""
        return self._committed.get(group_id, _NONE)

    def get(self, group_id: str, topic: str, partition: int) -> CommittedOffset | None:
        """Return an offset; None if nothing is committed."""
        return self.of_group(group_id).get(PartitionOfTopic(topic, partition))

    def is_pending(self, group_id: str, topic: str, partition: int) -> bool:
        """Return whether an open transaction has an offset of a partition."""
        key = PartitionOfTopic(topic, partition)
        return any(key in offsets for offsets in self._pending_of(group_id))

    def has_open_transaction(self, group_id: str) -> bool:
        """Return whether an open transaction has offsets of a group."""
        return any(True for _ in self._pending_of(group_id))

    def partitions_of(self, group_id: str) -> list[PartitionOfTopic]:
        """Return the partitions of which a group has offsets, pending ones included."""
        partitions = dict.fromkeys(self.of_group(group_id))
        for offsets in self._pending_of(group_id):
            partitions.update(dict.fromkeys(offsets))
        return list(partitions)

    @property
    def group_ids(self) -> list[str]:
        """Return the groups that have offsets, pending ones included."""
        ids = dict.fromkeys(self._committed)
        for groups in self._pending.values():
            ids.update(dict.fromkeys(groups))
        return list(ids)

    def replay(
        self, key: OffsetCommitKey, value: OffsetCommitValue | None, origin: RecordOrigin
    ) -> None:
        """Apply a record."""
        partition = PartitionOfTopic(key.topic, key.partition)
        if value is None:
            self._forget(key.group, partition)
            return
        groups = self._committed
        if origin.producer_id != NO_PRODUCER_ID:
            groups = self._pending.setdefault(origin.producer_id, {})
        groups.setdefault(key.group, {})[partition] = read_offset(value, origin.offset)

    def replay_end_transaction(self, producer_id: int, *, is_commit: bool) -> None:
        """Apply the end of a transaction."""
        pending = self._pending.pop(producer_id, {})
        if not is_commit:
            return
        for group_id, offsets in pending.items():
            committed = self._committed.setdefault(group_id, {})
            for partition, offset in offsets.items():
                known = committed.get(partition)
                if known is None or offset.record_offset > known.record_offset:
                    committed[partition] = offset

    def _pending_of(self, group_id: str) -> Iterator[dict[PartitionOfTopic, CommittedOffset]]:
        return (groups[group_id] for groups in self._pending.values() if group_id in groups)

    def _forget(self, group_id: str, partition: PartitionOfTopic) -> None:
        for groups in (self._committed, *self._pending.values()):
            offsets = groups.get(group_id)
            if offsets is not None:
                offsets.pop(partition, None)
                if not offsets:
                    del groups[group_id]
