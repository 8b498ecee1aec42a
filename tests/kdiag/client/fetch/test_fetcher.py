"""The fetcher reads partitions from their leaders."""

from collections.abc import Iterator
from threading import Thread
from typing import Any

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.fetcher import AbortedTransactions, Fetcher
from kdiag.client.fetch.position import FetchPosition, NoticeKind, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.wire.api.fetch import AbortedTransaction, FetchRequest, FetchResponse
from kdiag.wire.error_code import CODE_BY_NAME
from kdiag.wire.records.batch import RecordBatch
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, ControlType, Record, write_control_key
from kdiag.wire.records.writer import write_batch
from scripted_kafka.log_cluster import Log, LogCluster
from scripted_kafka.scripted_broker import HOLD, offering

S_NS = 1_000_000_000
QUICK = FetchLimits(max_wait_ms=10)


@pytest.fixture
def cluster() -> Iterator[LogCluster]:
    """Two brokers."""
    with LogCluster(2) as cluster:
        yield cluster


def fetcher_of(
    client: ClusterClient, cluster: LogCluster, limits: FetchLimits = QUICK, **fields: Any
) -> Fetcher:
    """Return a fetcher of all logs, from their beginnings to their ends."""
    positions = [
        FetchPosition(
            key=key,
            offset=log.start,
            stop=log.end,
            topic_id=log.topic_id,
            leader_id=log.leader,
            leader_epoch=log.epoch,
        )
        for key, log in cluster.logs.items()
    ]
    return Fetcher(client, positions, limits, **fields)


def read(fetcher: Fetcher, client: ClusterClient, polls: int = 200) -> dict[str, list[bytes]]:
    """Return the values by partition, aborted ones in upper case, until all has been read."""
    values: dict[str, list[bytes]] = {}
    for _ in range(polls):
        if fetcher.is_done:
            break
        for fetched in fetcher.poll(client.clock.monotonic_ns() + S_NS):
            for record in fetched.batch.records():
                if fetched.start <= record.offset < fetched.stop and not fetched.batch.is_control:
                    value = record.value or b""
                    shown = value.upper() if fetched.is_aborted else value
                    values.setdefault(str(fetched.key), []).append(shown)
    return values


def one_log(cluster: LogCluster, *values: bytes) -> Log:
    """Add a log with a batch for each value."""
    log = cluster.add("orders", 0)
    for value in values:
        log.append(value)
    return log


def test_every_partition_is_read_from_its_leader(cluster: LogCluster) -> None:
    """Each broker is asked for what it leads, in one request."""
    for partition in range(4):
        log = cluster.add("orders", partition, leader=1 + partition % 2)
        log.append(b"a", b"b")
        log.append(b"%d" % partition)
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        values = read(fetcher, client)
        assert fetcher.take_notices() == []
    assert values == {f"orders[{n}]": [b"a", b"b", b"%d" % n] for n in range(4)}
    assert all(len(each.asked("Fetch")) == 1 for each in cluster.brokers.values())


def test_reading_begins_and_stops_inside_batches(cluster: LogCluster) -> None:
    """A broker answers with whole batches; what lies outside is not wanted."""
    log = cluster.add("orders", 0)
    log.append(b"a", b"b", b"c")
    log.append(b"d", b"e", b"f")
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        position = fetcher.positions[PartitionKey("orders", 0)]
        position.offset, position.stop = 1, 5
        assert read(fetcher, client) == {"orders[0]": [b"b", b"c", b"d", b"e"]}


def test_aborted_records_are_marked(cluster: LogCluster) -> None:
    """By the index that comes with the answer; markers are control batches."""
    log = one_log(cluster, b"a")
    log.append(b"b", producer_id=7, is_transactional=True)
    log.mark(7, ControlType.ABORT)
    log.append(b"c", producer_id=7, is_transactional=True)
    log.mark(7, ControlType.COMMIT)
    log.aborted = [AbortedTransaction(7, 1)]
    with cluster.client() as client:
        assert read(fetcher_of(client, cluster), client) == {"orders[0]": [b"a", b"B", b"c"]}


def test_what_compaction_left_nothing_of_is_passed_over(cluster: LogCluster) -> None:
    """A compacted log may end with nothing before its end."""
    log = one_log(cluster, b"a", b"b")
    log.batches.clear()
    cluster.compacted.add("orders")
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        assert read(fetcher, client) == {}
        assert fetcher.is_done


@pytest.mark.parametrize("topics", [set(), {"orders"}], ids=["not compacted", "partly remote"])
def test_answers_without_records_move_no_position(cluster: LogCluster, topics: set[str]) -> None:
    """Not even of a compacted topic, if its records may be in a store that is slow."""
    log = one_log(cluster, b"a", b"b")
    log.empty_answers = 12
    cluster.compacted, cluster.tiered = set(topics), set(topics)
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        assert read(fetcher, client, polls=12) == {}
        assert fetcher.positions[PartitionKey("orders", 0)].offset == 0
        assert read(fetcher, client) == {"orders[0]": [b"a", b"b"]}


def test_one_answer_without_records_is_no_proof_even_of_a_compacted_log(
    cluster: LogCluster,
) -> None:
    """The second comes after the question whether the topic is compacted."""
    log = one_log(cluster, b"a", b"b")
    log.empty_answers = 1
    cluster.compacted.add("orders")
    with cluster.client() as client:
        assert read(fetcher_of(client, cluster), client) == {"orders[0]": [b"a", b"b"]}


def test_an_answer_without_one_partition_says_nothing_of_its_log(cluster: LogCluster) -> None:
    """Others fill the answers: the log is compacted, and yet it has records to come."""
    log = one_log(cluster, b"a", b"b")
    log.empty_answers = 6
    busy = cluster.add("busy", 0)
    for n in range(6):
        busy.append(b"%d" % n)
    cluster.max_batches = 1
    cluster.compacted.add("orders")
    with cluster.client() as client:
        assert read(fetcher_of(client, cluster), client)["orders[0]"] == [b"a", b"b"]


def test_a_leader_that_moves_is_followed_and_told(cluster: LogCluster) -> None:
    """Nothing is lost and nothing comes twice."""
    log = one_log(cluster, b"a", b"b")
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        log.leader, log.epoch = 2, 1
        assert read(fetcher, client) == {"orders[0]": [b"a", b"b"]}
        kinds = [each.kind for each in fetcher.take_notices()]
    assert kinds == [NoticeKind.LEADER_MOVED]


@pytest.mark.parametrize("is_known", [True, False])
def test_a_leader_that_an_answer_names_is_read_without_metadata(
    cluster: LogCluster, *, is_known: bool
) -> None:
    """KIP-951: with its address, if it is new in the cluster."""
    log = one_log(cluster, b"a", b"b")
    cluster.names_leaders = True
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        if not is_known:
            brokers = {1: client.cluster.brokers[1]}
            client.cluster = client.cluster._replace(brokers=brokers)
        log.leader, log.epoch = 2, 1
        asked = sum(len(each.asked("Metadata")) for each in cluster.brokers.values())
        assert read(fetcher, client) == {"orders[0]": [b"a", b"b"]}
        kinds = [each.kind for each in fetcher.take_notices()]
        assert sum(len(each.asked("Metadata")) for each in cluster.brokers.values()) == asked
    assert kinds == [NoticeKind.LEADER_MOVED]


def test_a_leader_of_the_same_epoch_is_no_news(cluster: LogCluster) -> None:
    """A broker that lags behind names the past: metadata decides."""
    log = one_log(cluster, b"a")
    cluster.names_leaders = True
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        log.leader = 2
        asked = sum(len(each.asked("Metadata")) for each in cluster.brokers.values())
        assert read(fetcher, client) == {"orders[0]": [b"a"]}
        assert sum(len(each.asked("Metadata")) for each in cluster.brokers.values()) > asked


def test_a_broker_that_dies_is_told_once_and_the_next_leader_read(cluster: LogCluster) -> None:
    """The connection breaks; metadata names another."""
    log = one_log(cluster, b"a", b"b")
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        cluster.brokers[1].stop()
        log.leader, log.epoch = 2, 1
        assert read(fetcher, client) == {"orders[0]": [b"a", b"b"]}
        notices = fetcher.take_notices()
    assert [each.kind for each in notices] == [NoticeKind.DISCONNECTED, NoticeKind.LEADER_MOVED]
    assert notices[0].text.startswith("broker 1 does not answer: ")


def test_retention_that_overtakes_the_reader_is_told_with_offsets(cluster: LogCluster) -> None:
    """Reading goes on at the first record that is left."""
    log = one_log(cluster, b"a", b"b", b"c")
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        log.start = 2
        assert read(fetcher, client) == {"orders[0]": [b"c"]}
        (notice,) = fetcher.take_notices()
    assert notice.kind is NoticeKind.REMOVED
    assert "offsets 0 to 1 are not there any more" in notice.text


def test_a_log_that_is_shorter_than_what_was_read_is_told(cluster: LogCluster) -> None:
    """An unclean leader has lost records."""
    log = one_log(cluster, b"a")
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        position = fetcher.positions[PartitionKey("orders", 0)]
        position.offset, position.stop, position.fetched_epoch = 9, 11, 0
        fetcher.poll(client.clock.monotonic_ns() + S_NS)
        fetcher.poll(client.clock.monotonic_ns() + S_NS)
        (notice,) = fetcher.take_notices()
        assert position.offset == log.end
    assert notice.kind is NoticeKind.TRUNCATED
    assert "truncated: offsets 1 to 8, which were read" in notice.text


def test_a_leader_with_another_history_is_told_and_read_from_where_they_part(
    cluster: LogCluster,
) -> None:
    """The broker says so itself where it is told the epoch of what we have read (KIP-595)."""
    log = one_log(cluster, b"a", b"b")
    log.epoch, log.diverging = 1, 2
    log.append(b"c")
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        position = fetcher.positions[PartitionKey("orders", 0)]
        position.offset, position.fetched_epoch = 3, 0
        position.stop = 4
        assert read(fetcher, client, polls=4) == {"orders[0]": [b"c"]}
        (notice,) = fetcher.take_notices()
    assert notice.kind is NoticeKind.TRUNCATED


def test_a_follower_that_the_leader_prefers_is_read(cluster: LogCluster) -> None:
    """KIP-392; when it fails, the leader is asked again."""
    log = one_log(cluster, b"a")
    log.preferred = 2
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster, QUICK._replace(rack="rack-2"))
        assert read(fetcher, client) == {"orders[0]": [b"a"]}
    (asked,) = [each.message() for each in cluster.brokers[2].asked("Fetch")]
    assert isinstance(asked, FetchRequest)
    assert asked.rack_id == "rack-2"


def test_an_error_of_the_session_begins_it_again(cluster: LogCluster) -> None:
    """The broker has forgotten it, after a restart for example."""
    one_log(cluster, b"a")
    serves = cluster.brokers[1]._replies["Fetch"]
    assert callable(serves)
    lost = FetchResponse(error_code=CODE_BY_NAME["FETCH_SESSION_ID_NOT_FOUND"])
    cluster.brokers[1].on(
        "Fetch",
        lambda received: (
            serves(received) if len(cluster.brokers[1].asked("Fetch")) > 1 else received.reply(lost)
        ),
    )
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        assert read(fetcher, client) == {"orders[0]": [b"a"]}
        assert fetcher.take_notices() == []


@pytest.mark.thorough
def test_rights_that_are_withdrawn_are_told_once(cluster: LogCluster) -> None:
    """And the partition waits."""
    log = one_log(cluster, b"a")
    log.error = "TOPIC_AUTHORIZATION_FAILED"
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        for _ in range(3):
            fetcher.poll(client.clock.monotonic_ns())
            client.client.await_condition(lambda: True)
        fetcher.poll(client.clock.monotonic_ns() + S_NS // 2)
        kinds = [each.kind for each in fetcher.take_notices()]
        assert fetcher.recovery.stranded() == [PartitionKey("orders", 0)]
    assert kinds == [NoticeKind.DENIED]


def test_what_is_no_batch_ends_its_partition_alone(cluster: LogCluster) -> None:
    """The others are read on."""
    broken = one_log(cluster, b"a")
    broken.batches = [(0, 1, b"\0" * 16 + b"\x07" + b"\0" * 60)]
    cluster.add("orders", 1).append(b"fine")
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        assert read(fetcher, client) == {"orders[1]": [b"fine"]}
        (notice,) = fetcher.take_notices()
    assert notice.kind is NoticeKind.CORRUPT
    assert "orders[0]: unreadable at offset 0" in notice.text


def test_brokers_without_topic_ids_are_asked_by_name(cluster: LogCluster) -> None:
    """Before Kafka 2.8 there are none."""
    one_log(cluster, b"a").topic_id = bytes(16)
    cluster.on("ApiVersions", offering(Fetch=(4, 11)))
    with cluster.client() as client:
        assert read(fetcher_of(client, cluster), client) == {"orders[0]": [b"a"]}
    assert {each.header.version for each in cluster.brokers[1].asked("Fetch")} == {11}


def test_brokers_share_what_may_be_held(cluster: LogCluster) -> None:
    """Each is asked for its part, and for no more than one answer may have."""
    cluster.add("orders", 0, leader=1).append(b"a")
    cluster.add("orders", 1, leader=2).append(b"b")
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster, max_buffered_bytes=QUICK.max_bytes)
        assert read(fetcher, client) == {"orders[0]": [b"a"], "orders[1]": [b"b"]}
    asked = [each.wait_for("Fetch").message() for each in cluster.brokers.values()]
    assert [getattr(each, "max_bytes", 0) for each in asked] == [QUICK.max_bytes // 2] * 2


def test_after_answers_as_large_as_what_may_be_held_one_broker_is_asked_at_a_time(
    cluster: LogCluster,
) -> None:
    """And a broker with much to tell does not silence the others: who has waited comes first."""
    busy = cluster.add("orders", 0, leader=1)
    for n in range(9):
        busy.append(b"%d" % n)
    cluster.add("orders", 1, leader=2).append(b"b")
    cluster.max_batches = 1
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster, max_buffered_bytes=1)
        fetcher._largest_bytes = 60
        fetcher._send()
        assert fetcher._in_flight.keys() == {1}
        assert read(fetcher, client, polls=2) == {"orders[0]": [b"0"], "orders[1]": [b"b"]}
        assert fetcher._largest_bytes > 60


def test_every_partition_comes_first_in_turn(cluster: LogCluster) -> None:
    """A broker without sessions fills its answer in the order in which it is asked."""
    for partition in range(3):
        log = cluster.add("orders", partition)
        for _ in range(3):
            log.append(b"a")
    cluster.max_batches = 1
    with cluster.client() as client:
        read(fetcher_of(client, cluster), client)
    first = []
    for each in cluster.brokers[1].asked("Fetch"):
        request = each.message()
        assert isinstance(request, FetchRequest)
        first.append(request.topics[0].partitions[0].partition)
    assert sorted(first) == [0, 1, 2]


def test_the_next_fetch_is_on_its_way_while_the_last_is_used(cluster: LogCluster) -> None:
    """The broker works meanwhile."""
    one_log(cluster, b"a", b"b")
    cluster.max_batches = 1
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        assert len(fetcher.poll(client.clock.monotonic_ns() + S_NS)) == 1
        assert cluster.brokers[1].wait_for("Fetch", 2)


def test_what_came_of_a_partition_that_is_read_no_more_is_thrown_away(cluster: LogCluster) -> None:
    """Whether the response has records or none; the others are read on."""
    for partition in range(3):
        cluster.add("orders", partition).append(b"%d" % partition)
    first, second, third = cluster.logs
    cluster.logs[second].batches.clear()
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        cluster.brokers[1].on("Fetch", HOLD)
        while not cluster.brokers[1].asked("Fetch"):
            fetcher.poll(client.clock.monotonic_ns() + S_NS // 50)
        asked = cluster.brokers[1].wait_for("Fetch")
        fetcher.remove([first, second])
        cluster.answer_fetch(1, asked)
        cluster.brokers[1].on("Fetch", lambda received: cluster.answer_fetch(1, received))
        assert read(fetcher, client) == {"orders[2]": [b"2"]}
        assert list(fetcher.positions) == [third]
        fetcher.remove([third])
        assert fetcher.is_done


def test_an_answer_of_a_throttled_broker_says_nothing_of_the_log(cluster: LogCluster) -> None:
    """KIP-219: it is empty, whatever there is to read."""
    one_log(cluster, b"a")
    serves = cluster.brokers[1]._replies["Fetch"]
    assert callable(serves)
    throttled = FetchResponse(throttle_time_ms=1, session_id=7)
    cluster.brokers[1].on(
        "Fetch",
        lambda received: (
            serves(received)
            if len(cluster.brokers[1].asked("Fetch")) > 1
            else received.reply(throttled)
        ),
    )
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        fetcher.positions[PartitionKey("orders", 0)].high_watermark = 1
        assert read(fetcher, client) == {"orders[0]": [b"a"]}


def data(producer_id: int, offset: int, *, is_transactional: bool = True) -> RecordBatch:
    """Return a batch of one record."""
    header = BatchHeader(
        producer_id=producer_id, producer_epoch=0, is_transactional=is_transactional
    )
    return only(write_batch([Record(offset, 0, None, b"v")], header))


def marker(producer_id: int, offset: int, kind: ControlType) -> RecordBatch:
    """Return the batch that ends a transaction."""
    header = BatchHeader(
        producer_id=producer_id, producer_epoch=0, is_transactional=True, is_control=True
    )
    return only(write_batch([Record(offset, 0, write_control_key(kind), b"\0\0\0\0\0\0")], header))


def only(written: bytes) -> RecordBatch:
    """Return the one batch that was written."""
    (batch,) = read_batches(written).batches
    return batch


def told(*transactions: tuple[int, int]) -> AbortedTransactions:
    """Return the index of what a broker told: producer and first offset each."""
    return AbortedTransactions([AbortedTransaction(*each) for each in transactions])


def test_a_producers_batches_are_aborted_from_the_first_offset_to_its_marker() -> None:
    """Before it and after it they are not, nor are those of others."""
    index = told((7, 3))
    batches = [
        data(7, 2),
        data(8, 3),
        data(7, 3),
        data(7, 4),
        data(7, 5, is_transactional=False),
        marker(7, 6, ControlType.ABORT),
        data(7, 7),
    ]
    assert [index.has(each) for each in batches] == [False, False, True, True, False, False, False]


def test_a_commit_marker_of_another_transaction_ends_nothing() -> None:
    """Only the abort marker does."""
    index = told((7, 0))
    assert not index.has(marker(7, 0, ControlType.COMMIT))
    assert index.has(data(7, 1))


def test_transactions_of_several_producers_may_overlap() -> None:
    """They are told in any order."""
    index = told((8, 2), (7, 0))
    assert [index.has(each) for each in (data(7, 0), data(8, 1), data(8, 2), data(7, 3))] == [
        True,
        False,
        True,
        True,
    ]


def test_without_aborted_transactions_nothing_is_aborted() -> None:
    """A broker that was asked with read_uncommitted tells none."""
    assert not AbortedTransactions(None).has(data(7, 0))


def test_a_marker_that_cannot_be_read_ends_nothing() -> None:
    """What follows stays aborted, rather than being shown by mistake."""
    header = BatchHeader(producer_id=7, producer_epoch=0, is_transactional=True, is_control=True)
    broken = only(write_batch([Record(1, 0, b"", b"")], header))
    index = told((7, 0))
    assert not index.has(broken)
    assert index.has(data(7, 2))


def test_a_response_may_be_handled_by_another_thread(cluster: LogCluster) -> None:
    """That of heartbeats polls for both; the fetcher reads it when it is asked to."""
    cluster.add("orders", 0).append(b"a", b"b")
    with cluster.client() as client:
        fetcher = fetcher_of(client, cluster)
        fetcher._send()
        other = Thread(target=client.client.await_condition, args=[lambda: bool(fetcher._arrived)])
        other.start()
        other.join()
        assert list(fetcher._in_flight) == [1]
        assert read(fetcher, client) == {"orders[0]": [b"a", b"b"]}
        assert len(cluster.brokers[1].asked("Fetch")) == 1
