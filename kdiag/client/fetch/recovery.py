"""What is done about partitions that cannot be read: find the leader, the offset, or say so.

| what the broker says | what is done |
|---|---|
| nothing: the connection broke | metadata is asked for until there is a leader that answers |
| it leads no more, it has lost the topic | the same |
| OFFSET_OUT_OF_RANGE | read on from the first offset that is left, or where a cut log ends |
| a new leader has another history (KIP-320) | read on from where the histories part |
| not authorized | ask again, seldom |

Each thing is told once (`kdiag.client.fetch.notices`), with the offsets that are missing. While
it is dealt with, other partitions wait for `ASK_NS` at most: a broker that hangs is left alone.

Source: Kafka's `OffsetFetcher`, `SubscriptionState`; KIP-320 (truncation), KIP-516 (topic ids).
"""

from collections.abc import Iterable, MutableMapping, Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.notices import SETTLED_NS, FetchNotices
from kdiag.client.fetch.offsets import EARLIEST, LATEST, ends_of_epochs, look_up
from kdiag.client.fetch.position import (
    OPEN_END,
    UNKNOWN_EPOCH,
    FetchPosition,
    Notice,
    NoticeKind,
    PartitionKey,
)
from kdiag.client.network.backoff import ExponentialBackoff
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.metadata import Cluster, Partition, Topic
from kdiag.errors import ConnectError, KdiagError
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import ZERO_UUID

_MS: Final = 1_000_000
ASK_NS: Final = 3_000 * _MS
"""How long the answer to a question about partitions may take; then another broker is asked."""

_DENIED_RETRY_NS: Final = 5_000 * _MS
_FIRST_RETRY_NS: Final = 50 * _MS
_LAST_RETRY_NS: Final = 1_000 * _MS
_OUT_OF_RANGE: Final = "OFFSET_OUT_OF_RANGE"
_DENIED: Final = "TOPIC_AUTHORIZATION_FAILED"
_UNKNOWN: Final = "UNKNOWN_TOPIC_OR_PARTITION"


class FetchRecovery:
    """Keeps the positions of a fetcher where they can be read; for one thread."""

    def __init__(
        self,
        client: ClusterClient,
        positions: MutableMapping[PartitionKey, FetchPosition],
        *,
        is_committed_only: bool,
    ) -> None:
        """Look after positions, which others add to."""
        self._client = client
        self._positions = positions
        self._is_committed_only = is_committed_only
        self._leaderless: set[PartitionKey] = {
            key for key, each in positions.items() if each.leader_id is None
        }
        self._out_of_range: set[PartitionKey] = set()
        self._former_ids: set[bytes] = set()
        self._notices = FetchNotices(client.clock)
        self._backoff = ExponentialBackoff(_FIRST_RETRY_NS, _LAST_RETRY_NS)
        self._attempts = 0
        self._next_ns = 0
        self._denied_until_ns = 0

    def take_notices(self) -> list[Notice]:
        """Return what has happened since this was asked last."""
        return self._notices.take()

    def holds(self, position: FetchPosition) -> bool:
        """Return whether a position cannot be read at the moment."""
        if position.denied:
            return self._client.clock.monotonic_ns() < self._denied_until_ns
        return position.key in self._out_of_range or position.key in self._leaderless

    def next_attempt_ns(self) -> int:
        """Return when there is something to try again, on the monotonic clock."""
        if self._leaderless or self._out_of_range:
            return self._next_ns
        if any(each.denied for each in self._positions.values()):
            return self._denied_until_ns
        return FOREVER_NS

    def stranded(self) -> list[PartitionKey]:
        """Return the partitions that nobody can be asked for now."""
        denied = {key for key, each in self._positions.items() if each.denied}
        held = self._leaderless | self._out_of_range | denied
        return sorted(key for key in held if not self._positions[key].is_done)

    def run(self) -> None:
        """Do what can be done about the partitions in trouble, if it is time."""
        now_ns = self._client.clock.monotonic_ns()
        if not (self._leaderless or self._out_of_range) or now_ns < self._next_ns:
            return
        if now_ns - self._next_ns > SETTLED_NS:
            self._attempts = 0
        try:
            if self._leaderless:
                self.refresh(sorted({key.topic for key in self._leaderless}))
            if self._out_of_range:
                self._find_offsets()
        except KdiagError as error:
            self.unanswered(error)
        self._next_ns = self._client.clock.monotonic_ns() + self._backoff.after(self._attempts)
        self._attempts += 1

    def refresh(self, topics: Sequence[str] | None) -> Cluster:
        """Ask any broker about topics, None for all, and take what it says.

        Raises:
            KdiagError: if it does not answer.
        """
        cluster = self._client.refresh(topics, timeout_ns=ASK_NS)
        self.apply(cluster)
        return cluster

    def unanswered(self, error: KdiagError) -> None:
        """Take that nobody answered a question about partitions."""
        text = f"the cluster does not say who leads: {_why(error)}"
        self._notices.begins(None, NoticeKind.DISCONNECTED, text)

    def unplaced(self, keys: Iterable[PartitionKey]) -> None:
        """Take that nobody says where the logs of partitions begin and end."""
        for key in keys:
            self._notices.begins(key, NoticeKind.NO_LEADER, "no leader that answers")

    def apply(self, cluster: Cluster) -> None:
        """Take what metadata says of topics that are read."""
        self._notices.ends(None)
        unsure = []
        for key, position in self._positions.items():
            topic = cluster.topics.get(key.topic)
            if topic is None or position.is_done or topic.topic_id in self._former_ids:
                continue  # of a former topic a broker tells that has not heard of its end
            if topic.error_code:
                self._without_topic(position, error_name(topic.error_code))
                continue
            if self._is_another(topic, position):
                self._recreated(topic, position)
            partition = cluster.partition(*key)
            if partition is None:
                self._without_topic(position, _UNKNOWN)
            elif self._take_leader(position, partition, cluster):
                unsure.append(position)
        if unsure:
            self._validate(unsure)

    def answered(self, node_id: int) -> None:
        """Take that a broker has answered a Fetch."""
        self._notices.ends(node_id)

    def works(self, position: FetchPosition) -> None:
        """Take that a partition can be read."""
        position.denied = False
        self._notices.ends(position.key)

    def lost(self, node_id: int, keys: Iterable[PartitionKey], error: KdiagError) -> None:
        """Take that a broker did not answer."""
        text = f"broker {node_id} does not answer: {_why(error)}"
        self._notices.begins(node_id, NoticeKind.DISCONNECTED, text)
        self._lose_leaders(key for key in keys if self._positions[key].node_id == node_id)

    def refused(self, keys: Iterable[PartitionKey], error: str) -> None:
        """Take that a broker refused a whole Fetch; its session begins again anyway."""
        if not error.startswith(("FETCH_SESSION_", "INVALID_FETCH_SESSION")):
            self._lose_leaders(keys)

    def failed(self, position: FetchPosition, error: str) -> None:
        """Take the error that a broker told of one partition."""
        if position.replica_id is not None:
            position.replica_id = None  # whatever a follower lacks, the leader may have
        elif error == _DENIED:
            position.denied = True
            self._denied_until_ns = self._client.clock.monotonic_ns() + _DENIED_RETRY_NS
            self._notices.begins(position.key, NoticeKind.DENIED, f"not authorized ({_DENIED})")
        elif error == _OUT_OF_RANGE:
            self._out_of_range.add(position.key)
        else:
            self._lose_leaders([position.key])

    def diverged(self, position: FetchPosition, end_offset: int) -> None:
        """Take that the log was cut below what we have read: read on from there."""
        text = (
            f"the log was truncated: offsets {end_offset} to {position.offset - 1}, which were "
            f"read, are not in it any more; reading on at {end_offset}"
        )
        self._move(position, NoticeKind.TRUNCATED, text, end_offset)

    def corrupt(self, position: FetchPosition, why: str) -> None:
        """Take that what a broker sent is no record batch: reading this partition ends."""
        text = f"unreadable at offset {position.offset}, given up: {why}"
        self._notices.tell(NoticeKind.CORRUPT, text, position.key)
        position.stop = position.offset

    def _lose_leaders(self, keys: Iterable[PartitionKey]) -> None:
        for key in keys:
            position = self._positions.get(key)
            if position is not None:
                position.replica_id = None
                self._leaderless.add(key)

    def _without_topic(self, position: FetchPosition, error: str) -> None:
        self._leaderless.add(position.key)
        if error == _DENIED:
            self._notices.begins(position.key, NoticeKind.DENIED, f"not authorized ({error})")
        else:
            self._notices.begins(position.key, NoticeKind.DELETED, f"not there ({error})")

    @staticmethod
    def _is_another(topic: Topic, position: FetchPosition) -> bool:
        """Return whether a topic is a new one by an old name."""
        ids = {topic.topic_id, position.topic_id}
        return len(ids) > 1 and ZERO_UUID not in ids

    def _recreated(self, topic: Topic, position: FetchPosition) -> None:
        self._former_ids.add(position.topic_id)
        position.topic_id = topic.topic_id
        position.leader_id = position.replica_id = None
        position.fetched_epoch = position.leader_epoch = UNKNOWN_EPOCH
        self._notices.forget(position.key)
        offset = position.offset
        if position.stop == OPEN_END:
            end = "reading the new one from its beginning"
        else:
            end = "the new one is not read"
            position.stop = 0
        text = f"created anew; of the old topic nothing was read from these offsets on; {end}"
        self._notices.tell(NoticeKind.RECREATED, text, position.key, offset)
        self._set(position, 0)

    def _take_leader(self, position: FetchPosition, partition: Partition, cluster: Cluster) -> bool:
        """Take who leads a partition; return whether it may have another history than we read."""
        if partition.leader_id not in cluster.brokers:
            self._leaderless.add(position.key)
            self._notices.begins(position.key, NoticeKind.NO_LEADER, "no leader")
            return False
        if partition.leader_epoch < position.leader_epoch:
            return False  # older news than what we go by
        before = position.leader_id
        is_new_epoch = partition.leader_epoch > position.leader_epoch
        position.leader_id = partition.leader_id
        position.leader_epoch = partition.leader_epoch
        self._leaderless.discard(position.key)
        if before is not None and before != partition.leader_id:
            position.replica_id = None
            self._notices.moved(position.key, before, partition.leader_id)
        return is_new_epoch and position.fetched_epoch != UNKNOWN_EPOCH

    def _validate(self, positions: Sequence[FetchPosition]) -> None:
        """Find out whether the logs of new leaders go on where we stand (KIP-320)."""
        found = ends_of_epochs(self._client, positions, ASK_NS)
        for position in positions:
            end = found[position.key]
            if end is None:
                self._leaderless.add(position.key)  # it does not answer: ask for the leader again
                position.leader_epoch = UNKNOWN_EPOCH
            elif 0 <= end.offset < position.offset:
                self.diverged(position, end.offset)

    def _find_offsets(self) -> None:
        """Find where to read on what is out of range."""
        brokers = self._client.cluster.brokers
        known = {key: self._positions[key].leader_id for key in self._out_of_range}
        leaders = {key: each if each in brokers else None for key, each in known.items()}
        first, last = (
            look_up(
                self._client,
                dict.fromkeys(leaders, timestamp),
                leaders,
                is_committed_only=self._is_committed_only,
                timeout_ns=ASK_NS,
            )
            for timestamp in (EARLIEST, LATEST)
        )
        for key in leaders:
            if first[key].error or last[key].error:
                self._lose_leaders([key])
                continue
            self._out_of_range.discard(key)
            self._put_in_range(self._positions[key], first[key].offset, last[key].offset)

    def _put_in_range(self, position: FetchPosition, first: int, last: int) -> None:
        if position.offset < first:
            text = (
                f"offsets {position.offset} to {first - 1} are not there any more "
                f"(retention, or deleted): reading on at {first}"
            )
            self._move(position, NoticeKind.REMOVED, text, first)
        elif position.offset > last and position.fetched_epoch != UNKNOWN_EPOCH:
            self.diverged(position, last)
        elif position.offset > last:
            text = f"offset {position.offset} is beyond the end of the log: reading on at {last}"
            self._move(position, NoticeKind.TRUNCATED, text, last)
        else:
            position.fetched_epoch = UNKNOWN_EPOCH  # it is that which the leader does not know

    def _move(self, position: FetchPosition, kind: NoticeKind, text: str, offset: int) -> None:
        self._notices.tell(kind, text, position.key)
        self._set(position, offset)

    @staticmethod
    def _set(position: FetchPosition, offset: int) -> None:
        position.offset = offset
        position.fetched_epoch = UNKNOWN_EPOCH


def _why(error: KdiagError) -> str:
    return error.why if isinstance(error, ConnectError) else str(error)
