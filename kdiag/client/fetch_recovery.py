"""What is done about partitions that cannot be read: find the leader, the offset, or say so.

| what the broker says | what is done |
|---|---|
| nothing: the connection broke | metadata is asked for until there is a leader that answers |
| it leads no more, it has lost the topic | the same |
| OFFSET_OUT_OF_RANGE | read on from the first offset that is left, or where a cut log ends |
| a new leader has another history (KIP-320) | read on from where the histories part |
| not authorized | ask again, seldom |

Each thing is told once, as a `Notice`, with the offsets that are missing.

Source: Kafka's `OffsetFetcher`, `SubscriptionState`; KIP-320 (truncation), KIP-516 (topic ids).
"""

from collections.abc import Iterable, MutableMapping
from typing import Final

from kdiag.client.backoff import ExponentialBackoff
from kdiag.client.cluster_client import ClusterClient
from kdiag.client.connection_states import FOREVER_NS
from kdiag.client.fetch_position import (
    OPEN_END,
    UNKNOWN_EPOCH,
    FetchPosition,
    Notice,
    NoticeKind,
    PartitionKey,
)
from kdiag.client.metadata import Cluster, Partition, Topic
from kdiag.client.offset_lookup import EARLIEST, LATEST, end_of_epoch, look_up
from kdiag.errors import ConnectError, KdiagError
from kdiag.wire.error_code import error_name
from kdiag.wire.schema import ZERO_UUID

_MS: Final = 1_000_000
_DENIED_RETRY_NS: Final = 5_000 * _MS
_FIRST_RETRY_NS: Final = 50 * _MS
_LAST_RETRY_NS: Final = 1_000 * _MS
_OUT_OF_RANGE: Final = "OFFSET_OUT_OF_RANGE"
_DENIED: Final = "TOPIC_AUTHORIZATION_FAILED"


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
        self._told: dict[PartitionKey, NoticeKind] = {}
        self._gone: set[int] = set()
        self._notices: list[Notice] = []
        self._backoff = ExponentialBackoff(_FIRST_RETRY_NS, _LAST_RETRY_NS)
        self._attempts = 0
        self._next_ns = 0
        self._denied_until_ns = 0

    def take_notices(self) -> list[Notice]:
        """Return what has happened since this was asked last."""
        taken, self._notices = self._notices, []
        return taken

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
        try:
            if self._leaderless:
                self.apply(self._client.refresh(sorted({key.topic for key in self._leaderless})))
            if self._out_of_range:
                self._find_offsets()
        except KdiagError as error:
            self._tell_once(None, NoticeKind.DISCONNECTED, f"nobody can be asked: {error}")
        self._next_ns = self._client.clock.monotonic_ns() + self._backoff.after(self._attempts)
        self._attempts += 1

    def apply(self, cluster: Cluster) -> None:
        """Take what metadata says of topics that are read."""
        for key, position in self._positions.items():
            topic = cluster.topics.get(key.topic)
            if topic is None or position.is_done:
                continue
            if topic.error_code:
                self._without_topic(position, error_name(topic.error_code))
                continue
            if self._is_another(topic, position):
                self._recreated(topic, position)
            partition = cluster.partition(*key)
            if partition is not None:
                self._take_leader(position, partition, cluster)

    def answered(self, node_id: int) -> None:
        """Take that a broker has answered a Fetch."""
        self._attempts = 0
        if node_id in self._gone:
            self._gone.discard(node_id)
            self._notices.append(Notice(NoticeKind.RECOVERED, f"broker {node_id} answers again"))

    def works(self, position: FetchPosition) -> None:
        """Take that a partition can be read."""
        position.denied = False
        if self._told.pop(position.key, None) is not None:
            self._notices.append(Notice(NoticeKind.RECOVERED, f"{position.key} is read again"))

    def lost(self, node_id: int, keys: Iterable[PartitionKey], error: KdiagError) -> None:
        """Take that a broker did not answer."""
        if node_id not in self._gone:
            self._gone.add(node_id)
            why = error.why if isinstance(error, ConnectError) else str(error)
            text = f"broker {node_id} does not answer: {why}"
            self._notices.append(Notice(NoticeKind.DISCONNECTED, text))
        self._lose_leaders(keys)

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
            self._tell_once(position.key, NoticeKind.DENIED, f"{position.key}: not authorized")
        elif error == _OUT_OF_RANGE:
            self._out_of_range.add(position.key)
        else:
            self._lose_leaders([position.key])

    def diverged(self, position: FetchPosition, end_offset: int) -> None:
        """Take that the log was cut below what we have read: read on from there."""
        lost = position.offset - end_offset
        text = (
            f"{position.key}: the log was truncated to {end_offset}: {lost} records that were "
            "read are not in it any more; reading on there"
        )
        self._move(position, NoticeKind.TRUNCATED, text, end_offset)

    def corrupt(self, position: FetchPosition, why: str) -> None:
        """Take that what a broker sent is no record batch: reading this partition ends."""
        text = f"{position.key}: unreadable at offset {position.offset}, given up: {why}"
        self._notices.append(Notice(NoticeKind.CORRUPT, text))
        position.stop = position.offset

    def _lose_leaders(self, keys: Iterable[PartitionKey]) -> None:
        for key in keys:
            position = self._positions.get(key)
            if position is not None:
                position.replica_id = None
                self._leaderless.add(key)

    def _tell_once(self, key: PartitionKey | None, kind: NoticeKind, text: str) -> None:
        """Say what is wrong unless it was said of the partition before."""
        place = key or PartitionKey("", -1)
        if self._told.get(place) is not kind:
            self._told[place] = kind
            self._notices.append(Notice(kind, text))

    def _without_topic(self, position: FetchPosition, error: str) -> None:
        self._leaderless.add(position.key)
        kind = NoticeKind.DENIED if error == _DENIED else NoticeKind.DELETED
        self._tell_once(position.key, kind, f"{position.key}: {error}")

    @staticmethod
    def _is_another(topic: Topic, position: FetchPosition) -> bool:
        """Return whether a topic is a new one by an old name."""
        ids = {topic.topic_id, position.topic_id}
        return len(ids) > 1 and ZERO_UUID not in ids

    def _recreated(self, topic: Topic, position: FetchPosition) -> None:
        position.topic_id = topic.topic_id
        position.fetched_epoch = position.leader_epoch = UNKNOWN_EPOCH
        if position.stop != OPEN_END:
            position.stop = 0
            text = f"{position.key}: the topic was created anew; the old one ended unread"
        else:
            text = (
                f"{position.key}: the topic was created anew: offsets from {position.offset} "
                "of the old one were not read; reading the new one from its beginning"
            )
        self._move(position, NoticeKind.RECREATED, text, 0)

    def _take_leader(self, position: FetchPosition, partition: Partition, cluster: Cluster) -> None:
        """Take who leads a partition, and make sure that it has the history that we read."""
        if partition.leader_id not in cluster.brokers:
            self._leaderless.add(position.key)
            self._tell_once(position.key, NoticeKind.NO_LEADER, f"{position.key} has no leader")
            return
        if partition.leader_epoch < position.leader_epoch:
            return  # older news than what we go by
        before = position.leader_id
        is_new_epoch = partition.leader_epoch > position.leader_epoch
        position.leader_id = partition.leader_id
        position.leader_epoch = partition.leader_epoch
        self._leaderless.discard(position.key)
        self._told.pop(PartitionKey("", -1), None)
        if before not in {None, partition.leader_id}:
            text = f"{position.key}: the leader is broker {partition.leader_id}, was {before}"
            self._notices.append(Notice(NoticeKind.LEADER_MOVED, text))
        if is_new_epoch and position.fetched_epoch != UNKNOWN_EPOCH:
            self._validate(position)

    def _validate(self, position: FetchPosition) -> None:
        """Find out whether a new leader's log goes on where we stand (KIP-320)."""
        try:
            found = end_of_epoch(self._client, position)
        except KdiagError:
            self._leaderless.add(position.key)  # it does not answer: ask for the leader again
            position.leader_epoch = UNKNOWN_EPOCH
            return
        if isinstance(found, str) or found.offset < 0:
            return  # a broker that does not know: Fetch tells if the offset is out of range
        if found.offset < position.offset:
            self.diverged(position, found.offset)

    def _find_offsets(self) -> None:
        """Find where to read on what is out of range."""
        leaders = {key: self._positions[key].leader_id for key in self._out_of_range}
        first, last = (
            look_up(
                self._client,
                dict.fromkeys(leaders, timestamp),
                leaders,
                is_committed_only=self._is_committed_only,
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
                f"{position.key}: offsets {position.offset} to {first - 1} are not there any more "
                f"(retention, or deleted): reading on at {first}"
            )
            self._move(position, NoticeKind.REMOVED, text, first)
        elif position.offset > last:
            self.diverged(position, last)

    def _move(self, position: FetchPosition, kind: NoticeKind, text: str, offset: int) -> None:
        position.offset = offset
        position.fetched_epoch = UNKNOWN_EPOCH
        self._notices.append(Notice(kind, text))
