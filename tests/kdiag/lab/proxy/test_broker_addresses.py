import pytest

from kdiag.lab.proxy.broker_addresses import (
    CONTROLLERS,
    MOST_BROKERS,
    BrokerAddresses,
    BrokerPlace,
    tells_topics,
)
from kdiag.wire import api_keys
from kdiag.wire.api.describe_cluster import DescribeClusterBroker, DescribeClusterResponse
from kdiag.wire.api.metadata import (
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponseTopic,
)


@pytest.fixture
def addresses() -> BrokerAddresses:
    """Return addresses whose listeners have ports by their brokers."""
    made = BrokerAddresses("near", lambda node_id: 1000 + node_id)
    made.add(1, "far", 9092)
    return made


def test_clients_are_told_the_listeners(addresses: BrokerAddresses) -> None:
    """A broker that is new gets one; one that has moved keeps it."""
    brokers = [
        MetadataResponseBroker(node_id=1, host="moved", port=9093),
        MetadataResponseBroker(node_id=5, host="new", port=9092),
    ]
    assert addresses.rewrite(MetadataResponse(brokers=brokers))
    assert [(each.host, each.port) for each in brokers] == [("near", 1001), ("near", 1005)]
    assert addresses.ports == {1: 1001, 5: 1005}
    assert addresses.broker_at(1) == BrokerPlace("moved", 9093)


def test_what_tells_no_broker_is_left_as_it_is(addresses: BrokerAddresses) -> None:
    """Nor are controllers those that listeners are for."""
    assert not addresses.rewrite(MetadataResponse())
    broker = DescribeClusterBroker(broker_id=1, host="controller", port=9093)
    response = DescribeClusterResponse(endpoint_type=CONTROLLERS, brokers=[broker])
    assert not addresses.rewrite(response)
    assert broker.host == "controller"


def test_there_are_not_too_many_listeners(addresses: BrokerAddresses) -> None:
    """Whatever a broker tells."""
    for node_id in range(2, MOST_BROKERS + 1):
        addresses.add(node_id, "far", 1)
    assert addresses.add(MOST_BROKERS + 1, "far", 1) is None
    assert addresses.add(1, "far", 2) == 1001


def test_names_of_topics_are_learnt(addresses: BrokerAddresses) -> None:
    """From Metadata, which clients ask for first."""
    topic = MetadataResponseTopic(name="orders", topic_id=b"i" * 16)
    addresses.learn_topics(MetadataResponse(topics=[topic]))
    assert addresses.topic_name(b"i" * 16) == "orders"
    assert addresses.topic_name(b"x" * 16) is None
    assert tells_topics(api_keys.METADATA)
