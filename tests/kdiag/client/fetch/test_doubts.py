"""Batches that are damaged on the way are asked for again, and never passed over in silence."""

from collections.abc import Callable, Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch import doubts
from kdiag.client.fetch.fetcher import Fetcher
from kdiag.client.fetch.position import FetchPosition, NoticeKind, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.clock import NS_PER_MS, NS_PER_S
from kdiag.wire.api.fetch import FetchRequest
from scripted_kafka.log_cluster import Log, LogCluster, flip

KEY = PartitionKey("orders", 0)
LIMITS = FetchLimits(max_wait_ms=10)
EVERY = [b"%d" % n for n in range(20)]
HEADER_BYTES = 61


@pytest.fixture(autouse=True)
def _short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """What is asked for again is asked for soon."""
    monkeypatch.setattr(doubts, "_FIRST_RETRY_NS", NS_PER_MS)
    monkeypatch.setattr(doubts, "_LAST_RETRY_NS", NS_PER_MS)


@pytest.fixture
def cluster() -> Iterator[LogCluster]:
    """A leader and a follower; each answer has one batch."""
    with LogCluster(2) as cluster:
        cluster.max_batches = 1
        yield cluster


@pytest.fixture
def log(cluster: LogCluster) -> Log:
    """Five batches of four records."""
    log = cluster.add("orders", 0)
    for first in range(0, 20, 4):
        log.append(*EVERY[first : first + 4])
    return log


@pytest.fixture
def client(cluster: LogCluster, log: Log) -> Iterator[ClusterClient]:
    """A client of the cluster, once that has its log."""
    assert log.end == len(EVERY)
    with cluster.client() as client:
        client.refresh(["orders"])
        yield client


def fetcher_of(
    client: ClusterClient, log: Log, limits: FetchLimits = LIMITS, *, skips: bool = False
) -> Fetcher:
    """Return a fetcher of the whole log."""
    position = FetchPosition(
        key=KEY, offset=0, stop=log.end, topic_id=log.topic_id, leader_id=1, leader_epoch=log.epoch
    )
    return Fetcher(client, [position], limits, skips_damaged=skips)


def values(fetcher: Fetcher, client: ClusterClient) -> list[bytes]:
    """Return all values, each with the offset that it was read at."""
    found: list[tuple[int, bytes]] = []
    until_ns = client.clock.monotonic_ns() + 20 * NS_PER_S
    while not fetcher.is_done:
        now_ns = client.clock.monotonic_ns()
        assert now_ns < until_ns, (found, fetcher.positions)
        for fetched in fetcher.poll(now_ns + NS_PER_S):
            found += [
                (record.offset, record.value or b"")
                for record in fetched.batch.records()
                if fetched.start <= record.offset < fetched.stop
            ]
    assert all(EVERY[offset] == value for offset, value in found), found
    return [value for _, value in found]


def told(fetcher: Fetcher) -> list[str]:
    """Return what is said about damage."""
    return [each.text for each in fetcher.take_notices() if each.kind is NoticeKind.CORRUPT]


def whole(data: bytes) -> bytes:
    """Return an answer as it is."""
    return data


@pytest.mark.soak  # each case waits for 50 s of retries
@pytest.mark.parametrize("mask", [0x04, 0x80])
@pytest.mark.parametrize("batches", [1, 3])
def test_a_byte_that_is_damaged_once_loses_nothing_wherever_it_is(
    cluster: LogCluster, client: ClusterClient, log: Log, mask: int, batches: int
) -> None:
    """In the header, which the checksum covers in part, and in the records, of each answer."""
    cluster.max_batches = batches
    for byte in (*range(HEADER_BYTES), -5, -1):
        log.damages[:] = [whole, flip(byte, mask)] if byte % 2 else [flip(byte, mask)]
        fetcher = fetcher_of(client, log)
        assert values(fetcher, client) == EVERY, byte
        assert not fetcher.is_partial
        assert told(fetcher) == []


@pytest.mark.parametrize("byte", [6, 7, 11, 15, 16, 20, -1], ids=lambda byte: f"byte {byte}")
def test_a_byte_that_is_damaged_once_is_asked_for_again(
    client: ClusterClient, log: Log, byte: int
) -> None:
    """Base offset, size, leader epoch, magic, checksum, records: nothing is lost or doubled."""
    log.damages[:] = [whole, flip(byte, 0x04)]
    fetcher = fetcher_of(client, log)
    assert values(fetcher, client) == EVERY
    assert told(fetcher) == []


def test_damaged_records_are_asked_for_over_a_new_connection(
    cluster: LogCluster, client: ClusterClient, log: Log
) -> None:
    """The way of the old one may be what damages them."""
    assert values(fetcher_of(client, log), client) == EVERY
    before = cluster.brokers[1].connections
    log.damages[:] = [flip(-1, 1)]
    fetcher = fetcher_of(client, log)
    assert values(fetcher, client) == EVERY
    assert cluster.brokers[1].connections == before + 1
    assert fetcher.take_notices() == []


@pytest.mark.thorough
@pytest.mark.parametrize("skips", [False, True])
def test_a_batch_that_stays_damaged_is_named_and_no_commit_passes_it(
    client: ClusterClient, log: Log, *, skips: bool
) -> None:
    """Those behind it are read; with --skip-damaged, commits go on behind it as well."""
    first, after, data = log.batches[1]
    log.batches[1] = (first, after, flip(-1, 1)(data))
    fetcher = fetcher_of(client, log, skips=skips)
    assert values(fetcher, client) == EVERY[:4] + EVERY[8:]
    (text,) = told(fetcher)
    assert text.startswith("orders[0]: unreadable at offset 4 in 3 answers, offsets 4 to 7 left")
    assert fetcher.is_partial
    assert fetcher.positions[KEY].resume_offset == (20 if skips else 4)


@pytest.mark.thorough
@pytest.mark.parametrize(
    "damage",
    [flip(16, 0x04), flip(6, 0x04), lambda data: data[:60]],
    ids=["magic", "base offset", "cut"],
)
def test_a_partition_whose_answers_cannot_be_placed_is_given_up(
    client: ClusterClient, log: Log, damage: Callable[[bytes], bytes]
) -> None:
    """A wrong magic, a batch beyond the high watermark, never a whole batch."""
    first, after, data = log.batches[1]
    log.batches[1] = (first, after, damage(data))
    fetcher = fetcher_of(client, log)
    assert values(fetcher, client) == EVERY[:4]
    (text,) = told(fetcher)
    assert text.startswith("orders[0]: unreadable at offset 4 in 3 answers, given up: ")
    assert (fetcher.is_partial, fetcher.positions[KEY].resume_offset) == (True, 4)


@pytest.mark.thorough
def test_what_cannot_be_placed_is_skipped_where_that_is_wanted(
    client: ClusterClient, log: Log
) -> None:
    """Offset by offset, as the end of the batch is not known; that is said once."""
    first, after, data = log.batches[1]
    log.batches[1] = (first, after, flip(16, 0x04)(data))
    fetcher = fetcher_of(client, log, skips=True)
    assert values(fetcher, client) == EVERY[:4] + EVERY[8:]
    assert [each.partition(":")[0] for each in told(fetcher)] == ["orders[0]", "orders[0@12]"]
    assert fetcher.positions[KEY].resume_offset == 20


def test_the_end_of_a_connection_is_no_trouble_for_other_partitions_of_its_broker(
    cluster: LogCluster, client: ClusterClient, log: Log
) -> None:
    """They are asked for over the new one."""
    cluster.add("other", 0).append(*EVERY)
    other = FetchPosition(
        key=PartitionKey("other", 0),
        offset=0,
        stop=20,
        leader_id=1,
        topic_id=cluster.logs[PartitionKey("other", 0)].topic_id,
    )
    log.damages[:] = [flip(-1, 1)]
    fetcher = fetcher_of(client, log)
    fetcher.add([other])
    assert sorted(values(fetcher, client)) == sorted([*EVERY, *EVERY])
    assert fetcher.take_notices() == []


@pytest.mark.thorough
def test_another_replica_is_asked_where_a_rack_is_given(
    cluster: LogCluster, client: ClusterClient, log: Log
) -> None:
    """Its log may be whole."""
    log.damages[:] = [flip(-1, 1)] * 2
    log.in_sync = [1, 2]
    client.refresh(["orders"])
    assert values(fetcher_of(client, log, LIMITS._replace(rack="r")), client) == EVERY
    assert len(cluster.brokers[2].asked("Fetch")) >= 1


@pytest.mark.thorough
def test_a_batch_that_never_comes_whole_is_asked_for_with_more_room(
    cluster: LogCluster, client: ClusterClient, log: Log
) -> None:
    """As much as its header says that it needs; the next Fetch is as small as before."""
    log.damages[:] = [lambda data: data[:60]]
    limits = LIMITS._replace(partition_max_bytes=1, max_bytes=1)
    assert values(fetcher_of(client, log, limits), client) == EVERY
    sizes = []
    for each in cluster.brokers[1].asked("Fetch"):
        request = each.message()
        assert isinstance(request, FetchRequest)
        sizes.append(request.max_bytes)
    assert sizes[:3] == [1, len(log.batches[0][2]), 1]


def test_gaps_of_a_compacted_log_are_believed_when_they_are_answered_twice(
    cluster: LogCluster, client: ClusterClient, log: Log
) -> None:
    """After a few it is known that the log has them: no answer is asked for twice any more."""
    for n in range(20, 60):
        log.append(b"%d" % n)
    del log.batches[1:5]
    kept = [each for n, each in enumerate(log.batches) if n % 2 == 0]
    log.batches = kept
    fetcher = fetcher_of(client, log)
    fetcher.positions[KEY].stop = log.end - 1
    found = 0
    while not fetcher.is_done:
        found += len(fetcher.poll(client.clock.monotonic_ns() + NS_PER_S))
    assert found == len(kept)
    assert told(fetcher) == []
    assert len(cluster.brokers[1].asked("Fetch")) <= len(kept) + 5


def test_a_batch_beyond_the_high_watermark_of_its_answer_is_asked_for_again(
    cluster: LogCluster, client: ClusterClient, log: Log
) -> None:
    """Brokers read the high watermark before the records: the next answer has a newer one."""
    assert values(fetcher_of(client, log), client) == EVERY
    end, log.end = log.end, 19
    fetcher = fetcher_of(client, log)
    fetcher.positions[KEY].stop = end

    def grow(data: bytes) -> bytes:
        log.end = end
        return data

    log.damages[:] = [whole, whole, whole, whole, grow]
    before = cluster.brokers[1].connections
    assert values(fetcher, client) == EVERY
    assert cluster.brokers[1].connections == before
    assert told(fetcher) == []
