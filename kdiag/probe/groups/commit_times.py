"""Reads when groups committed: brokers tell offsets alone, and keep the time beside each.

The partitions of `__consumer_offsets` that keep the groups are read from their beginnings; of each
commit the newest record counts, and one without a value removes it.

Source: Kafka's OffsetCommitKey and OffsetCommitValue.
"""

from collections import defaultdict
from collections.abc import Collection, Iterator
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.clock import NS_PER_S
from kdiag.errors import DecodeError
from kdiag.probe.group_records import TOPIC, coordinators_tail
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.internal import read_internal_record
from kdiag.wire.records.record import Record

_COMMITS: Final = (b"\x00\x00", b"\x00\x01")
"""How the keys of commits begin."""

CommitTimes = dict[str, dict[PartitionKey, int]]
"""When a group committed a partition, in ms since 1970, by group."""


def read_commit_times(client: ClusterClient, groups: Collection[str]) -> CommitTimes:
    """Return when groups committed.

    Args:
        client: connected.
        groups: their names.

    Raises:
        AuthorizationError: if this user may not read the topic.
        KdiagError: if the cluster cannot be asked.
    """
    times: CommitTimes = defaultdict(dict)
    tail = coordinators_tail(client, groups)
    while tail is not None and not tail.is_done:
        for fetched in tail.poll(client.clock.monotonic_ns() + NS_PER_S):
            if not fetched.batch.is_control:
                for record in _commits(fetched.batch, groups):
                    _take(times, record)
    return dict(times)


def _commits(batch: RecordBatch, groups: Collection[str]) -> Iterator[Record]:
    """Yield the records that may be commits of some groups."""
    named = [group.encode() for group in groups]
    try:
        records = batch.records()
    except DecodeError:
        return  # the ages of its commits are not known then, and shown as such
    for record in records:
        key = record.key
        if key is not None and key.startswith(_COMMITS) and any(each in key for each in named):
            yield record


def _take(times: CommitTimes, record: Record) -> None:
    found = read_internal_record(TOPIC, record)
    if found is None or found.key is None:
        return
    key = found.key.message
    place = PartitionKey(key.topic, key.partition)
    if found.value is None:
        times[key.group].pop(place, None)
    else:
        times[key.group][place] = found.value.message.commit_timestamp
