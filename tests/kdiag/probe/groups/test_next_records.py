import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.position import PartitionKey
from kdiag.clock import NS_PER_S
from kdiag.probe.groups import next_records
from kdiag.probe.groups.next_records import NextRecords, UnreadSpan, read_next
from kdiag.wire.api.fetch import AbortedTransaction
from kdiag.wire.records.record import ControlType
from scripted_kafka.group_cluster import GroupCluster

KEY = PartitionKey("orders", 0)


def read(client: ClusterClient, *spans: UnreadSpan) -> list[NextRecords]:
    """Return what is left to read in each span."""
    client.refresh(["orders"])
    found = read_next(client, client.cluster, spans)
    return [found[each] for each in spans]


def test_the_first_record_and_all_are_counted(cluster: GroupCluster, client: ClusterClient) -> None:
    """From the middle of a batch on, and for each group from its own place."""
    log = cluster.add("orders", 0)
    log.append(b"a", b"b", timestamp=1000)
    log.append(b"c", timestamp=5000)
    late, early = read(client, UnreadSpan(KEY, 1, 3), UnreadSpan(KEY, 0, 3))

    assert (late.offset, late.timestamp_ms, late.count, late.read_to) == (1, 1001, 2, 3)
    assert (early.offset, early.count) == (0, 3)


def test_markers_and_aborted_records_do_not_count(
    cluster: GroupCluster, client: ClusterClient
) -> None:
    """They are passed over, up to the end."""
    log = cluster.add("orders", 0)
    log.append(b"lost", producer_id=7, is_transactional=True, base_sequence=0)
    log.mark(7, ControlType.ABORT)
    log.append(b"kept", timestamp=9000)
    log.mark(8, ControlType.COMMIT)
    log.aborted = [AbortedTransaction(7, 0)]
    (found,) = read(client, UnreadSpan(KEY, 0, 4))
    (rest,) = read(client, UnreadSpan(KEY, 3, 4))

    assert (found.offset, found.count, found.read_to) == (2, 1, 4)
    assert (rest.offset, rest.count, rest.read_to) == (None, 0, 4)


def test_reading_ends_where_enough_is_known(cluster: GroupCluster, client: ClusterClient) -> None:
    """What is behind that is not counted."""
    log = cluster.add("orders", 0)
    for _ in range(30):
        log.append(bytes(20_000))
    cluster.max_batches = 2
    (found,) = read(client, UnreadSpan(KEY, 0, 30))
    assert (found.offset, found.count, found.read_to, found.error) == (0, 4, 4, None)


def test_a_partition_that_is_gone_says_so(cluster: GroupCluster, client: ClusterClient) -> None:
    """Others are read."""
    cluster.add("orders", 0).append(b"a")
    gone, there = read(client, UnreadSpan(PartitionKey("orders", 5), 0, 3), UnreadSpan(KEY, 0, 1))
    assert gone.error == "it does not exist"
    assert there.count == 1


@pytest.mark.thorough
def test_records_that_do_not_come_are_unknown_and_not_none(
    cluster: GroupCluster, client: ClusterClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A store that is slow answers without records: neither their age nor their number is known."""
    monkeypatch.setattr(next_records, "_PART_NS", NS_PER_S // 5)
    log = cluster.add("orders", 0)
    log.append(b"a", b"b")
    log.empty_answers = 10**6
    (found,) = read(client, UnreadSpan(KEY, 0, 2))
    assert (found.count, found.read_to) == (0, 0)
    assert found.error == "its records did not come in time"
