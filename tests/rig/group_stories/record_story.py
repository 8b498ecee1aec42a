"""Groups told by what their coordinators write: a record after another, with real messages."""

from typing import Any, Final

from group_stories.story import GROUP, MS, S, Shares, client_of, share
from kdiag.diagnosis.rebalance.events import GroupRecord
from kdiag.diagnosis.rebalance.model import EvidencePlace
from kdiag.wire.codec.messages import encode
from kdiag.wire.internal.consumer_group_current_member_assignment import (
    ConsumerGroupCurrentMemberAssignmentValue,
)
from kdiag.wire.internal.consumer_group_member_metadata import ConsumerGroupMemberMetadataValue
from kdiag.wire.internal.consumer_group_metadata import ConsumerGroupMetadataValue
from kdiag.wire.internal.consumer_group_partition_metadata import (
    ConsumerGroupPartitionMetadataValue,
    TopicMetadata,
)
from kdiag.wire.internal.consumer_group_target_assignment_member import (
    ConsumerGroupTargetAssignmentMemberValue,
    TopicPartition,
)
from kdiag.wire.internal.consumer_group_target_assignment_metadata import (
    ConsumerGroupTargetAssignmentMetadataValue,
)
from kdiag.wire.internal.consumer_protocol_assignment import ConsumerProtocolAssignment
from kdiag.wire.internal.consumer_protocol_assignment import TopicPartition as Assigned
from kdiag.wire.internal.consumer_protocol_subscription import ConsumerProtocolSubscription
from kdiag.wire.internal.group_metadata import GroupMetadataValue, MemberMetadata
from kdiag.wire.record_catalog import COORDINATOR_RECORDS, message_class
from kdiag.wire.schema import info_of

TOPIC_ID: Final = bytes(15) + b"\x07"
PLACE: Final = "__consumer_offsets[3]"


class RecordStory:
    """Collects the records of one group; `wait` ends what is written in one moment.

    Attributes:
        records: so far.
    """

    def __init__(self, prefix: str = "Consumer") -> None:
        self.records: list[GroupRecord] = []
        self._prefix = prefix
        self._at_ns = S

    def wait(self) -> None:
        """Let a second pass."""
        self._at_ns += S

    def classic(
        self, generation: int, shares: Shares, *, protocol: str | None = "range", **changes: Any
    ) -> None:
        """The coordinator writes a classic group; changes are of all its members."""
        self.wait()
        members = [_classic_member(name, given, changes) for name, given in shares.items()]
        value = GroupMetadataValue(
            protocol_type="consumer", generation=generation, protocol=protocol, members=members
        )
        self._add("GroupMetadata", "", value)

    def removed(self) -> None:
        """The coordinator removes the classic group."""
        self._add("GroupMetadata", "", None)

    def member(self, name: str, *, topics: tuple[str, ...] = ("clicks",), **changes: Any) -> None:
        """A member comes, or wants something else."""
        facts: dict[str, Any] = {
            "instance_id": None,
            "client_id": client_of(name).client_id,
            "client_host": f"/{client_of(name).host}",
            "subscribed_topic_names": list(topics),
            "subscribed_topic_regex": None,
            "server_assignor": None,
        }
        self._add_own("MemberMetadata", name, ConsumerGroupMemberMetadataValue(**facts | changes))

    def gone(self, name: str) -> None:
        """A member is gone."""
        self._add_own("MemberMetadata", name, None)

    def epoch(self, epoch: int, metadata_hash: int = 1) -> None:
        """The group has a new epoch."""
        value = ConsumerGroupMetadataValue(epoch=epoch, metadata_hash=metadata_hash)
        self._add_own("Metadata", "", value)

    def ended(self) -> None:
        """The group is removed."""
        self._add_own("Metadata", "", None)

    def counts(self, topic: str, partition_count: int) -> None:
        """The coordinator writes how many partitions a topic has."""
        topics = [TopicMetadata(TOPIC_ID, topic, partition_count)]
        self._add_own("PartitionMetadata", "", ConsumerGroupPartitionMetadataValue(topics=topics))

    def target(self, epoch: int, **numbers: tuple[int, ...]) -> None:
        """The target assignment of an epoch: partitions of one topic by member."""
        for name, partitions in numbers.items():
            given = [TopicPartition(TOPIC_ID, list(partitions))]
            value = ConsumerGroupTargetAssignmentMemberValue(topic_partitions=given)
            self._add_own("TargetAssignmentMember", name, value)
        whole = ConsumerGroupTargetAssignmentMetadataValue(assignment_epoch=epoch)
        self._add_own("TargetAssignmentMetadata", "", whole)

    def takes_up(self, name: str, epoch: int) -> None:
        """A member has what the epoch gives it."""
        value = ConsumerGroupCurrentMemberAssignmentValue(member_epoch=epoch)
        self._add_own("CurrentMemberAssignment", name, value)

    def _add_own(self, name: str, member: str, value: Any) -> None:
        self._add(f"{self._prefix}Group{name}", member, value)

    def _add(self, name: str, member: str, value: Any) -> None:
        place = EvidencePlace("offset", PLACE, len(self.records))
        self.records.append(GroupRecord(self._at_ns, GROUP, place, name, member, value))


def topic_name(topic_id: str) -> str | None:
    """Return the name of the one topic that there is."""
    return "clicks" if topic_id.endswith("Bw") else None


def _classic_member(
    name: str, given: frozenset[tuple[str, int]], changes: dict[str, Any]
) -> MemberMetadata:
    topics = sorted({topic for topic, _ in given} | set(changes.get("topics", ["clicks"])))
    assigned = [
        Assigned(topic, sorted(number for each, number in given if each == topic))
        for topic in topics
    ]
    assignment = ConsumerProtocolAssignment(assigned_partitions=assigned, user_data=None)
    subscription = ConsumerProtocolSubscription(topics=topics, user_data=None)
    return MemberMetadata(
        member_id=name,
        group_instance_id=changes.get("instance_id"),
        client_id=changes.get("client_id", f"app-{name}"),
        client_host=f"/{changes.get('host', client_of(name).host)}",
        rebalance_timeout=300_000,
        session_timeout=10 * S // MS,
        subscription=b"\0\0" + encode(subscription, 0),
        assignment=b"\0\0" + encode(assignment, 0),
    )


def shared(*names: str, count: int = 4) -> Shares:
    """Return partitions of one topic, divided among members in turn."""
    return {name: share(*range(at, count, len(names))) for at, name in enumerate(names)}


def pair_of(record: GroupRecord) -> tuple[bytes, bytes | None]:
    """Return the key and the value of a record as a coordinator writes them."""
    types = COORDINATOR_RECORDS["__consumer_offsets"]
    (number,) = (number for number, name in types.items() if name == record.name)
    key: Any = message_class(f"{record.name}Key")()
    setattr(key, "group_id" if hasattr(key, "group_id") else "group", record.group)
    if record.member_id:
        key.member_id = record.member_id
    version = info_of(type(record.value)).versions.high if record.value is not None else 0
    value = record.value and version.to_bytes(2) + encode(record.value, version)
    return number.to_bytes(2) + encode(key, 0), value
