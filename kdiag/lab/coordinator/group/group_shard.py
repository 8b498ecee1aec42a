"""The groups of one partition of `__consumer_offsets`, with their offsets.

    replay             GroupMetadata: a classic group, or its end
                       ConsumerGroup...: a part of a consumer group; ConsumerGroupMetadata: its end
                       OffsetCommit: an offset; a group that nobody knows has only offsets then
    handle_loaded      members are expected to be heard of from now on
    handle_unloaded    NOT_COORDINATOR to everybody who waits

What a classic group does is in memory before it is written, so its records are replayed when the
partition is loaded only; tombstones and offsets always are.

Source: Kafka's `GroupCoordinatorShard`, `GroupMetadataManager.replay`.
"""

import logging
from typing import Final, Protocol

from kdiag.clock import NS_PER_MS, NS_PER_S, Clock
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.classic.group_metadata import GroupMetadata
from kdiag.lab.coordinator.group.classic.group_records import group_tombstone, read_group
from kdiag.lab.coordinator.group.classic.rebalance import ClassicRebalance
from kdiag.lab.coordinator.group.consumer.consumer_group import ConsumerGroup
from kdiag.lab.coordinator.group.consumer.consumer_member import ConsumerGroupMember
from kdiag.lab.coordinator.group.consumer.consumer_records import (
    RECORD_PREFIX,
    consumer_group_tombstones,
    replay_into,
)
from kdiag.lab.coordinator.group.offsets.committed_offset import offset_tombstone
from kdiag.lab.coordinator.group.offsets.offset_store import OffsetStore
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord, RecordOrigin
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.records.internal import InternalRecord

LOG: Final = logging.getLogger(__name__)

_NOT_COORDINATOR: Final = CODE_BY_NAME["NOT_COORDINATOR"]
AnyGroup = GroupMetadata | ConsumerGroup

_MS_PER_MINUTE: Final = 60 * NS_PER_S // NS_PER_MS


class MemberWatcher(Protocol):
    """Expects members of consumer groups to be heard of."""

    def watch(self, shard: "GroupShard", group: ConsumerGroup, member: ConsumerGroupMember) -> None:
        """Expect a member to be heard of."""
        ...

    def forget(self, group: ConsumerGroup) -> None:
        """Expect nothing more of the members of a group."""
        ...


class GroupShard:
    """The groups of a partition.

    Attributes:
        partition: its number.
        clock: the time.
        groups: by id.
        offsets: of all of them.
        rebalance: of the classic ones.
    """

    def __init__(
        self, partition: int, clock: Clock, rebalance: ClassicRebalance, watcher: MemberWatcher
    ) -> None:
        """Begin without groups.

        Args:
            partition: its number.
            clock: the time.
            rebalance: of classic groups.
            watcher: expects members of consumer groups to be heard of.
        """
        self.partition = partition
        self.clock = clock
        self.groups: dict[str, AnyGroup] = {}
        self.offsets = OffsetStore()
        self.rebalance = rebalance
        self._watcher = watcher

    def __repr__(self) -> str:
        return f"<GroupShard {self.partition}: {len(self.groups)} groups>"

    @property
    def now_ms(self) -> int:
        """Return the time in milliseconds since 1970."""
        return self.clock.epoch_ns() // NS_PER_MS

    def replay(self, record: InternalRecord, origin: RecordOrigin) -> None:
        """Apply a record; those of other kinds of groups are passed over."""
        assert record.key is not None
        key = record.key.message
        value = None if record.value is None else record.value.message
        if record.type == "OffsetCommit":
            self.offsets.replay(key, value, origin)
            if value is not None:
                self.groups.setdefault(key.group, GroupMetadata(key.group, self.clock))
        elif record.type == "GroupMetadata":
            if value is None:
                self._remove(key.group)
            else:
                self.groups[key.group] = read_group(key.group, value, self.clock)
        elif record.type.startswith(RECORD_PREFIX):
            self._replay_consumer(record)

    def replay_end_transaction(
        self, producer_id: int, producer_epoch: int, *, is_commit: bool
    ) -> None:
        """Apply the end of a transaction: its offsets count now, or never."""
        del producer_epoch
        self.offsets.replay_end_transaction(producer_id, is_commit=is_commit)

    def handle_loaded(self) -> None:
        """Expect members to be heard of; rebalance a group that is larger than it may be."""
        most = self.rebalance.config.group_max_size
        for group in self.classic_groups:
            for member in group.members.values():
                self.rebalance.reschedule_heartbeat(group, member)
            if len(group.members) > most:
                self.rebalance.prepare(group, f"{len(group.members)} members, at most {most}")
        for consumer_group in self.consumer_groups:
            for consumer in consumer_group.members.values():
                self._watcher.watch(self, consumer_group, consumer)

    def handle_unloaded(self) -> None:
        """Send everybody who waits to another coordinator."""
        for group in self.classic_groups:
            self.rebalance.unload(group, _NOT_COORDINATOR)
        for consumer_group in self.consumer_groups:
            self._watcher.forget(consumer_group)

    @property
    def classic_groups(self) -> list[GroupMetadata]:
        """Return the classic groups."""
        return [each for each in self.groups.values() if isinstance(each, GroupMetadata)]

    @property
    def consumer_groups(self) -> list[ConsumerGroup]:
        """Return the consumer groups."""
        return [each for each in self.groups.values() if isinstance(each, ConsumerGroup)]

    def classic_group(self, group_id: str) -> GroupMetadata | None:
        """Return a classic group; None if there is none of that type."""
        group = self.groups.get(group_id)
        return group if isinstance(group, GroupMetadata) else None

    def consumer_group(self, group_id: str) -> ConsumerGroup:
        """Return a consumer group.

        Raises:
            RequestRefusedError: GROUP_ID_NOT_FOUND.
        """
        group = self.group(group_id)
        if not isinstance(group, ConsumerGroup):
            why = f"Group {group_id} is not a consumer group."
            raise RequestRefusedError("GROUP_ID_NOT_FOUND", why)
        return group

    def group(self, group_id: str) -> AnyGroup:
        """Return a group.

        Raises:
            RequestRefusedError: GROUP_ID_NOT_FOUND.
        """
        group = self.groups.get(group_id)
        if group is None:
            raise RequestRefusedError("GROUP_ID_NOT_FOUND", f"Group {group_id} not found.")
        return group

    def get_or_create(self, group_id: str) -> GroupMetadata:
        """Return a classic group; a new one if there is none of that type."""
        group = self.classic_group(group_id)
        if group is None:
            group = self.groups[group_id] = GroupMetadata(group_id, self.clock)
        return group

    def tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """Return the records that say that a group is gone, with its offsets."""
        return [*self.offset_tombstones(group_id), *self.group_tombstones(group_id)]

    def group_tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """Return the records that say that a group is gone, but for its offsets."""
        group = self.groups.get(group_id)
        if isinstance(group, ConsumerGroup):
            return consumer_group_tombstones(group)
        return [group_tombstone(group_id)]

    def offset_tombstones(self, group_id: str) -> list[CoordinatorRecord]:
        """Return the records that say that the offsets of a group are forgotten."""
        return [
            offset_tombstone(group_id, *partition)
            for partition in self.offsets.partitions_of(group_id)
        ]

    def tombstones_of_deleted(self, deleted: set[tuple[str, int]]) -> list[CoordinatorRecord]:
        """Return the records that say that the offsets of partitions are forgotten.

        Args:
            deleted: topics and numbers of partitions that are no longer there.
        """
        return [
            offset_tombstone(group_id, *partition)
            for group_id in self.offsets.group_ids
            for partition in self.offsets.partitions_of(group_id)
            if tuple(partition) in deleted
        ]

    def expire(self) -> list[CoordinatorRecord]:
        """Return the records that say what is forgotten: offsets, and groups without any."""
        records: list[CoordinatorRecord] = []
        for group_id, group in self.groups.items():
            expired, is_all = self._expired(group)
            records += expired
            has_open = self.offsets.has_open_transaction(group_id)
            if is_all and not has_open and group.is_empty:
                records += self.group_tombstones(group_id)
        return records

    def _expired(self, group: AnyGroup) -> tuple[list[CoordinatorRecord], bool]:
        """Return the tombstones of a group's offsets, and whether that is all of them."""
        retention_ms = self.rebalance.config.offsets_retention_minutes * _MS_PER_MINUTE
        offsets = self.offsets.of_group(group.group_id)
        now_ms = self.now_ms
        expired = [
            offset_tombstone(group.group_id, *partition)
            for partition, offset in offsets.items()
            if not group.is_subscribed_to(partition.topic)
            if not self.offsets.is_pending(group.group_id, *partition)
            if offset.is_expired(
                group.expiry_base_ms(offset.commit_timestamp_ms), now_ms, retention_ms
            )
        ]
        return expired, len(expired) == len(offsets)

    def _remove(self, group_id: str) -> None:
        group = self.classic_group(group_id)
        if group is not None:
            del self.groups[group_id]
            self.rebalance.unload(group, _NOT_COORDINATOR)

    def _replay_consumer(self, record: InternalRecord) -> None:
        assert record.key is not None
        group_id = record.key.message.group_id
        group = self.groups.get(group_id)
        is_there = isinstance(group, ConsumerGroup)
        if record.value is None and not is_there:
            return  # the rest of a group that is gone
        if record.value is None and record.type == "ConsumerGroupMetadata":
            del self.groups[group_id]
            return
        if not isinstance(group, ConsumerGroup):
            group = self.groups[group_id] = ConsumerGroup(group_id)
        replay_into(group, record)
