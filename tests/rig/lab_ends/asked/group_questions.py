"""Questions about groups, which a lab and Kafka are asked alike.

Members choose their own ids where the protocol lets them, as those of consumer groups do; what a
coordinator makes up is not compared. A group is called after what is asked of it.
"""

from collections.abc import Iterator, Mapping
from typing import Any, Final

from lab_ends.asked.questions import UNKNOWN_ID, Question
from lab_ends.one_coordinator import subscription

_RANGE: Final = {"name": "range", "metadata": subscription("orders")}
_TOPIC: Final = {"name": "orders", "topic_id": "orders"}
MEMBER: Final = "bWVtYmVyLW9uZS1vZi1vbg"
OTHER: Final = "bWVtYmVyLXR3by1vZi1vbg"


def group_questions() -> Iterator[Question]:
    """Yield them, in their order."""
    yield from _commits()
    yield from _fetched_offsets()
    yield from _joins()
    yield from _members()
    yield from _epochs()
    yield from _administration()
    joining: dict[str, Any] = {"rebalance_timeout_ms": 10_000, "topic_partitions": []}
    yield _beat("a classic group", "alone-3", subscribed_topic_names=["orders"], **joining)


def _commits() -> Iterator[Question]:
    for name, partition, changes in (
        ("an offset", {}, {}),
        ("an old offset", {"committed_offset": 0}, {}),
        ("a negative offset", {"committed_offset": -5}, {}),
        ("an unknown partition", {"partition_index": 9}, {}),
        ("a text too long", {"committed_metadata": "x" * 5000}, {}),
        ("no text", {"committed_metadata": None}, {}),
        ("a member unknown", {}, {"member_id": "who", "generation_id_or_member_epoch": 3}),
        ("a generation", {}, {"generation_id_or_member_epoch": 3}),
        ("no group", {}, {"group_id": ""}),
        ("an instance unknown", {}, {"group_instance_id": "i", "member_id": "m"}),
    ):
        asked: dict[str, Any] = {"partition_index": 0, "committed_offset": 7, **partition}
        body = {"group_id": "readers", "topics": [{**_TOPIC, "partitions": [asked]}], **changes}
        versions = "7-10" if "group_instance_id" in changes else ""
        yield Question("OffsetCommit", name, body, versions)
    partitions = [{"partition_index": 0, "committed_offset": 1}]
    nowhere = {"name": "nowhere", "topic_id": UNKNOWN_ID, "partitions": partitions}
    yield Question("OffsetCommit", "an unknown topic", {"group_id": "readers", "topics": [nowhere]})
    yield Question("OffsetCommit", "nothing", {"group_id": "readers", "topics": []})
    yield Question("OffsetDelete", "an unknown group", _deleted("nobody"))
    yield Question("OffsetDelete", "an offset", _deleted("readers", 0))
    yield Question("OffsetDelete", "an unknown partition", _deleted("readers", 9))
    yield Question("OffsetDelete", "no group", _deleted(""))


def _deleted(group: str, partition: int = 0) -> Mapping[str, Any]:
    partitions = [{"partition_index": partition}]
    return {"group_id": group, "topics": [{"name": "orders", "partitions": partitions}]}


def _fetched_offsets() -> Iterator[Question]:
    for name, group, changes in (
        ("of a group", "readers", {}),
        ("of an unknown group", "nobody", {}),
        ("of no group", "", {}),
        ("of an unknown member", "readers", {"member_id": "who", "member_epoch": 3}),
    ):
        partitions = {"partition_indexes": [0, 1, 9]}
        asked = {"group_id": group, "topics": [{**_TOPIC, **partitions}], **changes}
        named = [{"name": "orders", **partitions}]
        body = {"group_id": group, "topics": named, "groups": [asked]}
        yield Question("OffsetFetch", name, body)
        yield Question("OffsetFetch", f"{name}, stable", {**body, "require_stable": True}, "7-10")
    topic = {"name": "nowhere", "partition_indexes": [0]}
    groups = [{"group_id": "readers", "topics": [{**topic, "topic_id": UNKNOWN_ID}]}]
    body = {"group_id": "readers", "topics": [topic], "groups": groups}
    yield Question("OffsetFetch", "of an unknown topic", body)
    every = {"group_id": "readers", "topics": None}
    yield Question("OffsetFetch", "all", {**every, "groups": [every]}, "2-10")
    two = [every, {"group_id": "nobody", "topics": None}]
    yield Question("OffsetFetch", "of two groups", {"groups": two}, "8-10")


def _join(group: str, name: str, versions: str = "", **changes: Any) -> Question:
    body = {
        "group_id": group,
        "session_timeout_ms": 10_000,
        "rebalance_timeout_ms": 10_000,
        "protocol_type": "consumer",
        "protocols": [_RANGE],
        **changes,
    }
    return Question("JoinGroup", name, body, versions)


def _joins() -> Iterator[Question]:
    yield _join("", "no group")
    yield _join("joined", "an unknown member", member_id="who")
    yield _join("joined", "a session too short", session_timeout_ms=5)
    yield _join("joined", "a session too long", session_timeout_ms=1 << 30)
    yield _join("joined", "no protocol", protocols=[])
    yield _join("joined", "no type", protocol_type="")
    yield _join("joined", "no id yet", "4-9")
    yield _join("joined", "an unknown instance", "5-9", member_id="who", group_instance_id="one")
    for version in range(4):
        yield _join(f"alone-{version}", f"alone {version}", str(version))
    for version in range(5, 10):
        changes = {"group_instance_id": "one"}
        yield _join(f"static-{version}", f"as an instance {version}", str(version), **changes)
    other = [{"name": "sticky", "metadata": b""}]
    yield _join("alone-0", "another type", protocol_type="connect")
    yield _join("alone-0", "another protocol", protocols=other)
    yield _join("static-5", "another type of an instance", "5", protocol_type="connect")


def _members() -> Iterator[Question]:
    """Ask as members that there are not, and about those that there are."""
    body: dict[str, Any]
    for api, named in (
        ("SyncGroup", {"protocol_type": "consumer", "protocol_name": "range"}),
        ("Heartbeat", {}),
    ):
        for name, group, member, changes in (
            ("an unknown group", "nobody", "who", {}),
            ("no group", "", "who", {}),
            ("an unknown member", "alone-0", "who", {}),
            ("no member", "alone-0", "", {}),
            ("a wrong generation", "alone-0", "who", {"generation_id": 9}),
        ):
            asked: dict[str, Any] = {
                "group_id": group,
                "member_id": member,
                "generation_id": 1,
                **named,
                **changes,
            }
            yield Question(api, name, asked)
        asked = {"group_id": "static-5", "member_id": "who", "generation_id": 1, **named}
        asked |= {"group_instance_id": "one"}
        yield Question(api, "a fenced instance", asked, "3-5")
    for name, group, identity in (
        ("an unknown group", "nobody", {"member_id": "who"}),
        ("no group", "", {"member_id": "who"}),
        ("an unknown member", "alone-0", {"member_id": "who"}),
        ("a fenced instance", "static-5", {"member_id": "who", "group_instance_id": "one"}),
        ("an unknown instance", "static-5", {"member_id": "", "group_instance_id": "two"}),
    ):
        body = {"group_id": group, "member_id": identity["member_id"], "members": [identity]}
        versions = "3-5" if "instance" in name else ""
        yield Question("LeaveGroup", name, body, versions)
    yield Question("LeaveGroup", "nobody", {"group_id": "alone-0", "members": []}, "3-5")
    yield Question("DescribeGroups", "one of a member", {"groups": ["static-5"]})
    removed = {"member_id": "", "group_instance_id": "one"}
    body = {"group_id": "static-5", "members": [removed]}
    yield Question("LeaveGroup", "an instance", body, "3")


def _beat(name: str, group: str = "epochs", **changes: Any) -> Question:
    body = {"group_id": group, "member_id": MEMBER, "member_epoch": 0, **changes}
    return Question("ConsumerGroupHeartbeat", name, body, "1")


def _epochs() -> Iterator[Question]:
    """Take a member of a consumer group through its life."""
    joining: dict[str, Any] = {
        "rebalance_timeout_ms": 10_000,
        "subscribed_topic_names": ["orders"],
        "topic_partitions": [],
    }
    yield _beat("no group", "", **joining)
    yield _beat("no member", member_id="", **joining)
    yield _beat("nothing")
    yield _beat("no timeout", **{**joining, "rebalance_timeout_ms": -1})
    yield _beat("no topics", **{**joining, "subscribed_topic_names": None})
    yield _beat("an assignor unknown", **joining, server_assignor="mine")
    yield _beat("an expression that is none", **joining, subscribed_topic_regex="(")
    yield _beat("an unknown member", member_epoch=5)
    yield _beat("owning at once", **{**joining, "topic_partitions": [_owned(0)]})
    yield _beat("an instance without a name", **joining, instance_id="")
    yield _beat("an unknown group leaves", "nobody", member_epoch=-1)
    yield _beat("joining", **joining)
    yield _beat("joining again", **joining)
    yield _beat("staying", member_epoch=1, topic_partitions=[_owned(0, 1)])
    yield _beat("of a later epoch", member_epoch=9)
    yield _beat("an older epoch", member_epoch=0, subscribed_topic_names=["orders"])
    yield _beat("another subscribes", member_id=OTHER, **joining)
    yield _beat("giving back", member_epoch=1, topic_partitions=[_owned(0, 1)])
    yield Question("ConsumerGroupDescribe", "two members", {"group_ids": ["epochs"]})
    yield Question("ConsumerGroupDescribe", "a classic one", {"group_ids": ["alone-0", "readers"]})
    yield Question("ConsumerGroupDescribe", "an unknown one", {"group_ids": ["nobody", ""]})
    operations = {"group_ids": ["epochs"], "include_authorized_operations": True}
    yield Question("ConsumerGroupDescribe", "operations", operations)
    yield Question("DescribeGroups", "a consumer group", {"groups": ["epochs"]})
    yield _join("epochs", "a consumer group", "9", member_id="who", protocol_type="connect")
    yield Question("DeleteGroups", "with members", {"groups_names": ["epochs"]})
    yield _beat("another leaves", member_id=OTHER, member_epoch=-1)
    yield _beat("leaving", member_epoch=-1)
    yield _beat("leaving again", member_epoch=-1)
    yield Question("DeleteGroups", "empty", {"groups_names": ["epochs"]}, "2")


def _owned(*partitions: int) -> dict[str, Any]:
    return {"topic_id": "orders", "partitions": [*partitions]}


def _administration() -> Iterator[Question]:
    yield Question("DescribeGroups", "one of offsets", {"groups": ["readers"]})
    yield Question("DescribeGroups", "an unknown one", {"groups": ["nobody"]})
    yield Question("DescribeGroups", "no name", {"groups": [""]})
    yield Question("DescribeGroups", "nothing", {"groups": []})
    operations = {"groups": ["readers"], "include_authorized_operations": True}
    yield Question("DescribeGroups", "operations", operations, "3-6")
    yield Question("ListGroups", "states", {"states_filter": ["Empty"]}, "4-5")
    yield Question("ListGroups", "an unknown state", {"states_filter": ["Sleepy"]}, "4-5")
    yield Question("ListGroups", "an unknown type", {"types_filter": ["odd"]}, "5")
    yield Question("ListGroups", "a type", {"types_filter": ["consumer"]}, "5")
    yield Question("DeleteGroups", "an unknown one", {"groups_names": ["nobody"]})
    yield Question("DeleteGroups", "no name", {"groups_names": [""]})
    yield Question("DeleteGroups", "nothing", {"groups_names": []})
    yield Question("DeleteGroups", "one of offsets", {"groups_names": ["readers"]}, "2")
    yield Question("DeleteGroups", "one twice", {"groups_names": ["readers", "readers"]}, "2")
