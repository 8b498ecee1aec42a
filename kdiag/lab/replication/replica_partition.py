"""One partition on one node: its log, whether the node leads it, how far its replicas are.

    append_as_leader(records, acks)     refused unless it leads and enough replicas are in sync
    handle_follower_fetch               a follower tells how far it is by fetching from there
    high watermark                      what all replicas in sync have ends before it
    isr_with, isr_without_slow          who is in sync now, if that is another set
    truncate_to_leader                  a follower drops what its leader has not
    check_leader_epoch                  who knows an older leader epoch is fenced (KIP-320), and who
                                        knows a newer one has to wait until this node knows it, too

Whatever it refuses it raises; what waits (`DelayedProduce`, `DelayedFetch`) asks it by methods that
do not.

Source: Kafka's `Partition`.
"""

from collections.abc import Callable
from typing import Final

from kdiag.errors import KdiagError
from kdiag.lab.controller.cluster_image import PartitionRegistration
from kdiag.lab.controller.refusal import RequestRefusedError
from kdiag.lab.log.log_offset import LogOffsetSnapshot
from kdiag.lab.log.offset_lookup import OffsetPlace, TimestampAndOffset, find_offset
from kdiag.lab.log.partition_log import FetchIsolation, LogAppendInfo, PartitionLog
from kdiag.lab.log.producers.append_info import AppendOrigin
from kdiag.lab.purgatory.delayed_fetch import NO_EPOCH, EpochEnd
from kdiag.lab.purgatory.delayed_produce import ReplicasReached
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.follower_replica import UNKNOWN, FollowerReplica
from kdiag.lab.replication.replication_config import ReplicationConfig
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.records.record import NO_TIMESTAMP

ALL_ACKS: Final = -1
DEFAULT_CONFIG: Final = ReplicationConfig()
HIGH_WATERMARK_OFFSET: Final = -1
"""In DeleteRecords: everything that may be read."""

_NONE: Final = CODE_BY_NAME["NONE"]
_NOT_LEADER: Final = CODE_BY_NAME["NOT_LEADER_OR_FOLLOWER"]
_TOO_FEW_AFTER: Final = CODE_BY_NAME["NOT_ENOUGH_REPLICAS_AFTER_APPEND"]


def _is_anybody_running(_: int) -> bool:
    return True


class ReplicaPartition:
    """A partition on a node.

    Attributes:
        key: its topic and number.
        log: its log.
        registration: its replicas and its leader, as the controller has them.
        min_insync_replicas: how many must be in sync for acks=all; as many as there are replicas at
            the most.
        followers: what the leader knows of the others, by node.
    """

    def __init__(
        self,
        key: TopicPartitionOperationKey,
        log: PartitionLog,
        node_id: int,
        config: ReplicationConfig = DEFAULT_CONFIG,
        is_running: Callable[[int], bool] = _is_anybody_running,
    ) -> None:
        """Have a log; `update` tells the rest.

        Args:
            key: its topic and number.
            log: its log.
            node_id: the node.
            config: times of replication.
            is_running: returns whether a broker runs.
        """
        self.key = key
        self.log = log
        self.registration = PartitionRegistration((), (), -1)
        self.min_insync_replicas = 1
        self.followers: dict[int, FollowerReplica] = {}
        self._node_id = node_id
        self._config = config
        self._is_running = is_running
        self._epoch_start_offset = 0

    def __repr__(self) -> str:
        role = "leads" if self.is_leader else "has"
        return f"<ReplicaPartition {self.key.topic}-{self.key.partition}: {self._node_id} {role}>"

    @property
    def is_leader(self) -> bool:
        """Return whether the node leads it."""
        return self.registration.leader == self._node_id

    @property
    def leader_epoch(self) -> int:
        """Return its leader epoch."""
        return self.registration.leader_epoch

    def update(self, registration: PartitionRegistration, min_insync_replicas: int) -> bool:
        """Record what the controller says; return whether who waits has to look again.

        Raises:
            LogFileError: if the epoch cannot be written down, or the log cannot be cut.
        """
        before, self.registration = self.registration, registration
        self.min_insync_replicas = max(1, min(min_insync_replicas, len(registration.replicas)))
        is_new = (before.leader, before.leader_epoch) != (
            registration.leader,
            registration.leader_epoch,
        )
        if not self.is_leader:
            self.followers.clear()
            if is_new and self.log.epochs.latest is None:
                # Nothing tells which of its records the leader has, but for those that all have.
                self.log.truncate_to(self.log.high_watermark)
            return is_new
        if is_new:
            self.log.epochs.assign(registration.leader_epoch, self.log.log_end_offset)
            self._epoch_start_offset = self.log.log_end_offset
            self.followers.clear()
        self._update_followers()
        return self.maybe_increment_high_watermark() or is_new

    def check_leader(self, leader_epoch: int = NO_EPOCH) -> None:
        """Refuse a request that is not for the leader of this epoch.

        Raises:
            RequestRefusedError: NOT_LEADER_OR_FOLLOWER, FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH.
        """
        self.check_leader_epoch(leader_epoch)
        if not self.is_leader:
            why = f"broker {self._node_id} does not lead the partition"
            raise RequestRefusedError("NOT_LEADER_OR_FOLLOWER", why)

    def check_leader_epoch(self, leader_epoch: int) -> None:
        """Refuse a request of another leader epoch.

        Raises:
            RequestRefusedError: FENCED_LEADER_EPOCH, UNKNOWN_LEADER_EPOCH.
        """
        if leader_epoch not in {NO_EPOCH, self.leader_epoch}:
            is_older = leader_epoch < self.leader_epoch
            error = "FENCED_LEADER_EPOCH" if is_older else "UNKNOWN_LEADER_EPOCH"
            raise RequestRefusedError(error, f"epoch {leader_epoch}, it is {self.leader_epoch}")

    def append_as_leader(
        self, records: bytes | memoryview, acks: int, origin: AppendOrigin = AppendOrigin.CLIENT
    ) -> LogAppendInfo:
        """Append batches.

        Args:
            records: the batches.
            acks: as the producer asks for.
            origin: whose they are.

        Raises:
            RequestRefusedError: NOT_LEADER_OR_FOLLOWER, NOT_ENOUGH_REPLICAS.
            LogRefusedError, LogFileError: as the log.
        """
        self.check_leader()
        in_sync = len(self.registration.isr)
        if acks == ALL_ACKS and in_sync < self.min_insync_replicas:
            why = f"{in_sync} replicas are in sync, {self.min_insync_replicas} have to be"
            raise RequestRefusedError("NOT_ENOUGH_REPLICAS", why)
        return self.log.append_as_leader(records, self.leader_epoch, origin)

    def maybe_increment_high_watermark(self) -> bool:
        """Move the high watermark to what all replicas in sync have; return whether it moved.

        A follower that is caught up and not yet in sync counts, too, or the high watermark would be
        ahead of it again and again. With too few in sync it stays where it is (KIP-966).
        """
        if len(self.registration.isr) < self.min_insync_replicas:
            return False
        end = self.log.log_end_offset
        replicated = min(
            (each.log_end_offset for each in self.followers.values() if self._counts(each, end)),
            default=end,
        )
        before = self.log.high_watermark
        if replicated <= before:
            return False
        return self.log.update_high_watermark(replicated) > before

    def handle_follower_fetch(
        self, node_id: int, offset: int, leader_end_offset: int, broker_epoch: int
    ) -> bool:
        """Record how far a follower is; return whether the high watermark has moved.

        Args:
            node_id: the follower.
            offset: from where it fetches.
            leader_end_offset: where the log ended when it was read for the follower.
            broker_epoch: of the follower.
        """
        follower = self.followers.get(node_id)
        if follower is None:
            return False
        follower.handle_fetch(offset, leader_end_offset, self._now_ns, broker_epoch)
        return self.maybe_increment_high_watermark()

    def isr_with(self, node_id: int) -> dict[int, int] | None:
        """Return the replicas in sync with one more, and their epochs; None if it is not so far.

        It has to have all that is replicated, and all that was there when its leader began to lead:
        what came before it may not have.
        """
        follower = self.followers.get(node_id)
        if follower is None or node_id in self.registration.isr:
            return None
        needed = max(self.log.high_watermark, self._epoch_start_offset)
        if follower.log_end_offset < needed:
            return None
        return self._with_epochs({*self.registration.isr, node_id})

    def isr_without_slow(self) -> dict[int, int] | None:
        """Return the replicas in sync without those that lag; None if none does."""
        end, now_ns = self.log.log_end_offset, self._now_ns
        max_lag_ns = self._config.lag_time_max_ns
        slow = {
            node_id
            for node_id in self.registration.isr
            if node_id in self.followers
            and not self.followers[node_id].is_caught_up(end, now_ns, max_lag_ns)
        }
        return self._with_epochs({*self.registration.isr} - slow) if slow else None

    def truncate_to_leader(self, diverging: EpochEnd) -> bool:
        """Drop what the leader has not, as far as it is known; return whether there was anything.

        Args:
            diverging: the largest epoch of the leader that is not above the follower's last, and
                where it ends there.

        Raises:
            LogFileError: if the log cannot be cut.
        """
        log = self.log
        own = log.end_offset_for_epoch(diverging.epoch)
        offset = min(log.log_end_offset, diverging.end_offset)
        if own is not None:
            offset = min(log.log_end_offset, own.start_offset)
            if own.epoch == diverging.epoch:
                offset = min(offset, diverging.end_offset)
        is_cut = log.truncate_to(offset)
        log.epochs.truncate_from_end(offset)  # also those that have written nothing
        return is_cut

    def check_enough_replicas_reach_offset(self, required_offset: int) -> ReplicasReached:
        """Return whether all replicas in sync have everything before an offset."""
        if not self.is_leader:
            return ReplicasReached(has_enough=False, error_code=_NOT_LEADER)
        if self.log.high_watermark < required_offset:
            return ReplicasReached(has_enough=False, error_code=_NONE)
        is_safe = len(self.registration.isr) >= self.min_insync_replicas
        return ReplicasReached(has_enough=True, error_code=_NONE if is_safe else _TOO_FEW_AFTER)

    def fetch_offset_snapshot(
        self, leader_epoch: int, *, is_only_from_leader: bool
    ) -> LogOffsetSnapshot | None:
        """Return the ends of its log; None if it cannot be fetched from here."""
        try:
            self.check_leader_epoch(leader_epoch)
            if is_only_from_leader:
                self.check_leader()
            return self.log.offset_snapshot()
        except KdiagError:
            return None  # the fetch reads again when it is answered, and tells then

    def last_offset_for_leader_epoch(self, leader_epoch: int, epoch: int) -> EpochEnd | None:
        """Return where an epoch ends; None if that cannot be told."""
        try:
            self.check_leader_epoch(leader_epoch)
        except RequestRefusedError:
            return None
        return self.epoch_end(epoch)

    def epoch_end(self, epoch: int) -> EpochEnd | None:
        """Return where an epoch ends; None if the log does not know."""
        found = self.log.end_offset_for_epoch(epoch)
        return None if found is None else EpochEnd(found.epoch, found.start_offset)

    def find_offset(
        self, timestamp: int, isolation: FetchIsolation, leader_epoch: int
    ) -> TimestampAndOffset | None:
        """Return the offset of a time or a place, as far as the client may read; None without one.

        Raises:
            RequestRefusedError: as `check_leader`; OFFSET_NOT_AVAILABLE.
            LogFileError: if the log is damaged there.
        """
        self.check_leader(leader_epoch)
        end = self.end_of(isolation)
        if timestamp == OffsetPlace.LATEST:
            self._check_end_is_known(isolation)
            return TimestampAndOffset(NO_TIMESTAMP, end, self.leader_epoch)
        found = find_offset(self.log, timestamp)
        is_place = timestamp in {OffsetPlace.EARLIEST, OffsetPlace.EARLIEST_LOCAL}
        if found is not None and (is_place or found.offset < end):
            return found
        self._check_end_is_known(isolation)
        return None

    def _check_end_is_known(self, isolation: FetchIsolation) -> None:
        """Refuse to tell a client the end before a new leader knows what is replicated (KIP-207).

        Its high watermark is old until its followers have fetched: clients were told more before.

        Raises:
            RequestRefusedError: OFFSET_NOT_AVAILABLE.
        """
        replicated, needed = self.log.high_watermark, self._epoch_start_offset
        if isolation is not FetchIsolation.LOG_END and replicated < needed:
            why = f"the high watermark is {replicated}, leader epoch {self.leader_epoch} began at"
            raise RequestRefusedError("OFFSET_NOT_AVAILABLE", f"{why} {needed}")

    @property
    def _now_ns(self) -> int:
        return self.log.clock.monotonic_ns()

    def _update_followers(self) -> None:
        """Have a follower for each other replica."""
        replicas, now_ns = self.registration.replicas, self._now_ns
        for gone in self.followers.keys() - set(replicas):
            del self.followers[gone]
        for node_id in replicas:
            if node_id != self._node_id and node_id not in self.followers:
                is_in_sync = node_id in self.registration.isr
                self.followers[node_id] = FollowerReplica(node_id, now_ns if is_in_sync else None)

    def _counts(self, follower: FollowerReplica, end_offset: int) -> bool:
        """Return whether the high watermark waits for a follower."""
        if follower.node_id in self.registration.isr:
            return True
        max_lag_ns = self._config.lag_time_max_ns
        is_caught_up = follower.is_caught_up(end_offset, self._now_ns, max_lag_ns)
        return is_caught_up and self._is_running(follower.node_id)

    def _with_epochs(self, isr: set[int]) -> dict[int, int]:
        """Return replicas in sync with the epochs of their brokers, as far as they are known."""
        epochs = {node_id: each.broker_epoch for node_id, each in self.followers.items()}
        return {node_id: epochs.get(node_id, UNKNOWN) for node_id in isr}

    def end_of(self, isolation: FetchIsolation) -> int:
        """Return the offset up to which somebody may read."""
        if isolation is FetchIsolation.LOG_END:
            return self.log.log_end_offset
        if isolation is FetchIsolation.HIGH_WATERMARK:
            return self.log.high_watermark
        return self.log.last_stable_offset

    def delete_records(self, offset: int) -> int:
        """Delete the records before an offset, and return where the log starts then.

        Args:
            offset: HIGH_WATERMARK_OFFSET stands for the high watermark.

        Raises:
            RequestRefusedError: NOT_LEADER_OR_FOLLOWER, POLICY_VIOLATION, OFFSET_OUT_OF_RANGE.
            LogRefusedError, LogFileError: as the log.
        """
        self.check_leader()
        if not self.log.config.is_deleted:
            why = "records cannot be deleted where cleanup.policy has no delete"
            raise RequestRefusedError("POLICY_VIOLATION", why)
        if offset == HIGH_WATERMARK_OFFSET:
            offset = self.log.high_watermark
        if offset < 0:
            raise RequestRefusedError("OFFSET_OUT_OF_RANGE", f"offset {offset}")
        self.log.increment_log_start(offset)
        return self.log.log_start_offset
