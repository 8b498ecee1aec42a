"""The follower's side of replication: fetches from leaders what the node's own logs lack.

    handle_image      which partitions follow whom; a leader that does not run is not asked
    advance           asks each leader for all partitions that follow it and are due, in one Fetch
    a response        records are appended as they are; the high watermark is the leader's, as far
                      as the log goes
    it diverges       the log is cut back to where both are equal, epoch by epoch (KIP-595)
    it is out of range   the log begins where the leader's does, or is cut where the leader's ends

One Fetch is under way to each leader; the leader lets it wait for records. By asking from an offset
a follower says that it has everything before it, and that moves the leader's high watermark. What
fails is tried again after a moment. All of it runs in the node's thread.

Source: Kafka's `AbstractFetcherThread`, `ReplicaFetcherThread`, `ReplicaFetcherManager`.
"""

import logging
from collections.abc import Iterable, Mapping
from functools import partial
from typing import TYPE_CHECKING, Final, NamedTuple

from kdiag.client.fetch.position import FetchPosition, PartitionKey
from kdiag.client.fetch.session import FetchLimits, FetchSession
from kdiag.clock import Clock
from kdiag.lab.controller.cluster_image import ClusterImage
from kdiag.lab.log.refusal import LogFileError, LogRefusedError
from kdiag.lab.purgatory.delayed_fetch import NO_EPOCH, EpochEnd
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.replication.leader_range import ask_for_range
from kdiag.lab.replication.peer_requests import Purpose, SendToNode
from kdiag.lab.replication.replica_partition import ReplicaPartition
from kdiag.lab.replication.replication_config import ReplicationConfig
from kdiag.wire import api_keys
from kdiag.wire.api.fetch import ReplicaState
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.error_code import CODE_BY_NAME, error_name

if TYPE_CHECKING:
    from kdiag.lab.replication.leader_range import LeaderRange
    from kdiag.wire.api.fetch import FetchResponse, PartitionData

LOG: Final = logging.getLogger(__name__)

Key = TopicPartitionOperationKey

_OUT_OF_RANGE: Final = CODE_BY_NAME["OFFSET_OUT_OF_RANGE"]
_VERSION: Final = API_BY_KEY[api_keys.FETCH].versions.high


class _Following:
    """A partition that follows a leader, in one of its epochs."""

    def __init__(
        self, partition: ReplicaPartition, leader: int, topic_id: bytes, now_ns: int
    ) -> None:
        self.partition = partition
        self.leader = leader
        self.leader_epoch = partition.leader_epoch
        self.topic_id = topic_id
        self.due_ns = now_ns

    @property
    def position(self) -> FetchPosition:
        """Return from where to fetch, and what is known there."""
        log = self.partition.log
        latest = log.epochs.latest
        key = self.partition.key
        return FetchPosition(
            key=PartitionKey(key.topic, key.partition),
            offset=log.log_end_offset,
            topic_id=self.topic_id,
            leader_epoch=self.leader_epoch,
            fetched_epoch=NO_EPOCH if latest is None else latest.epoch,
        )


class _FollowedFetch(NamedTuple):
    """What a Fetch asks of one partition."""

    following: _Following
    offset: int


class _LeaderFetches:
    """The fetches from one leader."""

    def __init__(self) -> None:
        self.session = FetchSession()
        self.is_under_way = False
        self.due_ns = 0


class ReplicaFetcher:
    """The partitions of a node that follow, and their fetches."""

    def __init__(
        self,
        node_id: int,
        partitions: Mapping[Key, ReplicaPartition],
        clock: Clock,
        send: SendToNode,
        config: ReplicationConfig,
    ) -> None:
        """Follow nobody yet.

        Args:
            node_id: the node.
            partitions: those that it has, kept by somebody else.
            clock: tells when to try again.
            send: sends requests to leaders.
            config: times and limits.
        """
        self._node_id = node_id
        self._partitions = partitions
        self._clock = clock
        self._send = send
        self._config = config
        self._followings: dict[Key, _Following] = {}
        self._leaders: dict[int, _LeaderFetches] = {}
        self._broker_epoch = NO_EPOCH

    def __repr__(self) -> str:
        return f"<ReplicaFetcher of broker {self._node_id}: {len(self._followings)} partitions>"

    @property
    def following_count(self) -> int:
        """Return how many partitions follow a leader that runs."""
        return len(self._followings)

    def handle_image(self, image: ClusterImage) -> None:
        """Begin and stop to follow, after the node's partitions know of the change."""
        own = image.brokers.get(self._node_id)
        self._broker_epoch = NO_EPOCH if own is None else own.epoch
        now_ns = self._clock.monotonic_ns()
        followings = {}
        for key, partition in self._partitions.items():
            registration = partition.registration
            topic = image.topics.get(key.topic)
            if topic is None or partition.is_leader or registration.leader not in image.brokers:
                continue
            before = self._followings.get(key)
            is_same = (
                before is not None
                and before.partition is partition
                and (before.leader, before.leader_epoch)
                == (registration.leader, registration.leader_epoch)
            )
            followings[key] = (
                before
                if before is not None and is_same
                else _Following(partition, registration.leader, topic.topic_id, now_ns)
            )
        self._followings = followings

    def advance(self) -> int | None:
        """Ask the leaders that are due; return when to be called next."""
        now_ns = self._clock.monotonic_ns()
        by_leader: dict[int, list[_Following]] = {}
        next_ns = None
        for each in self._followings.values():
            fetches = self._leaders.setdefault(each.leader, _LeaderFetches())
            due_ns = max(each.due_ns, fetches.due_ns)
            if fetches.is_under_way:
                continue
            if due_ns <= now_ns:
                by_leader.setdefault(each.leader, []).append(each)
            elif next_ns is None or due_ns < next_ns:
                next_ns = due_ns
        for leader, followings in by_leader.items():
            self._fetch(leader, followings)
        return next_ns

    def _fetch(self, leader: int, followings: Iterable[_Following]) -> None:
        """Send a Fetch for partitions."""
        config = self._config
        limits = FetchLimits(
            config.replica_fetch_response_max_bytes,
            config.replica_fetch_max_bytes,
            config.replica_fetch_wait_max_ms,
            config.replica_fetch_min_bytes,
            is_committed_only=False,
        )
        fetches = self._leaders[leader]
        positions = [each.position for each in followings]
        request = fetches.session.request(positions, limits, _VERSION)
        request.replica_state = ReplicaState(
            replica_id=self._node_id, replica_epoch=self._broker_epoch
        )
        asked = {
            (each.topic_id, each.partition.key.partition): _FollowedFetch(each, position.offset)
            for each, position in zip(followings, positions, strict=True)
        }
        fetches.is_under_way = True
        self._send(leader, Purpose.FETCH, request, partial(self._handle, leader, asked))

    def _handle(
        self,
        leader: int,
        asked: Mapping[tuple[bytes, int], _FollowedFetch],
        response: "FetchResponse | None",
    ) -> None:
        """Handle what a leader has answered; None is nothing."""
        fetches = self._leaders[leader]
        fetches.is_under_way = False
        if response is None or response.error_code:
            fetches.session.reset()
            if response is None:
                fetches.due_ns = self._later_ns
            return
        fetches.session.handle_response(response.session_id, _VERSION)
        for topic in response.responses:
            for data in topic.partitions:
                each = asked.get((topic.topic_id, data.partition_index))
                if each is not None and self._is_current(each):
                    self._handle_partition(each.following, data)

    def _is_current(self, asked: _FollowedFetch) -> bool:
        """Return whether a partition still follows as it did, and its log is as it was."""
        following = asked.following
        key = following.partition.key
        return (
            self._followings.get(key) is following
            and following.partition.log.log_end_offset == asked.offset
        )

    def _handle_partition(self, following: _Following, data: "PartitionData") -> None:
        partition = following.partition
        try:
            if data.error_code == _OUT_OF_RANGE:
                self._handle_out_of_range(following)
            elif data.error_code:
                LOG.debug("%r cannot follow: %s", partition, error_name(data.error_code))
                following.due_ns = self._later_ns
            elif data.diverging_epoch.epoch != NO_EPOCH:
                end = EpochEnd(data.diverging_epoch.epoch, data.diverging_epoch.end_offset)
                partition.truncate_to_leader(end)
            else:
                if data.records:
                    partition.log.append_as_follower(data.records)
                _follow_bounds(partition, data)
        except (LogFileError, LogRefusedError) as error:
            LOG.warning("%r cannot follow: %s", partition, error)
            following.due_ns = self._later_ns

    def _handle_out_of_range(self, following: _Following) -> None:
        """Ask what the leader has, and go on from there."""
        following.due_ns = self._later_ns

        def handle(found: "LeaderRange | None") -> None:
            if found is None or self._followings.get(following.partition.key) is not following:
                return
            log = following.partition.log
            try:
                if found.log_end_offset < log.log_end_offset:
                    log.truncate_to(found.log_end_offset)
                elif found.log_start_offset > log.log_end_offset:
                    log.truncate_fully(found.log_start_offset)
            except LogFileError as error:
                LOG.warning("%r cannot follow: %s", following.partition, error)
                return
            following.due_ns = self._clock.monotonic_ns()

        key, epoch = following.partition.key, following.leader_epoch
        ask_for_range(partial(self._send, following.leader), self._node_id, key, epoch, handle)

    @property
    def _later_ns(self) -> int:
        return self._clock.monotonic_ns() + self._config.backoff_ns


def _follow_bounds(partition: ReplicaPartition, data: "PartitionData") -> None:
    """Let the log have the leader's high watermark and start, as far as it goes.

    Raises:
        LogFileError: if the disk is full or broken.
    """
    log = partition.log
    if min(data.high_watermark, log.log_end_offset) != log.high_watermark:
        log.update_high_watermark(data.high_watermark)
    start_offset = min(data.log_start_offset, log.high_watermark)
    if start_offset > log.log_start_offset:
        log.increment_log_start(start_offset)
