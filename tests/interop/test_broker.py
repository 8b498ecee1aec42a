"""Real brokers understand what kdiag writes, and kdiag understands all they offer."""

from collections.abc import Callable, Iterator

import pytest

from client_ends.broker_socket import BrokerSocket
from kdiag.wire import api_keys
from kdiag.wire.api.api_versions import ApiVersionsRequest, ApiVersionsResponse
from kdiag.wire.api.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from kdiag.wire.api.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from kdiag.wire.api.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.codec.messages import decode
from kdiag.wire.error_code import error_name
from kdiag.wire.records.batches import read_batches
from kdiag.wire.records.record import BatchHeader, Record
from kdiag.wire.records.writer import write_batch
from real_kafka.releases import VERSIONS
from real_kafka.secure_cluster import SecureCluster

pytestmark = pytest.mark.soak

TIMEOUT_MS = 10_000
RECORDS = [
    Record(offset=number, timestamp=1_700_000_000_000, key=b"key", value=b"value " * number)
    for number in range(5)
]


@pytest.fixture(scope="module", params=VERSIONS)
def broker(
    request: pytest.FixtureRequest, get_secure_cluster: Callable[[str], SecureCluster]
) -> Iterator[BrokerSocket]:
    """Yield a connection to a running broker."""
    with BrokerSocket(get_secure_cluster(request.param).bootstrap) as connection:
        yield connection


def newest_version(broker: BrokerSocket) -> int:
    """Return the newest version of ApiVersions that the broker offers."""
    offered = broker.ask(ApiVersionsRequest(), 0, ApiVersionsResponse).api_keys
    return next(each.max_version for each in offered if each.api_key == api_keys.API_VERSIONS)


def create_topic(broker: BrokerSocket, topic: str) -> str:
    """Create a topic of one partition and return the error's name."""
    wanted = CreatableTopic(name=topic, num_partitions=1, replication_factor=1)
    request = CreateTopicsRequest(topics=[wanted], timeout_ms=TIMEOUT_MS)
    return error_name(broker.ask(request, 5, CreateTopicsResponse).topics[0].error_code)


def produce(broker: BrokerSocket, topic: str, batch: bytes) -> str:
    """Write a batch, as soon as the broker knows that it leads the new topic."""
    partition = PartitionProduceData(index=0, records=batch)
    data = TopicProduceData(name=topic, partition_data=[partition])
    request = ProduceRequest(acks=-1, timeout_ms=TIMEOUT_MS, topic_data=[data])
    while True:
        response = broker.ask(request, 9, ProduceResponse).responses[0].partition_responses[0]
        error = error_name(response.error_code)
        if error not in {"NOT_LEADER_OR_FOLLOWER", "UNKNOWN_TOPIC_OR_PARTITION"}:
            return error


def fetch(broker: BrokerSocket, topic: str) -> bytes:
    """Read the batches of a topic's only partition."""
    partition = FetchPartition(partition=0, partition_max_bytes=1_000_000)
    wanted = FetchTopic(topic=topic, partitions=[partition])
    request = FetchRequest(max_wait_ms=TIMEOUT_MS, min_bytes=1, topics=[wanted])
    response = broker.ask(request, 12, FetchResponse).responses[0].partitions[0]
    return response.records or b""


@pytest.mark.real
def test_kdiag_knows_every_version_of_every_api_that_a_broker_offers(broker: BrokerSocket) -> None:
    """What a broker lists as its own lies within kdiag's catalog."""
    offered = broker.ask(ApiVersionsRequest(), 0, ApiVersionsResponse).api_keys
    assert len(offered) > 50
    for each in offered:
        known = API_BY_KEY[each.api_key].versions
        assert known.low <= each.min_version <= each.max_version <= known.high


def test_a_broker_says_the_same_in_each_version_of_api_versions(broker: BrokerSocket) -> None:
    """The versions differ in headers, compact lengths and tagged fields, not in what they say."""
    first = broker.ask(ApiVersionsRequest(), 0, ApiVersionsResponse)
    request = ApiVersionsRequest(client_software_name="kdiag", client_software_version="0")
    for version in range(1, newest_version(broker) + 1):
        answer = broker.ask(request, version, ApiVersionsResponse)
        assert answer.error_code == 0
        assert answer.api_keys == first.api_keys


def test_a_broker_answers_a_version_that_it_lacks_in_version_0(broker: BrokerSocket) -> None:
    """The answer is UNSUPPORTED_VERSION and what it would understand (KIP-511)."""
    newest = newest_version(broker)
    body = broker.exchange(api_keys.API_VERSIONS, newest + 1, b"")
    answer = decode(ApiVersionsResponse, 0, body)
    assert error_name(answer.error_code) == "UNSUPPORTED_VERSION"
    assert [(each.api_key, each.max_version) for each in answer.api_keys] == [
        (api_keys.API_VERSIONS, newest)
    ]


@pytest.mark.real
@pytest.mark.parametrize("compression", ["none", "gzip", "snappy", "lz4", "zstd"])
def test_a_broker_stores_our_batches_and_gives_them_back(
    compression: str, broker: BrokerSocket
) -> None:
    """A broker checks and decompresses a batch before it takes it."""
    topic = f"kept-{compression}"
    assert create_topic(broker, topic) == "NONE"
    assert produce(broker, topic, write_batch(RECORDS, BatchHeader(compression=compression))) == (
        "NONE"
    )
    (stored,) = read_batches(fetch(broker, topic)).batches
    assert stored.crc_ok
    assert stored.compression == compression
    assert list(stored.records()) == RECORDS
