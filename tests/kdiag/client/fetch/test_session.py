"""What a broker remembers of our last Fetch."""

from contextlib import nullcontext

import pytest

from kdiag.client.cluster_client import ClusterSettings
from kdiag.client.fetch.position import FetchPosition, PartitionKey
from kdiag.client.fetch.session import (
    FetchLimits,
    FetchSession,
    record_versions,
    require_record_batches,
)
from kdiag.client.network.settings import IMPATIENT, NetworkSettings
from kdiag.errors import UnsupportedVersionError
from kdiag.wire.api.fetch import FetchRequest
from kdiag.wire.catalog import API_BY_KEY
from kdiag.wire.client_release import client_release
from kdiag.wire.codec.messages import encode
from scripted_kafka.scripted_broker import offering
from scripted_kafka.scripted_cluster import ScriptedCluster
from tiers.cases import for_each

ID = bytes(15) + b"\1"
OTHER_ID = bytes(15) + b"\2"
NEWEST = 18
LIMITS = FetchLimits(rack="a")


def position(partition: int, offset: int = 0, topic_id: bytes = ID) -> FetchPosition:
    """Return a position in `orders`."""
    key = PartitionKey("orders", partition)
    return FetchPosition(key=key, offset=offset, topic_id=topic_id, leader_epoch=4, fetched_epoch=3)


def asked(request: FetchRequest) -> list[tuple[int, int]]:
    """Return the partitions and offsets of a request."""
    return [
        (each.partition, each.fetch_offset) for topic in request.topics for each in topic.partitions
    ]


def test_the_first_request_is_full_and_the_next_say_only_what_moved() -> None:
    """The broker's session id comes back with a growing epoch."""
    session = FetchSession()
    first, second = position(0), position(1)
    request = session.request([first, second], LIMITS, NEWEST)
    assert (request.session_id, request.session_epoch) == (0, 0)
    assert asked(request) == [(0, 0), (1, 0)]
    session.handle_response(42, NEWEST)
    first.offset = 10
    request = session.request([first, second], LIMITS, NEWEST)
    assert (request.session_id, request.session_epoch) == (42, 1)
    assert asked(request) == [(0, 10)]
    session.handle_response(42, NEWEST)
    request = session.request([first, second], LIMITS, NEWEST)
    assert (request.session_epoch, request.topics) == (2, [])


def test_partitions_that_are_not_wanted_any_more_are_forgotten() -> None:
    """The broker must not go on sending them."""
    session = FetchSession()
    session.request([position(0), position(1)], LIMITS, NEWEST)
    session.handle_response(42, NEWEST)
    request = session.request([position(0)], LIMITS, NEWEST)
    (topic,) = request.forgotten_topics_data
    assert (topic.topic_id, topic.partitions) == (ID, [1])


def test_a_topic_that_was_created_anew_is_forgotten_by_its_old_id() -> None:
    """And asked for by its new one."""
    session = FetchSession()
    session.request([position(0)], LIMITS, NEWEST)
    session.handle_response(42, NEWEST)
    request = session.request([position(0, topic_id=OTHER_ID)], LIMITS, NEWEST)
    assert [each.topic_id for each in request.topics] == [OTHER_ID]
    assert [each.topic_id for each in request.forgotten_topics_data] == [ID]


def test_after_an_error_everything_is_said_again() -> None:
    """The broker may remember something else than we do."""
    session = FetchSession()
    session.request([position(0)], LIMITS, NEWEST)
    session.handle_response(42, NEWEST)
    session.reset()
    request = session.request([position(0)], LIMITS, NEWEST)
    assert (request.session_id, request.session_epoch, asked(request)) == (0, 0, [(0, 0)])


def test_a_broker_that_makes_no_session_is_told_everything_each_time() -> None:
    """Its cache of sessions may be full."""
    session = FetchSession()
    session.request([position(0)], LIMITS, NEWEST)
    session.handle_response(0, NEWEST)
    assert asked(session.request([position(0)], LIMITS, NEWEST)) == [(0, 0)]


@for_each("version", range(4, NEWEST + 1))
def test_a_request_can_be_written_in_every_version(version: int) -> None:
    """Old brokers know no sessions, no epochs and no topic ids."""
    session = FetchSession()
    request = session.request([position(0)], LIMITS, version)
    assert encode(request, version)
    session.handle_response(0 if version < 7 else 42, version)
    again = session.request([position(0)], LIMITS, version)
    assert (asked(again) == [(0, 0)]) == (version < 7)
    assert encode(again, version)


def test_the_limits_are_what_is_asked_for() -> None:
    """Bytes, wait, isolation and rack."""
    limits = FetchLimits(1000, 100, 50, 7, is_committed_only=False, rack="b")
    request = FetchSession().request([position(0, 5)], limits, NEWEST)
    assert (request.max_bytes, request.max_wait_ms, request.min_bytes) == (1000, 50, 7)
    assert (request.isolation_level, request.rack_id) == (0, "b")
    (partition,) = request.topics[0].partitions
    assert partition.partition_max_bytes == 100
    assert (partition.current_leader_epoch, partition.last_fetched_epoch) == (4, 3)


@pytest.mark.parametrize(("api_key", "oldest", "by_name"), [(0, 3, 12), (1, 4, 12), (8, 2, 9)])
def test_topics_without_ids_are_named_which_the_newest_versions_cannot(
    api_key: int, oldest: int, by_name: int
) -> None:
    """With ids, all versions from the first with record batches on will do."""
    assert record_versions(api_key, has_topic_ids=False) == (oldest, by_name)
    newest = API_BY_KEY[api_key].versions.high
    assert newest > by_name
    assert record_versions(api_key, has_topic_ids=True) == (oldest, newest)


@pytest.mark.parametrize(
    ("release", "offered", "why"),
    [
        ("", 18, None),
        ("4.4", 4, None),
        ("0.11.0", 18, None),
        ("0.10.2", 18, "knows versions 0-3 of Fetch"),
        ("", 3, "the brokers are older than Kafka 0.11, .* versions 0-3 of Fetch"),
    ],
)
def test_clients_and_brokers_before_kafka_0_11_have_no_record_batches(
    release: str, offered: int, why: str | None
) -> None:
    """All others do, and kdiag itself."""
    network = NetworkSettings(times=IMPATIENT, release=client_release(release))
    with ScriptedCluster(1) as cluster:
        cluster.on("ApiVersions", offering(Fetch=(0, offered)))
        with cluster.client(settings=ClusterSettings((), network)) as client:
            raised = pytest.raises(UnsupportedVersionError, match=why) if why else nullcontext()
            with raised:
                require_record_batches(client)
