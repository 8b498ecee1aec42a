"""Where partitions are read from."""

from collections.abc import Iterator

import pytest

from kdiag.client.cluster_client import ClusterClient
from kdiag.client.fetch.fetcher import Fetcher
from kdiag.client.fetch.position import NoticeKind, PartitionKey
from kdiag.client.fetch.session import FetchLimits
from kdiag.errors import AuthorizationError, ConfigError
from kdiag.probe.tail.offset_spec import At, Position
from kdiag.probe.tail.placement import Placement, TailRequest, select_now
from kdiag.probe.tail.topic_selection import parse_selector
from scripted_kafka.log_cluster import LogCluster

BEGINNING = Position(At.BEGINNING)
FIRST, SECOND = PartitionKey("orders", 0), PartitionKey("orders", 1)


@pytest.fixture
def cluster() -> Iterator[LogCluster]:
    """Two brokers with a partition of three records each."""
    with LogCluster(2) as cluster:
        for number in range(2):
            cluster.add("orders", number, leader=number + 1).append(b"a", b"b", b"c")
        yield cluster


@pytest.fixture
def client(cluster: LogCluster) -> Iterator[ClusterClient]:
    """A client of the cluster."""
    with cluster.client() as client:
        yield client


def placement_of(client: ClusterClient) -> tuple[Placement, Fetcher]:
    """Return a placement of both partitions of a reader that stops at the end."""
    limits = FetchLimits(max_wait_ms=10)
    fetcher = Fetcher(client, [], limits)
    placement = Placement(client, fetcher, TailRequest([], stops_at_end=True, limits=limits))
    placement.unplaced = {FIRST: None, SECOND: Position(At.OFFSET, 2)}
    return placement, fetcher


def test_partitions_are_read_from_their_own_starts_or_the_usual_one(client: ClusterClient) -> None:
    """Those whose leader answers wait no longer."""
    placement, fetcher = placement_of(client)
    spans = placement.place(client.refresh(["orders"]), BEGINNING)
    assert {key: (each.start, each.stop) for key, each in spans.items()} == {
        FIRST: (0, 3),
        SECOND: (2, 3),
    }
    assert {key: each.offset for key, each in fetcher.positions.items()} == {FIRST: 0, SECOND: 2}
    assert (placement.unplaced, placement.take_notices()) == ({}, [])


def test_a_partition_without_a_leader_waits(cluster: LogCluster, client: ClusterClient) -> None:
    """The others are read meanwhile."""
    cluster.logs[SECOND].leader = -1
    placement, fetcher = placement_of(client)
    placement.place(client.refresh(["orders"]), BEGINNING)
    assert list(placement.unplaced) == [SECOND]
    assert list(fetcher.positions) == [FIRST]


def test_what_is_taken_away_is_read_no_more(client: ClusterClient) -> None:
    """Neither what is placed nor what waits for a leader."""
    placement, fetcher = placement_of(client)
    placement.place(client.refresh(["orders"]), BEGINNING)
    other = PartitionKey("clicks", 0)
    placement.unplaced[other] = None
    placement.remove([FIRST, other])
    assert (list(fetcher.positions), placement.unplaced) == ([SECOND], {})


def test_a_start_beyond_the_end_is_told(client: ClusterClient) -> None:
    """As nothing would ever be read."""
    placement, _ = placement_of(client)
    placement.unplaced = {FIRST: Position(At.OFFSET, 9)}
    placement.place(client.refresh(["orders"]), BEGINNING)
    (notice,) = placement.take_notices()
    assert notice.kind is NoticeKind.BEYOND_END
    assert notice.text == "orders[0]: nothing to read: offset 9 is beyond the end of the log, 3"


def test_a_pattern_that_matches_nothing_that_one_may_see(
    cluster: LogCluster, client: ClusterClient
) -> None:
    """Brokers leave out other topics without a word; whoever may see its like sees all."""
    with pytest.raises(ConfigError, match="no topic matches"):
        select_now(client, [parse_selector("tx*")])
    cluster.denied = {parse_selector("tx*").example}
    with pytest.raises(AuthorizationError, match=r"no topic matches; brokers list only the topics"):
        select_now(client, [parse_selector("tx*")])
    _, selected = select_now(client, [parse_selector("ord*")])
    assert PartitionKey("orders", 0) in selected
