import pytest

from kdiag.exchange.context import broker_ids
from kdiag.exchange.context.broker_ids import BrokerIds
from kdiag.exchange.dissection import Dissection
from kdiag.exchange.model import Sighting
from kdiag.wire.api.describe_cluster import (
    DescribeClusterBroker,
    DescribeClusterRequest,
    DescribeClusterResponse,
)
from kdiag.wire.api.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kdiag.wire.api.metadata import MetadataRequest, MetadataResponse, MetadataResponseBroker
from kdiag.wire.schema import Struct
from recordings.exchange_maker import make_connection, make_exchange
from tiers.cases import for_each

BROKER = "10.0.0.2:9092"  # of `make_connection`


def metadata(*nodes: tuple[int, str, int]) -> Dissection:
    """Return an exchange that tells node ids with hosts and ports."""
    brokers = [
        MetadataResponseBroker(node_id=node_id, host=host, port=port)
        for node_id, host, port in nodes
    ]
    return Dissection(
        make_exchange(MetadataRequest(), version=9, response=MetadataResponse(brokers=brokers))
    )


def learnt(*dissections: Dissection) -> BrokerIds:
    """Return what exchanges tell."""
    brokers = BrokerIds()
    for each in dissections:
        brokers.learn(each)
    return brokers


@pytest.mark.parametrize(
    ("request_", "version", "response"),
    [
        (
            DescribeClusterRequest(),
            1,
            DescribeClusterResponse(
                brokers=[DescribeClusterBroker(broker_id=7, host="10.0.0.2", port=9092)]
            ),
        ),
        (
            FindCoordinatorRequest(key="billing"),
            2,
            FindCoordinatorResponse(node_id=7, host="10.0.0.2", port=9092),
        ),
        (
            FindCoordinatorRequest(coordinator_keys=["billing"]),
            4,
            FindCoordinatorResponse(
                coordinators=[Coordinator(key="billing", node_id=7, host="10.0.0.2", port=9092)]
            ),
        ),
    ],
)
def test_each_response_with_nodes_tells_them(
    request_: Struct, version: int, response: Struct
) -> None:
    """Metadata is not the only one."""
    assert learnt().of(make_connection()) is None
    dissection = Dissection(make_exchange(request_, version=version, response=response))
    assert learnt(dissection).of(make_connection()) == 7


@for_each(
    ("host", "broker"),
    [
        ("10.0.0.2", BROKER),
        ("localhost", "127.0.0.1:9092"),
        ("localhost", "[::1]:9092"),
        ("2001:DB8::0:1", "[2001:db8::1]:9092"),
    ],
)
def test_an_address_has_several_forms(host: str, broker: str) -> None:
    """They mean the same end of a connection."""
    connection = make_connection(broker=broker)
    assert learnt(metadata((0, host, 9092))).of(connection) == 0
    assert learnt(metadata((0, host, 9093))).of(connection) is None


def test_a_name_means_a_connection_whose_tls_says_so() -> None:
    """Only then is it known where the name led."""
    brokers = learnt(metadata((3, "Kafka-3.Internal", 9092), (4, "kafka-4.internal", 9092)))
    assert brokers.of(make_connection()) is None
    assert brokers.of(make_connection(sni="kafka-3.internal")) == 3


def test_an_address_before_nat_counts_too() -> None:
    """Brokers advertise the one that clients see."""
    again = [Sighting(client="10.0.0.1:40000", broker="192.168.7.7:31092")]
    brokers = learnt(metadata((5, "192.168.7.7", 31092)))
    assert brokers.of(make_connection(sightings=again)) == 5


def test_what_was_told_of_two_nodes_is_of_none() -> None:
    """Which of them it is, nothing says."""
    one, other = metadata((1, "10.0.0.2", 9092)), metadata((2, "10.0.0.2", 9092))
    assert learnt(one, one).of(make_connection()) == 1
    assert learnt(one, other, one).of(make_connection()) is None


def test_nodes_without_an_address_and_failed_answers_tell_nothing() -> None:
    """A coordinator that is not there is node -1 at no host."""
    absent = FindCoordinatorResponse(node_id=-1, host="", port=-1)
    exchange = make_exchange(FindCoordinatorRequest(key="billing"), version=2, response=absent)
    assert learnt(Dissection(exchange)).of(make_connection()) is None
    unanswered = make_exchange(MetadataRequest(), version=9)
    assert learnt(Dissection(unanswered)).of(make_connection()) is None


def test_no_more_addresses_are_remembered_than_a_cluster_has(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """A hostile capture may tell many."""
    monkeypatch.setattr(broker_ids, "MAX_ADDRESSES", 2)
    nodes = [(number, f"10.0.0.{number}", 9092) for number in (1, 3, 2)]
    brokers = learnt(metadata(*nodes))
    assert brokers.of(make_connection(broker="10.0.0.3:9092")) == 3
    assert brokers.of(make_connection()) is None
