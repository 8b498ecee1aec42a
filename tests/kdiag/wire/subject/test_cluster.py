import pytest

from exchange_maker import make_exchange, request_bytes
from kdiag.wire.api.allocate_producer_ids import (
    AllocateProducerIdsRequest,
    AllocateProducerIdsResponse,
)
from kdiag.wire.api.begin_quorum_epoch import BeginQuorumEpochRequest
from kdiag.wire.api.begin_quorum_epoch import PartitionData as BeginPartition
from kdiag.wire.api.begin_quorum_epoch import TopicData as BeginTopic
from kdiag.wire.api.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from kdiag.wire.api.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Listener,
)
from kdiag.wire.api.controller_registration import ControllerRegistrationRequest
from kdiag.wire.api.create_topics import CreateTopicsRequest
from kdiag.wire.api.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from kdiag.wire.api.envelope import EnvelopeRequest
from kdiag.wire.api.fetch_snapshot import FetchSnapshotRequest, PartitionSnapshot, TopicSnapshot
from kdiag.wire.api.vote import (
    PartitionData,
    ResponsePartitionData,
    ResponseTopicData,
    TopicData,
    VoteRequest,
    VoteResponse,
)
from kdiag.wire.dissection import Dissection
from kdiag.wire.schema import Struct
from kdiag.wire.subject.line import Subjects
from kdiag.wire.topic_names import TopicNames

LISTENER = Listener("PLAINTEXT", "b1", 9092)
VOTE = TopicData("__cluster_metadata", [PartitionData(0, 5, 2, pre_vote=True)])
REFUSED = ResponseTopicData("", [ResponsePartitionData(0, 0, -1, 5)])
GRANTED = ResponseTopicData("", [ResponsePartitionData(0, 0, 1, 5, vote_granted=True)])
BEGUN = BeginTopic("__cluster_metadata", [BeginPartition(0, leader_id=1, leader_epoch=5)])

CASES: list[tuple[Struct | None, Struct | None, int, str]] = [
    (
        BrokerHeartbeatRequest(1, 7, 99, want_shut_down=True),
        BrokerHeartbeatResponse(is_caught_up=True, is_fenced=False, should_shut_down=True),
        0,
        "broker 1 epoch 7, metadata offset 99, wants to shut down → caught up, should shut down",
    ),
    (
        BrokerHeartbeatRequest(1, 7, want_fence=True),
        BrokerHeartbeatResponse(error_code=77),
        0,
        "broker 1 epoch 7, metadata offset 0, wants to be fenced",
    ),
    (
        BrokerRegistrationRequest(1, listeners=[LISTENER]),
        BrokerRegistrationResponse(broker_epoch=7),
        0,
        "broker 1, PLAINTEXT://b1:9092 → epoch 7",
    ),
    (ControllerRegistrationRequest(3), None, 0, "controller 3"),
    (
        VoteRequest(topics=[VOTE]),
        VoteResponse(topics=[REFUSED]),
        2,
        "__cluster_metadata[0] pre-vote for 2 in epoch 5 → refused, no leader in epoch 5",
    ),
    (None, VoteResponse(topics=[GRANTED]), 2, "granted, leader 1 in epoch 5"),
    (
        BeginQuorumEpochRequest(topics=[BEGUN]),
        None,
        1,
        "__cluster_metadata[0] leader 1 in epoch 5",
    ),
    (
        DescribeClusterRequest(),
        DescribeClusterResponse(cluster_id="c1", controller_id=2),
        1,
        "cluster c1, 0 brokers, controller 2",
    ),
    (
        AllocateProducerIdsRequest(1),
        AllocateProducerIdsResponse(producer_id_start=5000, producer_id_len=1000),
        0,
        "1000 from 5000",
    ),
    (
        FetchSnapshotRequest(
            replica_id=2, topics=[TopicSnapshot("m", [PartitionSnapshot(0, position=64)])]
        ),
        None,
        0,
        "replica 2, m[0 from byte 64]",
    ),
    (
        EnvelopeRequest(request_bytes(CreateTopicsRequest(), 7, client_id="admin")),
        None,
        0,
        "forwards CreateTopics v7 of admin",
    ),
    (EnvelopeRequest(b"?"), None, 0, "a request that cannot be read"),
]


@pytest.mark.parametrize(("asked", "answered", "version", "said"), CASES)
def test_what_brokers_and_controllers_tell_each_other_can_be_read(
    asked: Struct | None, answered: Struct | None, version: int, said: str
) -> None:
    """Elections, registrations and heartbeats, in words."""
    exchange = make_exchange(asked, answered, version=version)
    assert Subjects(TopicNames()).of(Dissection(exchange)) == said
