"""A fetch over many partitions: what is asked of each, what each gives, and within which limit.

Partitions are read in the order of the request. Together they give up to `max_bytes`; the first one
that has records gives at least one batch, however large it is, or its reader would never get on.

    max_bytes 1000, partition_max_bytes 600
    orders-0   a batch of 1500    1500    the first, though it is too large
    orders-1   batches of 200     nothing: nothing is left
    orders-2   fenced             its error

Source: Kafka's `ReplicaManager.readFromLog`, `Partition.readRecords`; KIP-74 (limits), KIP-595
(diverging epochs).
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.log.files.file_records import FileSlice
from kdiag.lab.log.files.transaction_index import AbortedTransaction
from kdiag.lab.log.log_offset import LogOffsetMetadata
from kdiag.lab.log.partition_log import FetchIsolation, LogRead
from kdiag.lab.log.refusal import LogFileError, LogRefusedError
from kdiag.lab.purgatory.delayed_fetch import NO_EPOCH, EpochEnd
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.replica_partition import ReplicaPartition
from kdiag.wire.error_code import CODE_BY_NAME

REFUSALS: Final = (RequestRefusedError, LogRefusedError, LogFileError)
"""What a request for a partition may meet; `error` of each names the error code."""

_UNKNOWN: Final = -1


class ReadLimits(NamedTuple):
    """What a fetch asks of all its partitions.

    Attributes:
        replica_id: the follower that asks; negative for a consumer.
        max_bytes: the most bytes of all.
        isolation: how far it may read.
        replica_epoch: of the follower's broker; -1 if it does not say.
    """

    replica_id: int
    max_bytes: int
    isolation: FetchIsolation
    replica_epoch: int = NO_EPOCH

    @property
    def is_from_follower(self) -> bool:
        """Return whether a replica asks."""
        return self.replica_id >= 0


class PartitionFetch(NamedTuple):
    """What a fetch asks of one partition.

    Attributes:
        offset: the first that is wanted.
        max_bytes: the most bytes.
        current_leader_epoch: what the client knows; -1 if it does not say.
        last_fetched_epoch: of the record before; -1 if it does not say.
    """

    offset: int
    max_bytes: int
    current_leader_epoch: int = NO_EPOCH
    last_fetched_epoch: int = NO_EPOCH


class FetchedRecords(NamedTuple):
    """What one partition gives.

    Attributes:
        error_code: 0 if nothing is wrong.
        high_watermark, last_stable_offset, log_start_offset: of the partition; -1 with an error.
        log_end_offset: likewise; nobody is told but the leader itself.
        start: where the first record is; None with an error.
        records: a part of its log, if there is one.
        aborted: the aborted transactions in it, for readers of committed records.
        diverging: where the logs of leader and follower part, if they do.
    """

    error_code: int
    high_watermark: int = _UNKNOWN
    last_stable_offset: int = _UNKNOWN
    log_start_offset: int = _UNKNOWN
    start: LogOffsetMetadata | None = None
    records: FileSlice | None = None
    aborted: tuple[AbortedTransaction, ...] = ()
    diverging: EpochEnd | None = None
    log_end_offset: int = _UNKNOWN

    @property
    def size(self) -> int:
        """Return the bytes of its records."""
        return 0 if self.records is None else self.records.size


GetPartition = Callable[[TopicPartitionOperationKey], ReplicaPartition]
"""Returns a partition, or raises one of REFUSALS."""


def read_from_log(
    asked: Mapping[TopicPartitionOperationKey, PartitionFetch],
    limits: ReadLimits,
    get_partition: GetPartition,
) -> dict[TopicPartitionOperationKey, FetchedRecords]:
    """Return what each partition gives."""
    fetched = {}
    left = limits.max_bytes
    is_first = True
    for key, fetch in asked.items():
        try:
            given = _read(get_partition(key), fetch, limits, left, is_one_whole=is_first)
        except REFUSALS as error:
            given = FetchedRecords(CODE_BY_NAME[error.error])
        is_first = is_first and not given.size
        left = max(0, left - given.size)
        fetched[key] = given
    return fetched


def _read(
    partition: ReplicaPartition,
    fetch: PartitionFetch,
    limits: ReadLimits,
    left: int,
    *,
    is_one_whole: bool,
) -> FetchedRecords:
    """Return what a partition gives.

    Raises:
        RequestRefusedError, LogRefusedError, LogFileError: if it gives nothing.
    """
    partition.check_leader(fetch.current_leader_epoch)
    if limits.is_from_follower and limits.replica_id not in partition.registration.replicas:
        why = f"broker {limits.replica_id} is not a replica"
        raise RequestRefusedError("NOT_LEADER_OR_FOLLOWER", why)
    log = partition.log
    diverging = _diverging(partition, fetch)
    if diverging is None:
        max_bytes = min(max(0, fetch.max_bytes), left)
        read = log.read(fetch.offset, max_bytes, limits.isolation, is_one_whole=is_one_whole)
    else:
        read = LogRead(LogOffsetMetadata(fetch.offset))
    is_cut = read.is_first_cut or read.size == 0
    return FetchedRecords(
        error_code=0,
        high_watermark=log.high_watermark,
        last_stable_offset=log.last_stable_offset,
        log_start_offset=log.log_start_offset,
        start=read.start,
        records=None if is_cut else read.slice,
        aborted=read.aborted,
        diverging=diverging,
        log_end_offset=log.log_end_offset,
    )


def _diverging(partition: ReplicaPartition, fetch: PartitionFetch) -> EpochEnd | None:
    """Return where the logs part, if the reader has records that this log has not.

    Raises:
        RequestRefusedError: OFFSET_OUT_OF_RANGE if the log knows nothing of that epoch.
    """
    if fetch.last_fetched_epoch == NO_EPOCH:
        return None
    end = partition.epoch_end(fetch.last_fetched_epoch)
    if end is None:
        why = f"nothing is known of epoch {fetch.last_fetched_epoch}"
        raise RequestRefusedError("OFFSET_OUT_OF_RANGE", why)
    is_behind = end.epoch < fetch.last_fetched_epoch or end.end_offset < fetch.offset
    return end if is_behind else None
