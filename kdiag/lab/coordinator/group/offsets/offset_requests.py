"""Committing, fetching and deleting offsets: who may, which records come of it, what is answered.

    commit_offsets(shard, who, offsets)     records, and an error code for each partition
    fetch_offsets(shard, ...)               an offset for each; UNSTABLE_OFFSET_COMMIT: wait
    delete_offsets(shard, ...)              records; not of topics that members read

Nothing is written or changed here: a group that commits for the first time is there when its first
offset is replayed.

Source: Kafka's `OffsetMetadataManager`; KIP-447 (stable offsets), KIP-848 (member epochs).
"""

from collections.abc import Iterable
from typing import Final, NamedTuple

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.coordinator.group.group_shard import GroupShard
from kdiag.lab.coordinator.group.offsets.committed_offset import (
    NO_EXPIRY,
    CommittedOffset,
    offset_record,
    offset_tombstone,
)
from kdiag.lab.coordinator.group.offsets.offset_store import PartitionOfTopic
from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord
from kdiag.wire.error_code import CODE_BY_NAME

NO_OFFSET: Final = -1
NO_EPOCH: Final = -1

_GROUP_ID_NOT_FOUND_SINCE: Final = 9
_TOO_LARGE: Final = CODE_BY_NAME["OFFSET_METADATA_TOO_LARGE"]
_UNSTABLE: Final = CODE_BY_NAME["UNSTABLE_OFFSET_COMMIT"]
_SUBSCRIBED: Final = CODE_BY_NAME["GROUP_SUBSCRIBED_TO_TOPIC"]

Records = list[CoordinatorRecord]
ErrorCodes = dict[PartitionOfTopic, int]


class Committer(NamedTuple):
    """Who commits.

    Attributes:
        group_id: its group.
        member_id: its id; empty for somebody who is no member.
        group_instance_id: its name, if it is static.
        generation_id: the generation, or the member epoch, that it knows; -1 without one.
        version: of its request.
        is_transactional: whether the offsets are part of a transaction.
    """

    group_id: str
    member_id: str
    group_instance_id: str | None
    generation_id: int
    version: int
    is_transactional: bool = False


class OffsetToCommit(NamedTuple):
    """What is committed of one partition.

    Attributes:
        partition: the partition.
        offset: the next to be read.
        leader_epoch: of the record before it; -1 if it is not known.
        metadata: what the member writes with it.
    """

    partition: PartitionOfTopic
    offset: int
    leader_epoch: int
    metadata: str


class FetchedOffset(NamedTuple):
    """What is told of one partition.

    Attributes:
        error_code: 0 if nothing is wrong.
        offset: the next to be read; NO_OFFSET if nothing is committed.
        leader_epoch: of the record before it; -1 if it is not known.
        metadata: what the member wrote with it.
    """

    error_code: int = 0
    offset: int = NO_OFFSET
    leader_epoch: int = NO_EPOCH
    metadata: str = ""


def commit_offsets(
    shard: GroupShard,
    committer: Committer,
    offsets: Iterable[OffsetToCommit],
    retention_ms: int = NO_EXPIRY,
) -> tuple[Records, ErrorCodes]:
    """Return the records of a commit, and what is told of each partition.

    Args:
        shard: has the group.
        committer: who commits; if it is a member, it was heard of.
        offsets: what is committed.
        retention_ms: how long the offsets are to be kept, if an old client says so.

    Raises:
        RequestRefusedError: if it may not commit.
    """
    _check_commit(shard, committer)
    now_ms = shard.now_ms
    expire_ms = NO_EXPIRY if retention_ms == NO_EXPIRY else now_ms + retention_ms
    most_bytes = shard.rebalance.config.offset_metadata_max_bytes
    records: Records = []
    codes: ErrorCodes = {}
    for partition, offset, leader_epoch, metadata in offsets:
        codes[partition] = 0
        if len(metadata) > most_bytes:
            codes[partition] = _TOO_LARGE
            continue
        committed = CommittedOffset(offset, leader_epoch, metadata, now_ms, expire_ms)
        records.append(offset_record(committer.group_id, *partition, committed))
    return records, codes


def check_fetch(shard: GroupShard, group_id: str, member_id: str | None, member_epoch: int) -> None:
    """Refuse a fetch of a member of a consumer group in another epoch.

    Raises:
        RequestRefusedError: UNKNOWN_MEMBER_ID, STALE_MEMBER_EPOCH.
    """
    group = shard.groups.get(group_id)
    if group is not None:
        group.check_offset_fetch(member_id, member_epoch)


def fetch_offsets(
    shard: GroupShard,
    group_id: str,
    partitions: Iterable[PartitionOfTopic] | None,
    *,
    must_be_stable: bool,
) -> dict[PartitionOfTopic, FetchedOffset]:
    """Return offsets of a group.

    Args:
        shard: has the group, if anybody has.
        group_id: the group.
        partitions: those that are asked for; None for all of which there are offsets.
        must_be_stable: whether to wait for open transactions.
    """
    offsets = shard.offsets.of_group(group_id)
    fetched = {}
    for partition in offsets if partitions is None else partitions:
        known = offsets.get(partition)
        if must_be_stable and shard.offsets.is_pending(group_id, *partition):
            fetched[partition] = FetchedOffset(_UNSTABLE)
        elif known is None:
            fetched[partition] = FetchedOffset()
        else:
            fetched[partition] = FetchedOffset(0, known.offset, known.leader_epoch, known.metadata)
    return fetched


def delete_offsets(
    shard: GroupShard, group_id: str, partitions: Iterable[PartitionOfTopic]
) -> tuple[Records, ErrorCodes]:
    """Return the records of a deletion, and what is told of each partition.

    Raises:
        RequestRefusedError: GROUP_ID_NOT_FOUND, NON_EMPTY_GROUP.
    """
    group = shard.group(group_id)
    group.check_offset_delete()
    known = set(shard.offsets.partitions_of(group_id))
    records: Records = []
    codes: ErrorCodes = {}
    for partition in partitions:
        is_read = group.is_subscribed_to(partition.topic)
        codes[partition] = _SUBSCRIBED if is_read else 0
        if not is_read and partition in known:
            records.append(offset_tombstone(group_id, *partition))
    return records, codes


def _check_commit(shard: GroupShard, committer: Committer) -> None:
    """Refuse a commit of somebody who may not; a member that may was heard of.

    Raises:
        RequestRefusedError: with the error of the response.
    """
    group = shard.groups.get(committer.group_id)
    if group is None:
        if committer.generation_id < 0:
            return  # an administrator, or a consumer that is no member
        is_told = committer.version >= _GROUP_ID_NOT_FOUND_SINCE and not committer.is_transactional
        error = "GROUP_ID_NOT_FOUND" if is_told else "ILLEGAL_GENERATION"
        raise RequestRefusedError(error, f"Group {committer.group_id} not found.")
    group.check_offset_commit(
        committer.member_id,
        committer.group_instance_id,
        committer.generation_id,
        is_transactional=committer.is_transactional,
        version=committer.version,
    )
    classic = shard.classic_group(committer.group_id)
    member = None if classic is None else classic.members.get(committer.member_id)
    if classic is not None and member is not None and not committer.is_transactional:
        shard.rebalance.reschedule_heartbeat(classic, member)
