import pytest

from kdiag.wire.api.metadata import MetadataRequest
from made_values.exchange_line import Values, written_line
from recordings.exchange_maker import request_bytes
from tiers.cases import for_each

LISTENERS = [{"name": "INTERNAL", "host": "b1", "port": 9093}]


def test_a_broker_heartbeat_tells_epoch_offset_and_wishes() -> None:
    """What a broker wants is told only if it wants it."""
    asked = {"broker_id": 1, "broker_epoch": 5, "current_metadata_offset": 99}
    leaving = asked | {"want_fence": True, "want_shut_down": True}

    assert written_line("BrokerHeartbeat", 0, asked) == "broker 1 epoch 5, metadata offset 99"
    assert written_line("BrokerHeartbeat", 0, leaving) == (
        "broker 1 epoch 5, metadata offset 99, wants to be fenced, wants to shut down"
    )


@for_each(
    ("answered", "text"),
    [
        ({"is_caught_up": True, "is_fenced": False}, "caught up"),
        ({"is_caught_up": False, "is_fenced": True}, "not caught up, fenced"),
        (
            {"is_caught_up": True, "is_fenced": False, "should_shut_down": True},
            "caught up, should shut down",
        ),
        ({"error_code": 77}, ""),
    ],
)
def test_the_answer_to_a_broker_heartbeat_tells_what_the_controller_wants(
    answered: Values, text: str
) -> None:
    """Fenced brokers serve no clients."""
    assert text == written_line("BrokerHeartbeat", 0, None, answered)


def test_registrations_tell_where_nodes_listen() -> None:
    """A broker gets an epoch, a controller does not."""
    broker = {"broker_id": 1, "listeners": LISTENERS}
    controller = {"controller_id": 3, "listeners": LISTENERS}

    assert written_line("BrokerRegistration", 1, broker, {"broker_epoch": 8}) == (
        "broker 1, INTERNAL://b1:9093 → epoch 8"
    )
    assert written_line("BrokerRegistration", 1, None, {"error_code": 101}) == ""
    assert written_line("ControllerRegistration", 0, controller, {}) == (
        "controller 3, INTERNAL://b1:9093"
    )


def test_a_vote_tells_candidate_epoch_and_outcome() -> None:
    """A pre-vote (KIP-996) changes nothing yet and is told apart."""
    partition = {"replica_id": 2, "replica_epoch": 6}
    asked = {"topics": [{"topic_name": "__cluster_metadata", "partitions": [partition]}]}
    results = [{"vote_granted": True, "leader_id": -1, "leader_epoch": 6}]
    refusals = [{"vote_granted": False, "leader_id": 1, "leader_epoch": 7}]

    granted = written_line("Vote", 0, asked, {"topics": [{"partitions": results}]})
    assert granted == (
        "__cluster_metadata[0] vote for 2 in epoch 6 → granted, no leader in epoch 6"
    )
    assert written_line("Vote", 0, None, {"topics": [{"partitions": refusals}]}) == (
        "refused, leader 1 in epoch 7"
    )
    asked["topics"][0]["partitions"] = [partition | {"pre_vote": True}]
    assert written_line("Vote", 2, asked) == "__cluster_metadata[0] pre-vote for 2 in epoch 6"


@pytest.mark.parametrize("api", ["BeginQuorumEpoch", "EndQuorumEpoch"])
def test_a_quorum_epoch_tells_its_leader(api: str) -> None:
    """Both sides tell who leads in which epoch."""
    partitions = [{"leader_id": 1, "leader_epoch": 7}]
    message = {"topics": [{"topic_name": "__cluster_metadata", "partitions": partitions}]}

    said = "__cluster_metadata[0] leader 1 in epoch 7"
    assert written_line(api, 0, message, message) == f"{said} → {said}"


def test_the_answer_to_describe_quorum_tells_the_leader() -> None:
    """The request names the one partition there is, which tells nobody anything."""
    partitions = [{"leader_id": 1, "leader_epoch": 7}]
    answered = {"topics": [{"topic_name": "__cluster_metadata", "partitions": partitions}]}

    assert (
        written_line("DescribeQuorum", 0, {}, answered)
        == "__cluster_metadata[0] leader 1 in epoch 7"
    )


def test_a_described_cluster_has_brokers_and_a_controller() -> None:
    """An id of -1 is no controller."""
    answered = {"cluster_id": "abc", "controller_id": 1, "brokers": [{}, {}]}

    assert (
        written_line("DescribeCluster", 0, {}, answered) == "cluster abc, 2 brokers, controller 1"
    )
    assert written_line("DescribeCluster", 0, None, {"controller_id": -1}) == "0 brokers"


def test_allocated_producer_ids_are_a_range() -> None:
    """A broker gets a thousand producer ids at once."""
    answered = {"producer_id_start": 5000, "producer_id_len": 1000}

    assert written_line("AllocateProducerIds", 0, {}, answered) == "1000 from 5000"
    assert written_line("AllocateProducerIds", 0, None, {"error_code": 77}) == ""


def test_a_fetched_snapshot_is_read_from_a_position() -> None:
    """Snapshots come in pieces."""
    topics = [{"name": "__cluster_metadata", "partitions": [{"position": 4096}]}]

    said = written_line("FetchSnapshot", 0, {"replica_id": 3, "topics": topics})

    assert said == "replica 3, __cluster_metadata[0 from byte 4096]"


def test_an_envelope_tells_what_it_forwards() -> None:
    """The request inside is read down to its client id."""
    inner = request_bytes(MetadataRequest(), 9, client_id="console")
    unnamed = request_bytes(MetadataRequest(), 9, client_id=None)

    assert written_line("Envelope", 0, {"request_data": inner}) == "forwards Metadata v9 of console"
    assert written_line("Envelope", 0, {"request_data": unnamed}) == "forwards Metadata v9"
    assert written_line("Envelope", 0, {"request_data": b"\0"}) == "a request that cannot be read"
