import pytest

from kdiag.exchange.context.clusters import Clusters, NamedBrokers, named_brokers
from kdiag.wire.api.find_coordinator import FindCoordinatorResponse
from kdiag.wire.api.metadata import MetadataResponse, MetadataResponseBroker

A1, A2, B1, VIP = "10.0.0.1:9092", "10.0.0.2:9092", "10.9.0.1:9092", "10.5.0.5:9092"


def named(broker: str, cluster_id: str | None, *brokers: str, connection: str = "") -> NamedBrokers:
    """Return what a broker names."""
    return NamedBrokers(connection or f"tcp-{broker}", broker, cluster_id, frozenset(brokers))


def test_brokers_that_name_each_other_are_one_cluster() -> None:
    """What a broker names is of its cluster, whichever answer that is in."""
    clusters = Clusters(
        [named(A1, "a", A1), named(B1, "b", B1), named(A1, None, A2), named(A2, None, "a3:9092")]
    )

    found = [clusters.of(None, each) for each in (A1, A2, "a3:9092", B1, "unknown:9092")]
    assert found == ["a", "a", "a", "b", None]


@pytest.mark.parametrize(
    "answers",
    [
        [named(A1, "a", A1), named(B1, None, B1)],
        [named(A1, "a", A1), named(B1, "a", B1)],
        [named(A1, None, A1), named(B1, None, B1)],
        [],
    ],
)
def test_without_two_ids_there_are_no_two_clusters(answers: list[NamedBrokers]) -> None:
    """A cluster may name its brokers by other addresses on each of its listeners."""
    clusters = Clusters(answers)

    assert len({clusters.of(None, each) for each in (A1, B1)}) == 1
    assert len(clusters.ids) <= 1


def test_an_address_of_two_clusters_tells_nothing() -> None:
    """A gateway's connections say for themselves which cluster they lead to."""
    clusters = Clusters(
        [named(VIP, "a", A1, connection="one"), named(VIP, "b", B1, connection="two")]
    )

    assert [clusters.of(each, VIP) for each in ("one", "two", "three")] == ["a", "b", None]
    assert [clusters.of(None, each) for each in (A1, B1)] == ["a", "b"]


def test_answers_name_brokers_by_their_addresses() -> None:
    """Metadata with the id of the cluster, FindCoordinator one broker without it."""
    brokers = [MetadataResponseBroker(node_id=1, host="10.0.0.2", port=9092)]
    metadata = named_brokers("tcp", A1, MetadataResponse(brokers=brokers, cluster_id="a"))
    found = FindCoordinatorResponse(node_id=2, host="b.example", port=9093)
    nowhere = FindCoordinatorResponse(node_id=-1, host="", port=-1)

    assert metadata == ("tcp", A1, "a", frozenset({A2}))
    assert named_brokers("tcp", A1, found)[2:] == (None, frozenset({"b.example:9093"}))
    assert not named_brokers("tcp", A1, nowhere).brokers
