import pytest

from kdiag.wire.codec.messages import encode
from kdiag.wire.internal.consumer_protocol_assignment import (
    ConsumerProtocolAssignment,
    TopicPartition,
)
from kdiag.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from kdiag.wire.primitives import uuid_text
from made_values.exchange_line import Values, written_line
from tiers.cases import for_each

ORDERS_ID = bytes(range(16))
NAMES = {uuid_text(ORDERS_ID): "orders"}
MEMBER = "reader-9d8b5a8d-1111-2222-3333-444455556666"


def subscription(*topics: str) -> bytes:
    """Return what a consumer puts into JoinGroup."""
    return b"\0\1" + encode(ConsumerProtocolSubscription(topics=list(topics)), 1)


def assignment(*topics: tuple[str, list[int]]) -> bytes:
    """Return what a leader puts into SyncGroup."""
    partitions = [TopicPartition(topic=topic, partitions=each) for topic, each in topics]
    return b"\0\1" + encode(ConsumerProtocolAssignment(assigned_partitions=partitions), 1)


@for_each(
    ("version", "asked", "text"),
    [
        (1, {"key": "billing"}, "group billing"),
        (1, {"key": "pay-1", "key_type": 1}, "transaction pay-1"),
        (4, {"key_type": 0, "coordinator_keys": ["a", "b"]}, "group a b"),
        (6, {"key_type": 2, "coordinator_keys": ["g:id:0"]}, "share g:id:0"),
        (4, {"key_type": 9, "coordinator_keys": ["x"]}, "9 x"),
    ],
)
def test_a_find_coordinator_tells_of_what(version: int, asked: Values, text: str) -> None:
    """Groups, transactions and share partitions have coordinators."""
    assert text == written_line("FindCoordinator", version, asked)


def test_the_answer_to_find_coordinator_tells_each_node_once() -> None:
    """Old versions answer for one key, new ones for many; a node of -1 is none."""
    one = {"node_id": 1, "host": "b1", "port": 9092}
    answered = {"coordinators": [one | {"key": "a"}, one | {"key": "b"}, {"node_id": -1}]}

    assert written_line("FindCoordinator", 1, None, one) == "node 1 b1:9092"
    assert written_line("FindCoordinator", 4, None, answered) == "node 1 b1:9092"
    assert written_line("FindCoordinator", 1, None, {"node_id": -1, "error_code": 15}) == ""


def test_a_join_tells_group_topics_assignors_reason_and_member() -> None:
    """The subscription inside each protocol is read, and told once if all are the same."""
    protocols = [
        {"name": name, "metadata": subscription("orders", "audit")} for name in ("range", "sticky")
    ]
    asked = {"group_id": "g", "protocols": protocols, "member_id": MEMBER, "reason": "restart"}

    said = written_line("JoinGroup", 9, asked)

    assert said == 'group g, orders audit, range/sticky, "restart", member reader-9d8b5a8d…'


def test_a_first_join_is_that_of_a_new_member() -> None:
    """A static member has its instance id from the start; foreign metadata is left alone."""
    connect = [{"name": "sessioned", "metadata": b"\0\1connect"}]
    static = {"group_id": "g", "group_instance_id": "i-1"}

    assert written_line("JoinGroup", 5, {"group_id": "g", "protocols": connect}) == (
        "group g, sessioned, new member"
    )
    assert written_line("JoinGroup", 5, static) == "group g, instance i-1"


def test_the_answer_to_a_join_tells_generation_and_role() -> None:
    """The leader gets the members; whom the broker only gives an id learns that."""
    leader = {
        "generation_id": 4,
        "leader": "a",
        "member_id": "a",
        "protocol_name": "range",
        "members": [{"member_id": "a"}, {"member_id": "b"}],
    }
    required = {"error_code": 79, "generation_id": -1, "member_id": MEMBER}

    assert written_line("JoinGroup", 5, None, leader) == "gen 4, leads 2 members, range"
    follower = leader | {"member_id": "b", "members": []}
    assert written_line("JoinGroup", 5, None, follower) == "gen 4, follows, range"
    assert written_line("JoinGroup", 5, None, required) == "member reader-9d8b5a8d…"


def test_a_sync_tells_what_is_assigned() -> None:
    """The leader assigns a share to each member; the others only ask for theirs."""
    shares = [
        {"member_id": "a", "assignment": assignment(("orders", [0, 1]))},
        {"member_id": "b", "assignment": assignment()},
    ]
    asked = {"group_id": "g", "generation_id": 4, "member_id": "a"}
    answered = {"assignment": assignment(("orders", [0, 1]), ("audit", [2]))}

    led = written_line("SyncGroup", 3, asked | {"assignments": shares}, answered)
    assert led == "group g gen 4, assigns orders[0,1] / nothing, member a → orders[0,1] audit[2]"
    assert written_line("SyncGroup", 3, asked) == "group g gen 4, member a"


@pytest.mark.parametrize(
    ("answered", "text"),
    [
        ({"assignment": b""}, "nothing"),
        ({"assignment": b"foreign!"}, "8 bytes"),
        ({"error_code": 27}, ""),
    ],
)
def test_an_assignment_may_be_empty_or_foreign(answered: Values, text: str) -> None:
    """What is not the consumer protocol is told by its size, an error by its name elsewhere."""
    assert text == written_line("SyncGroup", 3, None, answered)


def test_a_heartbeat_tells_generation_and_member() -> None:
    """A static member is known by its instance id as well."""
    asked = {"group_id": "g", "generation_id": 4, "member_id": MEMBER, "group_instance_id": "i-1"}

    said = written_line("Heartbeat", 3, asked, {"error_code": 27})

    assert said == "group g gen 4, instance i-1, member reader-9d8b5a8d…"


def test_a_leave_tells_who_and_why() -> None:
    """The same reason of several members is told once."""
    members = [{"member_id": each, "reason": "closing"} for each in ("a", "b")]

    assert written_line("LeaveGroup", 5, {"group_id": "g", "members": members}) == (
        'group g, member a member b, "closing"'
    )
    assert written_line("LeaveGroup", 1, {"group_id": "g", "member_id": "a"}) == "group g, member a"


def test_a_commit_tells_offsets_and_generation() -> None:
    """A commit from outside of the group has no generation; one in a transaction tells that."""
    partitions = [{"partition_index": 0, "committed_offset": 17}]
    topics = [{"name": "orders", "partitions": partitions}]
    asked = {"group_id": "g", "generation_id_or_member_epoch": 4, "topics": topics}

    assert written_line("OffsetCommit", 8, asked) == "group g gen 4, orders[0@17]"
    assert (
        written_line("OffsetCommit", 8, {"group_id": "g", "topics": topics})
        == "group g, orders[0@17]"
    )
    transactional = {"transactional_id": "pay-1", "group_id": "g", "topics": topics}
    assert written_line("TxnOffsetCommit", 3, transactional) == (
        "group g, orders[0@17], transaction pay-1"
    )


def test_a_commit_by_topic_id_tells_the_name() -> None:
    """Since version 10 a commit carries topic ids."""
    topics = [{"topic_id": ORDERS_ID, "partitions": [{"committed_offset": 3}]}]

    said = written_line("OffsetCommit", 10, {"group_id": "g", "topics": topics}, names=NAMES)

    assert said == "group g, orders[0@3]"


def test_an_offset_fetch_tells_what_is_committed() -> None:
    """Old versions ask for one group, new ones for several; -1 is no offset."""
    old = {"group_id": "g", "topics": [{"name": "orders", "partition_indexes": [0, 1]}]}
    partitions = [{"committed_offset": 5}, {"partition_index": 1, "committed_offset": -1}]
    found = {"topics": [{"name": "orders", "partitions": partitions}]}

    assert written_line("OffsetFetch", 7, old, found) == "group g orders[0,1] → orders[0@5,1@none]"
    groups = [{"group_id": "a", "topics": None}, {"group_id": "b", "topics": []}]
    answered = {"groups": [{"group_id": "a"} | found, {"group_id": "b"}]}
    assert written_line("OffsetFetch", 8, {"groups": groups}, answered) == (
        "group a all offsets, group b → orders[0@5,1@none]"
    )


def test_an_offset_fetch_without_offsets_says_so_unless_it_is_an_error() -> None:
    """A new group has committed nothing."""
    assert written_line("OffsetFetch", 7, None, {"topics": []}) == "no offsets"
    assert written_line("OffsetFetch", 7, None, {"error_code": 16}) == ""


def test_deleting_offsets_tells_group_and_partitions() -> None:
    """Offsets of share groups go by the topic, without partitions."""
    partitions = [{"name": "orders", "partitions": [{"partition_index": 3}]}]
    asked = {"group_id": "g", "topics": partitions}
    share = {"group_id": "s", "topics": [{"topic_name": "orders"}]}

    assert written_line("OffsetDelete", 0, asked) == "group g, orders[3]"
    assert written_line("DeleteShareGroupOffsets", 0, share) == "group s, orders"


def test_described_groups_have_a_state_and_members() -> None:
    """All four kinds of groups are told alike; a group without a state is an error."""
    groups = [{"group_state": "Stable", "members": [{}]}, {"error_code": 69}]

    assert written_line("DescribeGroups", 5, {"groups": ["a", "b"]}, {"groups": groups}) == (
        "group a group b → Stable 1 member"
    )
    empty = {"groups": [{"group_state": "Empty"}]}
    for api in ("ConsumerGroupDescribe", "ShareGroupDescribe"):
        assert written_line(api, 1, {"group_ids": ["a"]}, empty) == "group a → Empty 0 members"


def test_listed_and_deleted_groups_are_told() -> None:
    """A list is told by its length, a deletion by its names."""
    assert written_line("ListGroups", 4, {}, {"groups": [{}, {}]}) == "2 groups"
    assert written_line("DeleteGroups", 2, {"groups_names": ["a", "b"]}, {}) == "group a group b"


@for_each(("epoch", "text"), [(0, "joins"), (-1, "leaves"), (-2, "leaves for now"), (7, "epoch 7")])
def test_a_heartbeat_of_a_new_group_tells_what_its_epoch_means(epoch: int, text: str) -> None:
    """Zero and below are verbs (KIP-848)."""
    asked = {"group_id": "g", "member_id": "AbCdEfGhIjKlMnOpQrStUv", "member_epoch": epoch}

    assert written_line("ConsumerGroupHeartbeat", 1, asked) == f"group g {text}, member AbCdEfGh…"


def test_a_heartbeat_of_a_new_group_tells_wishes_and_assignment() -> None:
    """What a member wants, owns and gets is in the heartbeats themselves."""
    owned = [{"topic_id": ORDERS_ID, "partitions": [0, 2]}]
    asked = {
        "group_id": "g",
        "member_epoch": 3,
        "instance_id": "i-1",
        "subscribed_topic_names": ["orders", "audit"],
        "topic_partitions": owned,
    }
    answered = {"member_epoch": 4, "assignment": {"topic_partitions": owned}}

    assert written_line("ConsumerGroupHeartbeat", 1, asked, answered, names=NAMES) == (
        "group g epoch 3, wants orders audit, owns orders[0,2], instance i-1"
        " → epoch 4, gets orders[0,2]"
    )
    empty: Values = {"member_epoch": 4, "assignment": {"topic_partitions": []}}
    assert written_line("ShareGroupHeartbeat", 1, None, empty) == "epoch 4, gets nothing"
    assert written_line("ConsumerGroupHeartbeat", 1, None, {"error_code": 113}) == ""


def test_a_streams_group_tells_its_tasks() -> None:
    """Active, standby and warm-up tasks are told by subtopology and partition."""
    tasks = {
        "active_tasks": [{"subtopology_id": "0", "partitions": [0, 1]}],
        "standby_tasks": [{"subtopology_id": "1", "partitions": [2]}],
        "warmup_tasks": [],
    }
    asked = {"group_id": "words", "member_id": "m", "member_epoch": 2} | tasks

    assert written_line("StreamsGroupHeartbeat", 0, asked, {"member_epoch": 2} | tasks) == (
        "group words epoch 2, active 0[0,1] standby 1[2], member m"
        " → epoch 2, active 0[0,1] standby 1[2]"
    )
