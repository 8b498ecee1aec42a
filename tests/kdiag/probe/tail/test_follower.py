"""Following topics."""

from collections.abc import Callable, Iterator, Sequence

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import NoticeKind, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.errors import AuthorizationError, ConfigError
from kdiag.probe.tail import follower as tail_module
from kdiag.probe.tail.follower import Tail
from kdiag.probe.tail.offset_spec import At, Position, parse_offsets
from kdiag.probe.tail.placement import TailRequest
from kdiag.probe.tail.topic_selection import parse_selector
from kdiag.wire.api.describe_producers import DescribeProducersResponse
from kdiag.wire.api.fetch import AbortedTransaction
from kdiag.wire.records.record import ControlType
from scripted_kafka.log_cluster import Log, LogCluster
from scripted_kafka.scripted_broker import HOLD, Received

S_NS = 1_000_000_000
NOW_MS = 10_000_000


@pytest.fixture
def cluster() -> Iterator[LogCluster]:
    """Two brokers, two partitions, three records each, a millisecond apart in turns."""
    with LogCluster(2) as cluster:
        for partition in range(2):
            log = cluster.add("orders", partition, leader=partition + 1)
            for n in range(3):
                log.append(b"%d%d" % (partition, n), timestamp=1000 + 10 * n + partition)
        yield cluster


@pytest.fixture
def client(cluster: LogCluster) -> Iterator[ClusterClient]:
    """A client of the cluster."""
    with cluster.client() as client:
        yield client


def tail_of(
    client: ClusterClient, *texts: str, offsets: Sequence[str] = (), ends: bool = True
) -> Tail:
    """Return a tail of what texts select."""
    return Tail(
        client,
        TailRequest(
            [parse_selector(each) for each in texts or ("orders",)],
            parse_offsets(offsets, NOW_MS),
            stops_at_end=ends,
            limits=FetchLimits(max_wait_ms=10),
        ),
    )


def values(tail: Tail, client: ClusterClient, enough: int = 1000) -> list[bytes]:
    """Return the values in the order in which they come, until it is done or has enough."""
    found: list[bytes] = []
    for _ in range(300):
        if tail.is_done or len(found) >= enough:
            break
        for fetched in tail.poll(client.clock.monotonic_ns() + S_NS // 10):
            if not fetched.is_aborted and not fetched.batch.is_control:
                found += [
                    each.value or b""
                    for each in fetched.batch.records()
                    if fetched.start <= each.offset < fetched.stop
                ]
    return found


def test_a_tail_that_stops_at_the_end_reads_everything(
    client: ClusterClient,
) -> None:
    """From the beginning, unless told otherwise."""
    assert sorted(values(tail_of(client), client)) == [b"00", b"01", b"02", b"10", b"11", b"12"]


@pytest.mark.parametrize("denied", ["ord*", "zz*"])
def test_a_pattern_may_match_topics_that_one_may_not_see(
    cluster: LogCluster, client: ClusterClient, denied: str
) -> None:
    """They are not read, which is said; what is unlike them is no matter."""
    cluster.denied = {parse_selector(denied).example}
    tail = tail_of(client, "ord*")
    assert values(tail, client)
    texts = [each.text for each in tail.take_notices() if each.kind is NoticeKind.DENIED]
    is_hidden = denied == "ord*"
    assert tail.is_partial is is_hidden
    why = "you need DESCRIBE on topics such as ordkdiag-any"
    assert [each.rpartition(", ")[2] for each in texts] == ([why] if is_hidden else [])


@pytest.mark.parametrize(
    ("offsets", "expected"),
    [
        (["end"], []),
        (["-0"], []),
        (["1"], [b"01", b"02", b"11", b"12"]),
        (["+2"], [b"02", b"12"]),
        (["0:1"], [b"00", b"10"]),
        (["s@1010"], [b"01", b"02", b"11", b"12"]),
        (["s@9999"], []),
        (["s@1010", "e@1020"], [b"01", b"11"]),
        (["e@1001"], [b"00"]),
        (["beginning"], [b"00", b"01", b"02", b"10", b"11", b"12"]),
    ],
)
def test_it_starts_and_stops_where_it_is_told(
    client: ClusterClient, offsets: list[str], expected: list[bytes]
) -> None:
    """By number, by distance and by time; times below are in milliseconds of thirteen digits."""
    padded = [each.replace("@", "@000000000") for each in offsets]
    assert sorted(values(tail_of(client, offsets=padded), client)) == expected


@pytest.mark.parametrize("count", [1, 2, 3, 5, 6, 100])
def test_the_last_records_are_those_of_the_whole_topic_in_time_order(
    client: ClusterClient, count: int
) -> None:
    """Not so many of each partition."""
    in_time_order = [b"00", b"10", b"01", b"11", b"02", b"12"]
    assert values(tail_of(client, offsets=[f"-{count}"]), client) == in_time_order[-count:]


def test_the_last_records_are_counted_by_what_can_be_seen(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """Behind many aborted records and markers, the reading goes further back."""
    log = cluster.logs[PartitionKey("orders", 0)]
    for n in range(40):
        log.append(b"aborted", timestamp=2000 + n, producer_id=7, is_transactional=True)
    log.mark(7, ControlType.ABORT)
    log.aborted = [AbortedTransaction(7, 3)]
    assert values(tail_of(client, "orders:0", offsets=["-2"]), client) == [b"01", b"02"]


def test_positions_are_behind_the_last_records_while_these_are_looked_for(
    client: ClusterClient,
) -> None:
    """Who stops then has not read what is before them."""
    tail = tail_of(client, offsets=["-2"])
    assert tail.is_searching
    assert values(tail, client) == [b"02", b"12"]
    assert not tail.is_searching


def test_without_a_start_the_last_ten_come_first_and_then_what_is_new(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """As `tail -f` does with lines."""
    tail = tail_of(client, ends=False)
    assert len(values(tail, client, enough=6)) == 6
    cluster.logs[PartitionKey("orders", 1)].append(b"new")
    assert values(tail, client, enough=1) == [b"new"]
    assert not tail.is_done


def test_with_a_stop_alone_it_starts_at_the_beginning(client: ClusterClient) -> None:
    """The last ten may all lie behind the stop."""
    tail = tail_of(client, offsets=["e@0000000001010"], ends=False)
    assert sorted(values(tail, client)) == [b"00", b"10"]


def test_each_partition_may_have_its_own_offset(client: ClusterClient) -> None:
    """What a tail that was interrupted tells can be given to the next."""
    assert sorted(values(tail_of(client, "orders:0@2,1@1"), client)) == [b"02", b"11", b"12"]


def test_offsets_that_hold_nothing_any_more_are_told(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """Compaction leaves gaps that nobody should overlook."""
    log = cluster.logs[PartitionKey("orders", 0)]
    del log.batches[:2]
    tail = tail_of(client, "orders:0", offsets=["0"])
    assert values(tail, client) == [b"02"]
    (notice,) = tail.take_notices()
    assert "orders[0]: offsets 0 to 1 hold no records any more" in notice.text


def test_new_partitions_and_topics_that_match_are_taken_up(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """From their beginning, for all of it is new."""
    tail = tail_of(client, "ord*", offsets=["end"], ends=False)
    assert values(tail, client, enough=0) == []
    cluster.add("orders", 2).append(b"20")
    cluster.add("orders-dlq", 0).append(b"dlq")
    tail._refresh_at_ns = 0
    assert sorted(values(tail, client, enough=2)) == [b"20", b"dlq"]
    (notice,) = tail.take_notices()
    assert notice.text == "new: orders[2], orders-dlq[0]; reading from the beginning"


def test_a_partition_that_stays_without_a_leader_is_given_up_at_last(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """A tail that is to stop at the end does stop, and says what is missing."""
    lost = cluster.logs[PartitionKey("orders", 0)]
    tail = tail_of(client)
    lost.leader = -1
    cluster.brokers[1].hang_up()
    assert sorted(values(tail, client, enough=3)) == [b"10", b"11", b"12"]
    tail._placement._stranded_since_ns = 0
    values(tail, client)
    texts = [each.text for each in tail.take_notices()]
    assert tail.is_done
    assert tail.is_partial
    assert "orders[0]: given up: offsets 0 to 2 not read" in texts


def test_what_cannot_be_read_is_refused_at_once(client: ClusterClient, cluster: LogCluster) -> None:
    """A topic that does not exist, with the nearest names; one without rights."""
    with pytest.raises(ConfigError, match="did you mean orders"):
        tail_of(client, "order")
    denied: Log = cluster.logs[PartitionKey("orders", 0)]
    denied.error = "TOPIC_AUTHORIZATION_FAILED"
    with pytest.raises(AuthorizationError, match="not authorized to read"):
        tail_of(client)


def test_a_leader_that_changes_is_noticed_while_following(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """Even where the old one still answers."""
    tail = tail_of(client, offsets=["end"], ends=False)
    log = cluster.logs[PartitionKey("orders", 0)]
    log.leader, log.epoch = 2, 1
    tail._refresh_at_ns = 0
    values(tail, client, enough=0)
    tail.poll(0)
    assert [each.kind for each in tail.take_notices()] == [NoticeKind.LEADER_MOVED]
    assert tail.positions[PartitionKey("orders", 0)].leader_id == 2


def test_a_tail_outlives_a_cluster_that_says_nothing_for_a_while(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """All brokers were down when it looked for new partitions; told once, tried again."""
    tail = tail_of(client, offsets=["end"], ends=False)
    for broker in cluster.brokers.values():
        broker.stop()
    for _ in range(3):
        tail._refresh_at_ns = 0
        assert values(tail, client, enough=0) == []
        tail.poll(0)
    kinds = [each.kind for each in tail.take_notices()]
    assert NoticeKind.DISCONNECTED in kinds
    assert len(kinds) <= 3


def test_new_partitions_that_may_not_be_read_yet_are_looked_at_again(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """The tail goes on with the others."""
    tail = tail_of(client, "ord*", offsets=["end"], ends=False)
    denied = cluster.add("orders-dlq", 0)
    denied.append(b"dlq")
    denied.error = "TOPIC_AUTHORIZATION_FAILED"
    tail._refresh_at_ns = 0
    tail.poll(0)
    denied.error, tail._refresh_at_ns = "NONE", 0
    assert values(tail, client, enough=1) == [b"dlq"]


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Have tails begin at once, whoever leads."""
    monkeypatch.setattr(tail_module, "PATIENCE_NS", 0)


@pytest.mark.thorough
@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("offsets", "ends", "expected"),
    [
        ((), True, [b"00", b"01", b"02", b"10", b"11", b"12"]),
        (["end"], False, [b"new"]),
        (["-3"], False, [b"10", b"11", b"12", b"new"]),
        (["s@0000000001020"], False, [b"02", b"12", b"new"]),
    ],
)
def test_a_partition_without_a_leader_begins_where_it_should_once_it_has_one(
    client: ClusterClient,
    cluster: LogCluster,
    offsets: Sequence[str],
    ends: bool,  # noqa: FBT001 - a parameter of pytest
    expected: list[bytes],
) -> None:
    """Where its log ends, or where a time is in it, nobody can say before."""
    log = cluster.logs[PartitionKey("orders", 0)]
    log.leader = -1
    tail = tail_of(client, offsets=offsets, ends=ends)
    before = values(tail, client, enough=3) if ends or offsets != ["end"] else []
    assert not tail.is_done
    log.leader, tail._refresh_at_ns = 1, 0
    found = [*before, *values(tail, client, enough=3 if ends else 1)]
    if not ends:
        log.append(b"new")
        found += values(tail, client, enough=1)
    assert sorted(found) == expected
    told = [each.text for each in tail.take_notices()]
    assert told[0] == "orders[0]: no leader that answers"
    assert ["orders[0@3]: a leader answers" in each for each in told[1:]] == (
        [True] if offsets in (["end"], ["-3"]) else []
    )


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("offsets", [["end"], ["-1"]])
def test_what_is_written_before_a_late_partition_answers_is_read(
    client: ClusterClient, cluster: LogCluster, offsets: list[str]
) -> None:
    """The end is that of the start, not that of the moment in which a leader answers at last."""
    log = cluster.logs[PartitionKey("orders", 0)]
    log.leader = -1
    tail = tail_of(client, offsets=offsets, ends=False)
    assert values(tail, client, enough=1 if offsets == ["-1"] else 0) in ([], [b"12"])
    start = tail.unplaced[PartitionKey("orders", 0)]
    log.append(b"early", timestamp=start.value)
    log.leader, tail._refresh_at_ns = 1, 0
    assert values(tail, client, enough=1) == [b"early"]
    assert tail.unplaced == {}
    assert "orders[0@3]: a leader answers; reading" in tail.take_notices()[-1].text


@pytest.mark.usefixtures("impatient")
def test_partitions_that_are_not_placed_are_told_with_their_starts(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """Whoever goes on from there loses nothing: their own offset, or the moment of the start."""
    for key in cluster.logs:
        cluster.logs[key].leader = -1
    tail = tail_of(client, "orders:0@2,1", ends=False)
    zero, one = tail.unplaced.values()
    assert zero == Position(At.OFFSET, 2)
    assert one.at is At.TIMESTAMP
    assert abs(one.value - client.clock.epoch_ns() // 1_000_000) < 60_000


def test_partitions_with_their_own_offsets_have_no_last_records(
    client: ClusterClient,
) -> None:
    """Only the others have."""
    tail = tail_of(client, "orders:0@2,1@3", ends=False)
    assert not tail.is_searching
    assert values(tail, client, enough=1) == [b"02"]
    mixed = tail_of(client, "orders:0@2,1", offsets=["-2"], ends=False)
    assert sorted(values(mixed, client, enough=3)) == [b"02", b"11", b"12"]


def test_what_is_new_is_read_from_its_beginning(client: ClusterClient) -> None:
    """Partitions that nobody lists, at the start too: they were added while nobody read."""
    tail = tail_of(client, "orders:0@3,new", "ord*:new", "none*:new", ends=False)
    assert values(tail, client, enough=3) == [b"10", b"11", b"12"]


@pytest.mark.usefixtures("impatient")
def test_a_partition_that_never_has_a_leader_is_given_up_and_told(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """A tail that stops at the end does not pass over it in silence."""
    cluster.logs[PartitionKey("orders", 0)].leader = -1
    tail = tail_of(client)
    assert sorted(values(tail, client, enough=3)) == [b"10", b"11", b"12"]
    tail._placement._stranded_since_ns = 0
    tail.poll(0)
    assert tail.is_done
    assert tail.is_partial
    assert tail.take_notices()[-1].text == "orders[0]: given up: nothing read"


def test_a_leader_that_has_just_moved_is_asked_again(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """Metadata may lag behind; nothing is told of what is settled at once."""
    log = cluster.logs[PartitionKey("orders", 0)]
    serves = cluster.brokers[1]._replies["ListOffsets"]
    assert callable(serves)

    def move(received: Received) -> None:
        log.leader, log.epoch = 2, 1
        serves(received)

    cluster.brokers[1].on("ListOffsets", move)
    tail = tail_of(client)
    assert len(values(tail, client)) == 6
    assert tail.take_notices() == []


@pytest.mark.thorough
@pytest.mark.parametrize("offsets", [["0"], ["-5"]])
def test_a_batch_that_is_damaged_in_the_log_is_reported_and_the_others_are_read(
    client: ClusterClient, cluster: LogCluster, offsets: Sequence[str]
) -> None:
    """The reading is partial then, also where the last records are looked for."""
    log = cluster.logs[PartitionKey("orders", 0)]
    first, after, data = log.batches[0]
    log.batches[0] = (first, after, data[:-3] + b"\xff\xff\xff")
    tail = tail_of(client, offsets=offsets, ends=False)
    found = values(tail, client, enough=5)
    (text,) = [each.text for each in tail.take_notices() if each.kind is NoticeKind.CORRUPT]
    assert sorted(found) == [b"01", b"02", b"10", b"11", b"12"]
    assert "unreadable at offset 0 in 3 answers, offsets 0 to 0 left out: the checksum" in text
    assert tail.is_partial


def test_a_tail_that_stops_at_the_end_waits_as_long_as_it_may(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """However long it has read already, it does not turn round and round."""
    log = cluster.logs[PartitionKey("orders", 0)]
    tail = tail_of(client)
    tail._refresh_at_ns = 0
    log.batches.clear()
    cluster.brokers[1].on("Fetch", HOLD)
    values(tail, client, enough=3)
    before_ns = client.clock.monotonic_ns()
    assert tail.poll(before_ns + S_NS // 20) == []
    assert client.clock.monotonic_ns() - before_ns >= S_NS // 20


@pytest.mark.parametrize(
    ("offsets", "told"),
    [
        (["4"], ["orders[0]: nothing to read: offset 4 is beyond the end of the log, 3"]),
        (["+9"], ["orders[0]: nothing to read: offset 9 is beyond the end of the log, 3"]),
        (["s@0000000009999"], ["nothing to read: no record is as new as the time to start at"]),
        (["3"], []),
        (["end"], []),
    ],
)
def test_why_nothing_comes_is_told(
    client: ClusterClient, offsets: Sequence[str], told: list[str]
) -> None:
    """Who goes on at the end of a log is not surprised that nothing comes."""
    tail = tail_of(client, "orders:0", offsets=offsets)
    assert values(tail, client) == []
    assert [each.text for each in tail.take_notices()] == told


def hold_back(cluster: LogCluster) -> None:
    """Let a transaction be open from offset 3 on, of which the brokers tell nothing more."""
    cluster.on("DescribeProducers", DescribeProducersResponse())
    log = cluster.logs[PartitionKey("orders", 0)]
    log.stable = log.end
    log.append(b"open", producer_id=7, is_transactional=True)


def test_an_open_transaction_is_told_at_once_by_who_stops_at_the_end(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """What comes after it is not there for this reader."""
    hold_back(cluster)
    tail = tail_of(client, "orders:0")
    assert values(tail, client) == [b"00", b"01", b"02"]
    (notice,) = tail.take_notices()
    assert notice.text.startswith("orders[0@3]: 1 offset from here on held back by an open")


def test_an_open_transaction_that_lasts_is_told_while_following(
    client: ClusterClient, cluster: LogCluster
) -> None:
    """Once, when it is seen for the second time."""
    hold_back(cluster)
    tail = tail_of(client, "orders:0", offsets=["end"], ends=False)
    told = []
    for _ in range(3):
        tail.poll(client.clock.monotonic_ns() + S_NS)
        tail._refresh_at_ns = 0
        tail.poll(0)
        told.append([each.kind for each in tail.take_notices()])
    assert told == [[], [NoticeKind.HELD_BACK], []]


@pytest.mark.parametrize("offsets", [["beginning"], ["-2"]])
@pytest.mark.parametrize("ends", [True, False])
def test_a_topic_that_may_be_described_but_not_read_is_refused_at_once(
    client: ClusterClient,
    cluster: LogCluster,
    offsets: Sequence[str],
    ends: bool,  # noqa: FBT001 - a parameter of pytest
) -> None:
    """Offsets may be asked for without the right to read."""
    fetch = cluster.brokers[1]._replies["Fetch"]
    assert callable(fetch)

    def deny(received: Received, fetch: Callable[[Received], object] = fetch) -> None:
        log = cluster.logs[PartitionKey("orders", 0)]
        log.error = "TOPIC_AUTHORIZATION_FAILED"
        fetch(received)
        log.error = "NONE"

    cluster.brokers[1].on("Fetch", deny)
    tail = tail_of(client, offsets=offsets, ends=ends)
    with pytest.raises(AuthorizationError, match="topic orders: not authorized to read it"):
        values(tail, client)
