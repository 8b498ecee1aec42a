"""Recovery of partitions that cannot be read: find the leader or the offset, or report it.

| the broker says | the client does |
|---|---|
| nothing: the connection broke | request metadata until there is a leader that answers |
| it no longer leads, it has lost the topic | the same |
| OFFSET_OUT_OF_RANGE | continue at the first offset that is left, or where a cut log ends |
| answers without records before the end | wait, unless it is proved that nothing is left |
| a new leader has another history (KIP-320) | continue where the histories part |
| not authorized | try again, seldom |

Each event is reported once (`kdiag.client.fetch.notices`), with the offsets that are missing.
Meanwhile other partitions wait for `ASK_NS` at most: a broker that hangs is left alone.

Source: Kafka's `OffsetFetcher`, `SubscriptionState`; KIP-320 (truncation), KIP-516 (topic ids).
"""

from collections.abc import Iterable, Mapping, MutableMapping, Sequence
from typing import Final

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.error_reactions import LASTING_NS, described, is_moved
from kdiag.client.fetch.notices import SETTLED_NS, FetchNotices
from kdiag.client.fetch.offsets import ends_of_epochs
from kdiag.client.fetch.position import (
    OPEN_END,
    UNKNOWN_EPOCH,
    FetchPosition,
    Notice,
    NoticeKind,
    PartitionKey,
)
from kdiag.client.fetch.progress import ProgressWatch
from kdiag.client.fetch.repositioning import ASK_NS, Repositioning
from kdiag.client.network.backoff import ExponentialBackoff
from kdiag.client.network.connection_states import FOREVER_NS
from kdiag.client.network.metadata import Cluster, LeaderNews, Partition, Topic
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.errors import ConfigError, ConnectError, DecodeError, KdiagError
from kdiag.wire.error_code import CODE_BY_NAME, error_name
from kdiag.wire.schema import ZERO_UUID

_DENIED_RETRY_NS: Final = 5 * NS_PER_S
_FIRST_RETRY_NS: Final = 50 * NS_PER_MS
_LAST_RETRY_NS: Final = 1_000 * NS_PER_MS
_OUT_OF_RANGE: Final = "OFFSET_OUT_OF_RANGE"
_DENIED: Final = "TOPIC_AUTHORIZATION_FAILED"
_UNKNOWN: Final = "UNKNOWN_TOPIC_OR_PARTITION"

LEADER_GONE: Final = "LEADER_NOT_AVAILABLE"
SESSION_ERRORS: Final = frozenset(
    {
        "FETCH_SESSION_ID_NOT_FOUND",
        "FETCH_SESSION_TOPIC_ID_ERROR",
        "INCONSISTENT_TOPIC_ID",
        "INVALID_FETCH_SESSION_EPOCH",
        "UNKNOWN_TOPIC_ID",
    }
)
"""Errors after which a session begins again."""


class FetchRecovery:
    """Keeps the positions of a fetcher readable; for one thread.

    Attributes:
        notices: what happens to the partitions.
        reposition: moves positions that cannot be read where they are.
        progress: reports partitions that are not read though their logs go on.
    """

    def __init__(
        self,
        client: ClusterClient,
        positions: MutableMapping[PartitionKey, FetchPosition],
        *,
        is_committed_only: bool,
    ) -> None:
        """Watch over positions, which others add to."""
        self._client = client
        self._positions = positions
        self._leaderless: set[PartitionKey] = {
            key for key, each in positions.items() if each.leader_id is None
        }
        self._former_ids: set[bytes] = set()
        self.notices = FetchNotices(client.clock)
        self.reposition = Repositioning(
            client, positions, self.notices, is_committed_only=is_committed_only
        )
        self.progress = ProgressWatch(
            client.clock, self.notices, is_committed_only=is_committed_only
        )
        self._backoff = ExponentialBackoff(_FIRST_RETRY_NS, _LAST_RETRY_NS)
        self._attempts = 0
        self._next_ns = 0
        self._denied_until_ns = 0
        self._refused_since_ns: dict[PartitionKey, int] = {}

    def take_notices(self) -> list[Notice]:
        """Return the notices since the last call."""
        return self.notices.pop()

    def holds(self, position: FetchPosition) -> bool:
        """Return whether a position cannot be read at the moment."""
        if position.denied:
            return self._client.clock.monotonic_ns() < self._denied_until_ns
        return position.key in self.reposition.out_of_range or position.key in self._leaderless

    def next_attempt_ns(self) -> int:
        """Return when to try again, on the monotonic clock; FOREVER_NS if nothing is in trouble."""
        if self._leaderless or self.reposition.out_of_range:
            return self._next_ns
        if any(each.denied for each in self._positions.values()):
            return self._denied_until_ns
        return FOREVER_NS

    def stranded(self) -> list[PartitionKey]:
        """Return the partitions that cannot be read now."""
        denied = {key for key, each in self._positions.items() if each.denied}
        held = self._leaderless | self.reposition.out_of_range | denied
        return sorted(key for key in held if not self._positions[key].is_done)

    def recover(self) -> None:
        """Try to make the partitions in trouble readable, if it is time.

        Raises:
            ConfigError: if the policy of a group forbids to guess where to read on.
        """
        now_ns = self._client.clock.monotonic_ns()
        self.progress.look(self._positions.values())
        self.reposition.look_up_policies()
        if not (self._leaderless or self.reposition.out_of_range) or now_ns < self._next_ns:
            return
        if now_ns - self._next_ns > SETTLED_NS:
            self._attempts = 0
        try:
            if self._leaderless:
                self.refresh(sorted({key.topic for key in self._leaderless}))
            if self.reposition.out_of_range:
                self.lose_leaders(self.reposition.find_offsets())
        except ConfigError:
            raise
        except KdiagError as error:
            self.unanswered(error)
        self._next_ns = self._client.clock.monotonic_ns() + self._backoff.after(self._attempts)
        self._attempts += 1

    def refresh(self, topics: Sequence[str] | None) -> Cluster:
        """Ask any broker about topics, None for all, and apply its response.

        Raises:
            KdiagError: if it does not answer.
        """
        cluster = self._client.refresh(topics, timeout_ns=ASK_NS)
        self.apply(cluster)
        return cluster

    def unanswered(self, error: KdiagError) -> None:
        """Report that nobody answered a request about partitions."""
        text = f"the cluster does not say who leads: {_why(error)}"
        self.notices.begin_trouble(None, NoticeKind.DISCONNECTED, text)

    def unplaced(self, keys: Iterable[PartitionKey], errors: Mapping[PartitionKey, str]) -> None:
        """Report partitions whose logs have no known beginning and end, and why."""
        for key in keys:
            error = errors.get(key, LEADER_GONE)
            if error == LEADER_GONE or error not in CODE_BY_NAME:
                self._trouble(key, NoticeKind.NO_LEADER, "no leader that answers")
            else:
                text = f"its leader answers {described(error)}"
                self._trouble(key, NoticeKind.REFUSED, text)

    def apply(self, cluster: Cluster) -> None:
        """Apply metadata of topics that are read."""
        self.notices.end_trouble(None)
        unsure = []
        for key, position in self._positions.items():
            topic = cluster.topics.get(key.topic)
            if topic is None or position.is_done or topic.topic_id in self._former_ids:
                continue  # the broker has not heard yet that this topic was deleted
            if topic.error_code:
                self._without_topic(position, error_name(topic.error_code))
                continue
            if _is_another(topic, position):
                self._recreated(topic, position)
            partition = cluster.partition(*key)
            if partition is None:
                self._without_topic(position, _UNKNOWN)
            elif self._apply_leader(position, partition, cluster):
                unsure.append(position)
        if unsure:
            self._validate(unsure)

    def check_histories(self, keys: Iterable[PartitionKey]) -> None:
        """Check that logs agree with what was read before, of partitions that begin to be read.

        Raises:
            ConfigError: if one does not, and the policy of the group forbids to guess.
        """
        begun = [self._positions[key] for key in keys]
        unsure = [each for each in begun if each.fetched_epoch != UNKNOWN_EPOCH]
        if unsure:
            self._validate(unsure)

    def forget(self, key: PartitionKey) -> None:
        """Forget a partition that is read no more."""
        self._leaderless.discard(key)
        self._refused_since_ns.pop(key, None)
        self.reposition.forget(key)
        self.progress.forget(key)
        self.notices.forget(key)

    def answered(self, node_id: int) -> None:
        """Record that a broker has answered a Fetch."""
        self.notices.end_trouble(node_id)

    def works(self, position: FetchPosition) -> None:
        """Record that a partition can be read."""
        position.denied = False
        self._refused_since_ns.pop(position.key, None)
        self.notices.end_trouble(position.key)

    def lost(self, node_id: int, keys: Iterable[PartitionKey], error: KdiagError) -> None:
        """Handle a broker that did not answer."""
        is_answer = isinstance(error, DecodeError)
        what = "answers what cannot be read" if is_answer else "does not answer"
        text = f"broker {node_id} {what}: {_why(error)}"
        self.notices.begin_trouble(node_id, NoticeKind.DISCONNECTED, text)
        read = [self._positions[key] for key in keys if key in self._positions]
        lost = [each.key for each in read if each.node_id == node_id]
        for key in lost:
            self.progress.explain(key, text)
        self.lose_leaders(lost)

    def refused(self, node_id: int, keys: Iterable[PartitionKey], error: str) -> None:
        """Handle a broker that refused a whole Fetch; its session starts again anyway."""
        for position in [self._positions[key] for key in keys if key in self._positions]:
            if error in SESSION_ERRORS and position.key not in self._refused_since_ns:
                self._refused_since_ns[position.key] = self._client.clock.monotonic_ns()
            else:
                self.failed(position, error, node_id)

    def failed(
        self, position: FetchPosition, error: str, node_id: int, news: LeaderNews | None = None
    ) -> None:
        """Handle the error of one partition in a response; `error_reactions` says what follows.

        Args:
            position: of the partition.
            error: Kafka's name.
            node_id: the broker that answered.
            news: who leads it by that answer; None if it does not say.
        """
        key = position.key
        if position.replica_id is not None:
            position.replica_id = None  # whatever a follower lacks, the leader may have
        elif error == _DENIED:
            position.denied = True
            self._denied_until_ns = self._client.clock.monotonic_ns() + _DENIED_RETRY_NS
            self._trouble(key, NoticeKind.DENIED, f"not authorized ({_DENIED})")
        elif error == _OUT_OF_RANGE:
            self._refuse(position, error, node_id)  # reported if it lasts at offsets that are there
            self.reposition.out_of_range.add(key)
        else:
            self._refuse(position, error, node_id)
            has_moved = is_moved("Fetch", error)
            if not (has_moved and news is not None and self._follow(position, news)):
                self.lose_leaders([key])

    def _follow(self, position: FetchPosition, news: LeaderNews) -> bool:
        """Read from the leader that an answer names, without asking for metadata (KIP-951).

        The next Fetch has the epoch of the last batch: that leader says itself where its log parts.
        """
        if news.leader_epoch <= position.leader_epoch:
            return False
        client = self._client
        client.cluster = client.cluster.with_broker(news.broker)
        if news.leader_id not in client.cluster.brokers:
            return False
        if position.leader_id is not None and position.leader_id != news.leader_id:
            self.notices.add_move(position.key, position.leader_id, news.leader_id)
        position.leader_id, position.leader_epoch = news.leader_id, news.leader_epoch
        return True

    def _refuse(self, position: FetchPosition, error: str, node_id: int) -> None:
        """Report an error by its name: at once, or once it has lasted if leaders move so."""
        now_ns = self._client.clock.monotonic_ns()
        since_ns = self._refused_since_ns.setdefault(position.key, now_ns)
        text = f"broker {node_id} answers {described(error)}"
        is_usual = error in SESSION_ERRORS or is_moved("Fetch", error)
        if is_usual and now_ns - since_ns < LASTING_NS:
            self.progress.explain(position.key, text)
        else:
            self._trouble(position.key, NoticeKind.REFUSED, text)

    def _trouble(self, key: PartitionKey, kind: NoticeKind, text: str) -> None:
        """Report a trouble of a partition once, and keep it as the reason why it is not read."""
        self.notices.begin_trouble(key, kind, text)
        self.progress.explain(key, text)

    def lose_leaders(self, keys: Iterable[PartitionKey]) -> None:
        """Ask who leads partitions whose leader does not serve them, or is gone."""
        for key in keys:
            position = self._positions.get(key)
            if position is not None:
                position.replica_id = None
                self._leaderless.add(key)

    def _without_topic(self, position: FetchPosition, error: str) -> None:
        self._leaderless.add(position.key)
        if error == _DENIED:
            self._trouble(position.key, NoticeKind.DENIED, f"not authorized ({error})")
        else:
            self._trouble(position.key, NoticeKind.DELETED, f"not there ({error})")

    def _recreated(self, topic: Topic, position: FetchPosition) -> None:
        self._former_ids.add(position.topic_id)
        position.topic_id = topic.topic_id
        position.leader_id = position.replica_id = None
        position.leader_epoch = UNKNOWN_EPOCH
        position.held_at = None
        self.notices.forget(position.key)
        offset = position.offset
        if position.stop == OPEN_END:
            end = "reading the new one from its beginning"
        else:
            end = "the new one is not read"
            position.stop = 0
        text = f"created anew; of the old topic nothing was read from these offsets on; {end}"
        self.notices.add(NoticeKind.RECREATED, text, position.key, offset)
        position.move_to(0)

    def _apply_leader(
        self, position: FetchPosition, partition: Partition, cluster: Cluster
    ) -> bool:
        """Apply the leader of a partition; return whether its log may differ from what we read."""
        if partition.leader_id not in cluster.brokers:
            self._leaderless.add(position.key)
            error = error_name(partition.error_code)
            if is_moved("Metadata", error) or not partition.error_code:
                self._refused_since_ns.pop(position.key, None)  # what comes next is another trouble
                self._trouble(position.key, NoticeKind.NO_LEADER, "no leader")
            else:
                text = f"the cluster answers {described(error)}"
                self._trouble(position.key, NoticeKind.REFUSED, text)
            return False
        if UNKNOWN_EPOCH < partition.leader_epoch < position.leader_epoch:
            return False  # older than what is known; brokers before Kafka 2.1 do not tell epochs
        before = position.leader_id
        is_new_epoch = partition.leader_epoch > position.leader_epoch
        position.leader_id = partition.leader_id
        position.leader_epoch = partition.leader_epoch
        self._leaderless.discard(position.key)
        if before is not None and before != partition.leader_id:
            position.replica_id = None
            self.notices.add_move(position.key, before, partition.leader_id)
        return is_new_epoch and position.fetched_epoch != UNKNOWN_EPOCH

    def _validate(self, positions: Sequence[FetchPosition]) -> None:
        """Check that the logs of new leaders agree with what was read (KIP-320)."""
        found = ends_of_epochs(self._client, positions, ASK_NS)
        for position in positions:
            end = found[position.key]
            if end is None:
                self._leaderless.add(position.key)  # it does not answer: find the leader again
                position.leader_epoch = UNKNOWN_EPOCH
            elif end.error is not None:
                continue  # a Fetch is answered likewise, and says what to do
            elif end.offset < 0:
                self.reposition.epoch_unknown(position)
            elif end.offset < position.offset:
                self.reposition.diverged(position, end.offset)


def _is_another(topic: Topic, position: FetchPosition) -> bool:
    """Return whether a topic is a new one with an old name."""
    ids = {topic.topic_id, position.topic_id}
    return len(ids) > 1 and ZERO_UUID not in ids


def _why(error: KdiagError) -> str:
    return error.why if isinstance(error, ConnectError) else str(error)
