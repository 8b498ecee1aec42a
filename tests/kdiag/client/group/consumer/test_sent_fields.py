"""Intents of ConsumerHeartbeatRequestManagerTest about what a heartbeat says.

testValidateConsumerGroupHeartbeatRequest, ...AssignmentSentWhenLocalEpochChanges,
testFirstHeartbeatIncludesRequiredInfoToJoinGroupAndGetAssignments, testHeartbeatState.
"""

from typing import Any

import pytest

from kdiag.client.group.consumer.local_assignment import NO_ASSIGNMENT, LocalAssignment
from kdiag.client.group.consumer.sent_fields import HeartbeatFields, SentFields
from kdiag.client.group.member import MemberSettings
from kdiag.clock import NS_PER_S
from kdiag.wire.api.consumer_group_heartbeat import ConsumerGroupHeartbeatRequest, TopicPartitions

A = b"a" * 16
SETTINGS = MemberSettings("billing", "till-1", max_poll_interval_ns=7 * NS_PER_S, rack="b")
JOINING = HeartbeatFields("m", 0, ["bills", "orders"], None, "range", NO_ASSIGNMENT, True)  # noqa: FBT003 - as it is read
OWNING = LocalAssignment(0, frozenset({(A, 1), (A, 0)}))
STABLE = JOINING._replace(member_epoch=3, assignment=OWNING, is_joining=False)


def said(sent: SentFields, fields: HeartbeatFields, version: int = 1) -> dict[str, Any]:
    """Return what the next heartbeat says, without what it says always."""
    message = sent.next(fields).build(version)
    assert isinstance(message, ConsumerGroupHeartbeatRequest)
    assert (message.group_id, message.member_id, message.instance_id) == ("billing", "m", "till-1")
    assert message.member_epoch == fields.member_epoch
    names = (
        "rebalance_timeout_ms",
        "rack_id",
        "subscribed_topic_names",
        "subscribed_topic_regex",
        "server_assignor",
        "topic_partitions",
    )
    values = {name: getattr(message, name) for name in names}
    return {name: each for name, each in values.items() if each not in (None, -1)}


ALL = {
    "rebalance_timeout_ms": 7000,
    "rack_id": "b",
    "subscribed_topic_names": ["bills", "orders"],
    "server_assignor": "range",
}


def test_the_first_heartbeat_says_everything() -> None:
    """It owns nothing, whatever it did before."""
    sent = SentFields(SETTINGS)
    assert said(sent, JOINING) == {**ALL, "topic_partitions": []}
    assert said(sent, JOINING._replace(assignment=OWNING)) == {**ALL, "topic_partitions": []}


def test_the_others_say_what_is_new() -> None:
    """An assignment that is the same counts as new if its local epoch is."""
    sent = SentFields(SETTINGS)
    said(sent, JOINING)
    partitions = [TopicPartitions(A, [0, 1])]
    assert said(sent, STABLE) == {"topic_partitions": partitions}
    assert said(sent, STABLE) == {}
    again = STABLE._replace(assignment=OWNING._replace(epoch=2))
    assert said(sent, again) == {"topic_partitions": partitions}
    assert said(sent, again._replace(names=["x"])) == {"subscribed_topic_names": ["x"]}
    assert said(sent, again._replace(names=["x"], assignor="uniform")) == {
        "server_assignor": "uniform"
    }


def test_after_an_error_everything_is_said_again() -> None:
    """With what the member owns."""
    sent = SentFields(SETTINGS)
    said(sent, STABLE)
    sent.reset()
    assert said(sent, STABLE) == {**ALL, "topic_partitions": [TopicPartitions(A, [0, 1])]}


@pytest.mark.parametrize(
    ("version", "first"),
    [
        (1, {"subscribed_topic_names": [], "subscribed_topic_regex": "b.*"}),
        (0, {"subscribed_topic_names": ["bills"]}),
    ],
)
def test_a_pattern_is_for_brokers_that_match_it(version: int, first: dict[str, Any]) -> None:
    """Others are told the names that match, whenever these change."""
    sent = SentFields(SETTINGS)
    fields = STABLE._replace(names=["bills"], pattern="b.*")
    asked = said(sent, fields, version)
    assert {name: each for name, each in asked.items() if "subscribed" in name} == first
    assert said(sent, fields, version) == {}
    more = said(sent, fields._replace(names=["bills", "bonds"]), version)
    assert more == ({} if version else {"subscribed_topic_names": ["bills", "bonds"]})


def test_a_list_instead_of_a_pattern_ends_the_pattern() -> None:
    """An empty one does."""
    sent = SentFields(SETTINGS)
    said(sent, STABLE._replace(pattern="b.*"))
    assert said(sent, STABLE._replace(names=["x"])) == {
        "subscribed_topic_names": ["x"],
        "subscribed_topic_regex": "",
    }


def test_the_last_heartbeat_says_only_that() -> None:
    """The next one, if there is another, says everything."""
    sent = SentFields(SETTINGS)
    said(sent, STABLE)
    message = sent.leave(STABLE._replace(member_epoch=-2)).build(1)
    assert message == ConsumerGroupHeartbeatRequest("billing", "m", -2, "till-1")
    assert said(sent, JOINING) == {**ALL, "topic_partitions": []}
