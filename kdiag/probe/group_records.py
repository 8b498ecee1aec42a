"""Reads what coordinators wrote about groups: the records of `__consumer_offsets`.

    reader = GroupRecordsReader(client, {"orders"})
    while not reader.is_done:
        reader.poll(deadline_ns)
    reader.records

The partitions of the groups are read from their beginnings to where they end at the start, or on
and on; commits are passed over. Compaction keeps the newest record of each key, so what is left of
old generations is in the part of the log that has not been compacted yet.

Source: Kafka's GroupMetadataManager.partitionFor, CoordinatorRecordSerde.
"""

from collections.abc import Collection
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import FetchedBatch, NoticeKind
from kdiag.client.fetch.session import FetchLimits
from kdiag.clock import NS_PER_MS
from kdiag.diagnosis.rebalance.events import GroupRecord
from kdiag.diagnosis.rebalance.model import EvidencePlace
from kdiag.errors import AuthorizationError, DecodeError
from kdiag.probe.tail.follower import Tail
from kdiag.probe.tail.offset_spec import At, OffsetSpec, Position
from kdiag.probe.tail.placement import TailRequest
from kdiag.probe.tail.topic_selection import TopicSelector
from kdiag.wire.coordinator_partition import CoordinatorKind, coordinator_partition
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.primitives import uuid_text
from kdiag.wire.records.internal import read_internal_record
from kdiag.wire.records.record import Record

TOPIC: Final = CoordinatorKind.GROUP.topic

_RIGHT: Final = f"topic {TOPIC}: not authorized to read it; it takes DESCRIBE and READ on the topic"
_DENIED: Final = CODE_BY_NAME["TOPIC_AUTHORIZATION_FAILED"]
_COMMITS: Final = (b"\x00\x00", b"\x00\x01")
"""How the keys of commits begin: they are most of the topic, and tell nothing of rebalances."""


def coordinators_tail(
    client: ClusterClient, groups: Collection[str], *, follows: bool = False
) -> Tail | None:
    """Return what reads the partitions in which coordinators keep some groups, or all.

    Args:
        client: connected.
        groups: their names; all groups if there are none.
        follows: whether to read on where the partitions ended at the start.

    Returns:
        None if nobody has used a group yet.

    Raises:
        AuthorizationError: if this user may not read the topic.
        KdiagError: if the cluster cannot be asked.
    """
    topic = client.refresh([TOPIC]).topics[TOPIC]
    if topic.error_code == _DENIED:
        raise AuthorizationError(_RIGHT)
    count = len(topic.partitions)
    if not count:
        return None
    chosen = {coordinator_partition(group, count): None for group in sorted(groups)}
    request = TailRequest(
        [TopicSelector(TOPIC, chosen or None)],
        OffsetSpec(Position(At.BEGINNING)),
        stops_at_end=not follows,
        limits=FetchLimits(is_committed_only=False),
    )
    try:
        return Tail(client, request)
    except AuthorizationError as error:
        raise AuthorizationError(_RIGHT) from error


class GroupRecordsReader:
    """Reads the records of some groups, or of all; for one thread.

    Attributes:
        records: those about groups, each partition in the order of offsets.
        unread_count: records that are no commits and could not be read, of whatever group.
        warnings: what could not be read, with offsets.
    """

    def __init__(
        self, client: ClusterClient, groups: Collection[str], *, follows: bool = False
    ) -> None:
        """Find the partitions of the groups.

        Args:
            client: connected.
            groups: their names; all groups if there are none.
            follows: whether to read on where the partitions ended at the start.

        Raises:
            AuthorizationError: if this user may not read the topic.
            KdiagError: if the cluster cannot be asked.
        """
        self.records: list[GroupRecord] = []
        self.unread_count = 0
        self.warnings: list[str] = []
        self._groups = frozenset(groups)
        topics = client.refresh(None).topics
        self._names = {uuid_text(each.topic_id): name for name, each in topics.items()}
        self._tail = coordinators_tail(client, groups, follows=follows)

    @property
    def has_topic(self) -> bool:
        """Return whether there is anything to read."""
        return self._tail is not None

    @property
    def is_done(self) -> bool:
        """Return whether all was read, or given up."""
        return self._tail is None or self._tail.is_done

    @property
    def is_caught_up(self) -> bool:
        """Return whether all was read that the partitions had when they were last asked."""
        positions = () if self._tail is None else self._tail.positions.values()
        return all(0 <= each.high_watermark <= each.offset for each in positions)

    @property
    def is_partial(self) -> bool:
        """Return whether partitions were given up."""
        return self._tail is not None and self._tail.is_partial

    def topic_name(self, topic_id: str) -> str | None:
        """Return the name of a topic by its id, in Kafka's text form; None if it is gone."""
        return self._names.get(topic_id)

    def take_records(self) -> list[GroupRecord]:
        """Return the records since the last call, and keep them no longer."""
        taken, self.records = self.records, []
        return taken

    def poll(self, deadline_ns: int) -> None:
        """Read on; returns at the deadline if nothing came.

        Raises:
            AuthorizationError: if this user may not read the topic.
        """
        assert self._tail is not None
        try:
            batches = self._tail.poll(deadline_ns)
        except AuthorizationError as error:
            raise AuthorizationError(_RIGHT) from error
        for fetched in batches:
            if not fetched.batch.is_control:
                self._take(fetched)
        notices = self._tail.take_notices()
        self.warnings += [each.text for each in notices if each.kind in _LOSSES]

    def _take(self, fetched: FetchedBatch) -> None:
        try:
            records = fetched.batch.records()
        except DecodeError as error:
            self.warnings.append(f"{fetched.key}: {error}")
            return
        for record in records:
            key = record.key
            if key is not None and not key.startswith(_COMMITS) and record.offset >= fetched.start:
                self._add(str(fetched.key), record)

    def _add(self, place: str, record: Record) -> None:
        found = read_internal_record(TOPIC, record)
        if found is None or found.key is None:
            self.unread_count += 1
            return
        key = found.key.message
        group = key.group_id if hasattr(key, "group_id") else key.group
        if self._groups and group not in self._groups:
            return
        self.records.append(
            GroupRecord(
                at_ns=record.timestamp * NS_PER_MS,
                group=group,
                evidence=EvidencePlace("offset", place, record.offset),
                name=found.type,
                member_id=getattr(key, "member_id", ""),
                value=None if found.value is None else found.value.message,
            )
        )


_LOSSES: Final = frozenset({NoticeKind.NO_LEADER, NoticeKind.CORRUPT, NoticeKind.DENIED})
