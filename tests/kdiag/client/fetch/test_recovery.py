"""What is done about partitions that cannot be read."""

from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.notices import SETTLED_NS
from kdiag.client.fetch.position import FetchPosition, NoticeKind, PartitionKey
from kdiag.client.fetch.recovery import FetchRecovery
from kdiag.errors import DisconnectedError
from scripted_kafka.log_cluster import Log, LogCluster

KEY = PartitionKey("orders", 0)


@pytest.fixture
def cluster() -> Iterator[LogCluster]:
    """Two brokers; the first leads the only partition, which has three records."""
    with LogCluster(2) as cluster:
        cluster.add("orders", 0).append(b"a", b"b", b"c")
        yield cluster


@pytest.fixture
def client(cluster: LogCluster) -> Iterator[ClusterClient]:
    """A client of the cluster."""
    with cluster.client() as client:
        yield client


@pytest.fixture
def log(cluster: LogCluster) -> Log:
    """The log of the partition."""
    return cluster.logs[KEY]


@pytest.fixture
def position(log: Log) -> FetchPosition:
    """A position that has read all of it."""
    return FetchPosition(
        key=KEY, offset=3, topic_id=log.topic_id, leader_id=1, leader_epoch=0, fetched_epoch=0
    )


def recovery_of(client: ClusterClient, position: FetchPosition) -> FetchRecovery:
    """Return what looks after a position."""
    return FetchRecovery(client, {position.key: position}, is_committed_only=True)


def kinds(recovery: FetchRecovery) -> list[NoticeKind]:
    """Return what was told."""
    return [each.kind for each in recovery.take_notices()]


def kinds_later(recovery: FetchRecovery) -> list[NoticeKind]:
    """Return what is told once all that is well has been so for long enough."""
    well = recovery.notices._well_since_ns
    well.update((each, since_ns - SETTLED_NS) for each, since_ns in well.items())
    return kinds(recovery)


def test_a_partition_without_a_leader_is_told_once_and_waited_for(
    client: ClusterClient, log: Log, position: FetchPosition
) -> None:
    """When it has one again and can be read, that is told as well."""
    recovery = recovery_of(client, position)
    log.leader = -1
    recovery.failed(position, "LEADER_NOT_AVAILABLE", 1)
    recovery.recover()
    assert recovery.holds(position)
    assert recovery.stranded() == [KEY]
    assert recovery.next_attempt_ns() > client.clock.monotonic_ns() - 1
    recovery._next_ns = 0
    recovery.recover()
    assert kinds(recovery) == [NoticeKind.NO_LEADER]
    log.leader, recovery._next_ns = 1, 0
    recovery.recover()
    recovery.works(position)
    assert not recovery.holds(position)
    assert kinds(recovery) == []
    assert kinds_later(recovery) == [NoticeKind.RECOVERED]


def test_a_refusal_before_the_leader_was_gone_does_not_last(
    client: ClusterClient, log: Log, position: FetchPosition
) -> None:
    """A broker that has come back knows no session; that is worth a word if it goes on so."""
    recovery = recovery_of(client, position)
    recovery.failed(position, "NOT_LEADER_OR_FOLLOWER", 1)
    recovery._refused_since_ns[KEY] -= 2 * SETTLED_NS
    log.leader = -1
    recovery.recover()
    log.leader, recovery._next_ns = 1, 0
    recovery.recover()
    recovery.refused(1, [KEY], "FETCH_SESSION_ID_NOT_FOUND")
    assert kinds(recovery) == [NoticeKind.NO_LEADER]
    recovery._refused_since_ns[KEY] -= 2 * SETTLED_NS
    recovery.refused(1, [KEY], "FETCH_SESSION_ID_NOT_FOUND")
    assert kinds(recovery) == [NoticeKind.REFUSED]


def test_a_new_leader_is_asked_where_the_old_epoch_ended(
    client: ClusterClient, log: Log, position: FetchPosition
) -> None:
    """KIP-320: what it does not have was lost, and is told."""
    recovery = recovery_of(client, position)
    log.leader, log.epoch, log.diverging = 2, 1, 1
    recovery.apply(client.refresh(["orders"]))
    first, second = recovery.take_notices()
    assert (first.kind, second.kind) == (NoticeKind.LEADER_MOVED, NoticeKind.TRUNCATED)
    assert "truncated: offsets 1 to 2, which were read, are not in it any more" in second.text
    assert position.offset == 1


def test_a_new_leader_with_the_same_history_moves_nothing(
    client: ClusterClient, log: Log, position: FetchPosition
) -> None:
    """The usual case."""
    recovery = recovery_of(client, position)
    log.leader, log.epoch = 2, 1
    recovery.apply(client.refresh(["orders"]))
    assert kinds(recovery) == [NoticeKind.LEADER_MOVED]
    assert (position.offset, position.leader_id, position.leader_epoch) == (3, 2, 1)


def test_a_new_leader_that_cannot_be_asked_is_looked_for_again(
    client: ClusterClient, cluster: LogCluster, log: Log, position: FetchPosition
) -> None:
    """It may have died at once."""
    recovery = recovery_of(client, position)
    log.leader, log.epoch = 2, 1
    news = client.refresh(["orders"])
    cluster.brokers[2].stop()
    recovery.apply(news)
    assert recovery.holds(position)


def test_older_news_of_a_leader_is_not_believed(
    client: ClusterClient, log: Log, position: FetchPosition
) -> None:
    """A broker that lags behind may tell the past."""
    recovery = recovery_of(client, position)
    position.leader_epoch = 5
    log.leader, log.epoch = 2, 4
    recovery.apply(client.refresh(["orders"]))
    assert (position.leader_id, kinds(recovery)) == (1, [])


def test_news_of_a_leader_without_its_epoch_are_believed(
    client: ClusterClient, log: Log, position: FetchPosition
) -> None:
    """An old broker does not tell epochs: else nobody would be asked while that one answers."""
    recovery = recovery_of(client, position)
    position.leader_epoch = 5
    recovery.failed(position, "NOT_LEADER_OR_FOLLOWER", 1)
    log.leader, log.epoch = 2, -1
    recovery.apply(client.refresh(["orders"]))
    assert (position.leader_id, position.leader_epoch, recovery.holds(position)) == (2, -1, False)


def test_a_topic_that_was_created_anew_is_read_from_its_beginning(
    client: ClusterClient, cluster: LogCluster, log: Log, position: FetchPosition
) -> None:
    """The offsets of the old one mean nothing in it."""
    recovery = recovery_of(client, position)
    log.topic_id = cluster.new_id()
    recovery.apply(client.refresh(["orders"]))
    (notice,) = recovery.take_notices()
    assert notice.kind is NoticeKind.RECREATED
    assert notice.text.startswith("orders[0@3]: created anew")
    assert (position.offset, position.topic_id) == (0, log.topic_id)


def test_a_bounded_reading_ends_with_the_topic_it_was_meant_for(
    client: ClusterClient, cluster: LogCluster, log: Log, position: FetchPosition
) -> None:
    """The new topic was not asked for."""
    recovery = recovery_of(client, position)
    position.stop = 9
    log.topic_id = cluster.new_id()
    recovery.apply(client.refresh(["orders"]))
    assert position.is_done
    assert kinds(recovery) == [NoticeKind.RECREATED]


def test_a_topic_that_is_gone_is_told_once(
    client: ClusterClient, cluster: LogCluster, position: FetchPosition
) -> None:
    """It may come back."""
    recovery = recovery_of(client, position)
    cluster.logs.clear()
    for _ in range(2):
        recovery.failed(position, "UNKNOWN_TOPIC_ID", 1)
        recovery._next_ns = 0
        recovery.recover()
    (notice,) = recovery.take_notices()
    assert notice.kind is NoticeKind.DELETED
    assert "UNKNOWN_TOPIC_OR_PARTITION" in notice.text


def test_a_broker_that_is_lost_is_told_once_until_it_answers(
    client: ClusterClient, position: FetchPosition
) -> None:
    """Each outage has a beginning and an end."""
    recovery = recovery_of(client, position)
    for _ in range(2):
        recovery.lost(1, [KEY], DisconnectedError("gone"))
    recovery.answered(1)
    recovery.answered(1)
    assert kinds_later(recovery) == [NoticeKind.DISCONNECTED, NoticeKind.RECOVERED]


def test_a_cluster_that_nobody_answers_for_is_told_once(
    client: ClusterClient, cluster: LogCluster, position: FetchPosition
) -> None:
    """And asked again later."""
    recovery = recovery_of(client, position)
    for broker in cluster.brokers.values():
        broker.stop()
    for _ in range(2):
        recovery.failed(position, "NOT_LEADER_OR_FOLLOWER", 1)
        recovery._next_ns = 0
        recovery.recover()
    assert kinds(recovery) == [NoticeKind.DISCONNECTED]
    assert recovery.holds(position)


def test_an_offset_out_of_range_that_nobody_knows_better_is_looked_up_again(
    client: ClusterClient, log: Log, position: FetchPosition
) -> None:
    """The leader has moved meanwhile."""
    recovery = recovery_of(client, position)
    log.leader = 2
    position.offset = 99
    recovery.failed(position, "OFFSET_OUT_OF_RANGE", 1)
    recovery.recover()
    assert recovery.holds(position)
    recovery._next_ns = 0
    recovery.recover()
    assert (position.leader_id, position.offset) == (2, 3)
    assert kinds(recovery) == [NoticeKind.LEADER_MOVED, NoticeKind.TRUNCATED]


def test_whatever_a_follower_lacks_the_leader_is_asked_for(
    client: ClusterClient, position: FetchPosition
) -> None:
    """An offset may be out of the follower's range alone."""
    recovery = recovery_of(client, position)
    position.replica_id = 2
    recovery.failed(position, "OFFSET_OUT_OF_RANGE", 1)
    assert position.node_id == position.leader_id
    assert not recovery.holds(position)


def test_a_whole_fetch_that_is_refused_is_a_matter_of_leaders_or_of_the_session(
    client: ClusterClient, position: FetchPosition
) -> None:
    """The session begins again by itself."""
    recovery = recovery_of(client, position)
    recovery.refused(1, [KEY], "INVALID_FETCH_SESSION_EPOCH")
    assert not recovery.holds(position)
    recovery.refused(1, [KEY, PartitionKey("other", 0)], "UNKNOWN_SERVER_ERROR")
    assert recovery.holds(position)


def test_a_partition_that_is_denied_is_tried_seldom(
    client: ClusterClient, position: FetchPosition
) -> None:
    """And when it works again, that is told."""
    recovery = recovery_of(client, position)
    recovery.failed(position, "TOPIC_AUTHORIZATION_FAILED", 1)
    assert recovery.holds(position)
    assert recovery.next_attempt_ns() > client.clock.monotonic_ns()
    recovery.works(position)
    assert not recovery.holds(position)
    assert kinds_later(recovery) == [NoticeKind.DENIED, NoticeKind.RECOVERED]


def test_an_offset_that_nobody_has_read_up_to_is_not_called_truncated(
    client: ClusterClient, position: FetchPosition
) -> None:
    """Somebody asked for it; there is no such offset yet."""
    recovery = recovery_of(client, position)
    position.offset, position.fetched_epoch = 99, -1
    recovery.failed(position, "OFFSET_OUT_OF_RANGE", 1)
    recovery.recover()
    (notice,) = recovery.take_notices()
    assert notice.text == "orders[0]: offset 99 is beyond the end of the log: reading on at 3"


def test_an_offset_that_is_in_range_after_all_is_asked_for_without_its_epoch(
    client: ClusterClient, position: FetchPosition
) -> None:
    """A broker that does not know the epoch says that the offset is out of range."""
    recovery = recovery_of(client, position)
    recovery.failed(position, "OFFSET_OUT_OF_RANGE", 1)
    recovery.recover()
    assert (position.offset, position.fetched_epoch) == (3, -1)
    assert not recovery.holds(position)
    assert kinds(recovery) == []


def test_a_leader_that_metadata_does_not_list_any_more_is_not_asked(
    client: ClusterClient, position: FetchPosition
) -> None:
    """It was fenced between two questions."""
    recovery = recovery_of(client, position)
    position.leader_id = 7
    recovery.failed(position, "OFFSET_OUT_OF_RANGE", 1)
    recovery.recover()
    assert recovery.holds(position)
    recovery._next_ns = 0
    recovery.recover()
    assert not recovery.holds(position)


def test_a_partition_that_a_new_topic_lacks_is_told(
    client: ClusterClient, cluster: LogCluster, position: FetchPosition
) -> None:
    """The topic exists, with fewer partitions than before."""
    recovery = recovery_of(client, position)
    del cluster.logs[KEY]
    cluster.add("orders", 1)
    recovery.apply(client.refresh(["orders"]))
    assert recovery.holds(position)
    assert kinds(recovery)[-1] is NoticeKind.DELETED


def test_a_broker_that_answers_late_does_not_touch_what_another_leads_by_now(
    client: ClusterClient, position: FetchPosition
) -> None:
    """Its partitions have moved while it hung."""
    recovery = recovery_of(client, position)
    position.leader_id = 2
    recovery.lost(1, [KEY], DisconnectedError("no answer"))
    assert not recovery.holds(position)


def test_a_partition_that_is_read_no_more_is_in_no_trouble(
    client: ClusterClient, position: FetchPosition
) -> None:
    """Nor does a late answer about it bring it back."""
    positions = {position.key: position}
    recovery = FetchRecovery(client, positions, is_committed_only=True)
    recovery.failed(position, "OFFSET_OUT_OF_RANGE", 1)
    recovery.failed(position, "LEADER_NOT_AVAILABLE", 1)
    positions.clear()
    recovery.forget(KEY)
    recovery.lost(1, [KEY], DisconnectedError("no answer"))
    recovery.refused(1, [KEY], "UNKNOWN_SERVER_ERROR")
    assert recovery.stranded() == []
    assert not recovery.holds(position)


def test_who_has_not_heard_of_a_new_topic_is_not_believed(
    client: ClusterClient, cluster: LogCluster, log: Log, position: FetchPosition
) -> None:
    """Brokers learn of it one after the other; and its leaders have not moved."""
    recovery = recovery_of(client, position)
    old = client.refresh(["orders"])
    log.topic_id, log.leader = cluster.new_id(), 2
    recovery.apply(client.refresh(["orders"]))
    recovery.apply(old)
    assert (position.topic_id, position.leader_id) == (log.topic_id, 2)
    assert kinds(recovery) == [NoticeKind.RECREATED]
