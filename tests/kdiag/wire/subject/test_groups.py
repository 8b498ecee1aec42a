from exchange_maker import make_exchange
from kdiag.wire.api.consumer_group_heartbeat import (
    Assignment,
    ConsumerGroupHeartbeatRequest,
    ConsumerGroupHeartbeatResponse,
    TopicPartitions,
)
from kdiag.wire.api.describe_groups import (
    DescribedGroup,
    DescribedGroupMember,
    DescribeGroupsRequest,
    DescribeGroupsResponse,
)
from kdiag.wire.api.find_coordinator import (
    Coordinator,
    FindCoordinatorRequest,
    FindCoordinatorResponse,
)
from kdiag.wire.api.heartbeat import HeartbeatRequest
from kdiag.wire.api.join_group import (
    JoinGroupRequest,
    JoinGroupRequestProtocol,
    JoinGroupResponse,
    JoinGroupResponseMember,
)
from kdiag.wire.api.leave_group import LeaveGroupRequest, MemberIdentity
from kdiag.wire.api.list_groups import ListedGroup, ListGroupsRequest, ListGroupsResponse
from kdiag.wire.api.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from kdiag.wire.api.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from kdiag.wire.api.streams_group_heartbeat import StreamsGroupHeartbeatResponse, TaskIds
from kdiag.wire.api.sync_group import (
    SyncGroupRequest,
    SyncGroupRequestAssignment,
    SyncGroupResponse,
)
from kdiag.wire.codec import encode
from kdiag.wire.dissection import Dissection
from kdiag.wire.internal.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from kdiag.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from kdiag.wire.schema import Struct
from kdiag.wire.subject.line import Subjects
from kdiag.wire.topic_names import TopicNames

ID = bytes(15) + b"\x09"
WANTS = b"\x00\x00" + encode(ConsumerProtocolSubscription(topics=["orders"]), 0)


def gets(*partitions: int) -> bytes:
    """Return an assignment of partitions of `orders`."""
    assigned = [TopicPartition("orders", list(partitions))]
    return b"\x00\x00" + encode(ConsumerProtocolAssignment(assigned_partitions=assigned), 0)


def about(asked: Struct | None, answered: Struct | None = None, *, version: int) -> str:
    """Return what an exchange of two messages is about."""
    exchange = make_exchange(asked, answered, version=version)
    return Subjects(TopicNames({"AAAAAAAAAAAAAAAAAAAACQ": "orders"})).of(Dissection(exchange))


def test_a_coordinator_is_told_by_node_and_address() -> None:
    """From version 4 on there may be several keys, on the same node or others."""
    asked = FindCoordinatorRequest(key="pay", key_type=1)
    answered = FindCoordinatorResponse(node_id=3, host="b3", port=9092)
    assert about(asked, answered, version=1) == "transaction pay → node 3 b3:9092"
    many = FindCoordinatorRequest(coordinator_keys=["a", "b"])
    found = [Coordinator(node_id=1, host="b1", port=1), Coordinator(node_id=1, host="b1", port=1)]
    answered = FindCoordinatorResponse(coordinators=[*found, Coordinator(node_id=-1)])
    assert about(many, answered, version=4) == "group a b → node 1 b1:1"


def test_joining_tells_what_is_wanted_and_who_leads() -> None:
    """A new member has no id yet; a static one has an instance id, a reason may be given."""
    asked = JoinGroupRequest(
        group_id="g",
        group_instance_id="i1",
        protocol_type="consumer",
        protocols=[JoinGroupRequestProtocol("range", WANTS)],
        reason="rejoin",
    )
    answered = JoinGroupResponse(
        generation_id=4,
        protocol_name="range",
        leader="m",
        member_id="m",
        members=[JoinGroupResponseMember("m")],
    )
    said = 'group g, orders, range, "rejoin", instance i1 → gen 4, leads 1 member, range'
    assert about(asked, answered, version=8) == said
    answered.leader = "other"
    assert about(None, answered, version=8) == "gen 4, follows, range"
    refused = JoinGroupResponse(error_code=79, member_id="m-1")
    assert (
        about(JoinGroupRequest(group_id="g"), refused, version=5)
        == "group g, new member → member m-1"
    )


def test_syncing_tells_who_gets_what() -> None:
    """The leader hands in all shares, everybody gets their own."""
    shares = [
        SyncGroupRequestAssignment("a", gets(0, 1)),
        SyncGroupRequestAssignment("b", b""),
        SyncGroupRequestAssignment("c", b"???"),
    ]
    asked = SyncGroupRequest(group_id="g", generation_id=4, member_id="a", assignments=shares)
    line = about(asked, SyncGroupResponse(assignment=gets(0, 1)), version=3)
    assert line == "group g gen 4, assigns orders[0,1] / nothing / 3 bytes, member a → orders[0,1]"
    failed = SyncGroupResponse(error_code=27)
    follower = SyncGroupRequest(group_id="g", generation_id=4)
    assert about(follower, failed, version=3) == "group g gen 4"


def test_members_are_told_in_heartbeats_and_when_they_leave() -> None:
    """From version 3 on several members may leave at once, each with a reason."""
    beat = HeartbeatRequest(group_id="g", generation_id=4, member_id="m", group_instance_id="i")
    assert about(beat, version=3) == "group g gen 4, instance i, member m"
    assert about(LeaveGroupRequest(group_id="g", member_id="m"), version=0) == "group g, member m"
    members = [MemberIdentity("a", reason="closed"), MemberIdentity("b", reason="closed")]
    leave = LeaveGroupRequest(group_id="g", members=members)
    assert about(leave, version=5) == 'group g, member a member b, "closed"'


def test_offsets_are_told_with_their_partitions() -> None:
    """None is told as such; null topics mean all."""
    partitions = [OffsetCommitRequestPartition(0, 44), OffsetCommitRequestPartition(1, 7)]
    commit = OffsetCommitRequest(
        group_id="g",
        generation_id_or_member_epoch=4,
        topics=[OffsetCommitRequestTopic(topic_id=ID, partitions=partitions)],
    )
    assert about(commit, version=10) == "group g gen 4, orders[0@44,1@7]"
    asked = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic("t", [0, 1])])
    found = [OffsetFetchResponsePartition(0, 44), OffsetFetchResponsePartition(1, -1)]
    answered = OffsetFetchResponse(topics=[OffsetFetchResponseTopic("t", found)])
    assert about(asked, answered, version=3) == "group g t[0,1] → t[0@44,1@none]"
    groups = [OffsetFetchRequestGroup("a", topics=None), OffsetFetchRequestGroup("b", topics=None)]
    everything = OffsetFetchRequest(groups=groups)
    line = about(everything, OffsetFetchResponse(), version=8)
    assert line == "group a all offsets, group b all offsets → no offsets"


def test_groups_are_described_by_state_and_size() -> None:
    """A list of groups is counted."""
    answered = DescribeGroupsResponse(
        groups=[DescribedGroup(group_state="Stable", members=[DescribedGroupMember()])]
    )
    asked = DescribeGroupsRequest(groups=["g"])
    assert about(asked, answered, version=3) == "group g → Stable 1 member"
    listed = ListGroupsResponse(groups=[ListedGroup(), ListedGroup()])
    assert about(ListGroupsRequest(), listed, version=3) == "2 groups"


def test_the_new_protocol_tells_epochs_and_what_changes_hands() -> None:
    """Epoch 0 joins, -1 leaves; the response gives partitions only when they change."""
    joins = ConsumerGroupHeartbeatRequest(
        group_id="g", member_id="m", member_epoch=0, subscribed_topic_names=["orders"]
    )
    assigned = Assignment([TopicPartitions(ID, [0, 1])])
    answered = ConsumerGroupHeartbeatResponse(member_epoch=3, assignment=assigned)
    line = about(joins, answered, version=0)
    assert line == "group g joins, wants orders, member m → epoch 3, gets orders[0,1]"
    beats = ConsumerGroupHeartbeatRequest(
        group_id="g", member_epoch=3, topic_partitions=[TopicPartitions(ID, [0])]
    )
    answered = ConsumerGroupHeartbeatResponse(member_epoch=3, assignment=Assignment())
    line = about(beats, answered, version=0)
    assert line == "group g epoch 3, owns orders[0] → epoch 3, gets nothing"
    leaves = ConsumerGroupHeartbeatRequest(group_id="g", member_epoch=-1)
    failed = ConsumerGroupHeartbeatResponse(error_code=110)
    assert about(leaves, failed, version=0) == "group g leaves"


def test_streams_groups_tell_their_tasks() -> None:
    """By kind and subtopology."""
    answered = StreamsGroupHeartbeatResponse(
        member_epoch=2, active_tasks=[TaskIds("0", [0, 1])], standby_tasks=[TaskIds("1", [2])]
    )
    assert about(None, answered, version=0) == "epoch 2, active 0[0,1] standby 1[2]"
