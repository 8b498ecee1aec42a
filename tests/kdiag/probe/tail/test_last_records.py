"""The last records of a whole topic; `test_tail` reads them from brokers."""

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import FetchedBatch, FetchPosition, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.probe.tail.last_records import LastRecords, OffsetSpan
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import Record
from kdiag.wire.records.writer import write_batch
from scripted_kafka.log_cluster import LogCluster

KEY = PartitionKey("orders", 0)
S_NS = 1_000_000_000


def fetched(partition: int, first: int, *timestamps: int) -> FetchedBatch:
    """Return a batch whose records have these timestamps."""
    records = [Record(first + n, each, None, b"") for n, each in enumerate(timestamps)]
    (batch,) = read_batches(write_batch(records)).batches
    return FetchedBatch(PartitionKey("orders", partition), batch, first, first + len(records))


def last(client: ClusterClient, count: int) -> LastRecords:
    """Return a search to which every record is visible."""
    return LastRecords(client, FetchLimits(), lambda _: True, count)


def spans_of(search: LastRecords) -> list[tuple[int, int, int]]:
    """Return partition, start and stop of what was found."""
    found = [each for batches in search.in_time_order({}) for each in batches]
    return [(each.key.partition, each.start, each.stop) for each in found]


def test_the_newest_are_kept_and_neighbours_stay_together() -> None:
    """Equal times are ordered by partition and offset."""
    with LogCluster(1) as cluster, cluster.client() as client:
        search = last(client, 4)
        for each in (fetched(0, 0, 10, 20, 30), fetched(1, 5, 20, 40)):
            search.add(each)
        spans = spans_of(search)
    assert spans == [(0, 1, 2), (1, 5, 6), (0, 2, 3), (1, 6, 7)]
    with LogCluster(1) as cluster, cluster.client() as client:
        search = last(client, 2)
        search.add(fetched(0, 0, 10, 20, 30))
        spans = spans_of(search)
    assert spans == [(0, 1, 3)]


def test_the_search_goes_back_in_growing_steps_until_there_are_enough() -> None:
    """It stops at the beginning."""
    position = FetchPosition(key=KEY, offset=100, leader_id=1)
    with LogCluster(1) as cluster, cluster.client() as client:
        search = last(client, 2)
        windows = []
        for fetcher in search.search({KEY: position}, {KEY: OffsetSpan(0, 100)}):
            (window,) = fetcher.positions.values()
            windows.append((window.offset, window.stop))
            if len(windows) == 2:
                search.add(fetched(0, window.offset, 1, 2))
    assert windows == [(84, 100), (20, 84)]


def test_a_partition_without_records_is_not_searched() -> None:
    """Nothing lies between its beginning and its end."""
    with LogCluster(1) as cluster, cluster.client() as client:
        assert list(last(client, 2).search({}, {KEY: OffsetSpan(7, 7)})) == []


def test_large_batches_are_read_again_in_their_turn() -> None:
    """Ten records of ten megabytes would take a hundred."""
    with LogCluster(1) as cluster, cluster.client() as client:
        log = cluster.add("orders", 0)
        log.append(b"x" * 100_000, b"y", timestamp=20)
        position = FetchPosition(key=KEY, offset=2, topic_id=log.topic_id, leader_id=1)
        search = last(client, 1000)
        search.add(fetched(1, 5, 10, 30))
        for fetcher in search.search({KEY: position}, {KEY: OffsetSpan(0, 2)}):
            while not fetcher.is_done:
                for each in fetcher.poll(client.clock.monotonic_ns() + S_NS):
                    search.add(each)
        found = [each for batches in search.in_time_order({KEY: position}) for each in batches]
        asked = [each.message() for each in cluster.brokers[1].asked("Fetch")]
    spans = [(each.key.partition, each.start, each.stop) for each in found]
    assert spans == [(1, 5, 6), (0, 0, 2), (1, 6, 7)]
    assert [len(each.value or b"") for each in found[1].batch.records()] == [100_000, 1]
    assert [getattr(each, "max_bytes", 0) for each in asked] == [FetchLimits().max_bytes, 1]
