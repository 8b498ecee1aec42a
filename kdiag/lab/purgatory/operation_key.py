"""What delayed operations wait for: the keys under which a purgatory watches them.

A key is a value: the event that happens makes an equal one. Keys of different kinds are never
equal, though they may hold the same texts, because each has its kind's name in it.

Source: Kafka's `DelayedOperationKey`, `TopicPartitionOperationKey`, `GroupJoinKey`, `GroupSyncKey`,
`MemberKey`.
"""

from typing import Literal, NamedTuple


class TopicPartitionOperationKey(NamedTuple):
    """A partition: of a produce, a fetch, a deletion of records.

    Attributes:
        topic: its topic.
        partition: its number.
    """

    topic: str
    partition: int
    kind: Literal["partition"] = "partition"


class GroupJoinKey(NamedTuple):
    """A group that waits for members to join.

    Attributes:
        group_id: the group.
    """

    group_id: str
    kind: Literal["join"] = "join"


class GroupSyncKey(NamedTuple):
    """A group that waits for members to ask for their assignments.

    Attributes:
        group_id: the group.
    """

    group_id: str
    kind: Literal["sync"] = "sync"


class MemberRevocationKey(NamedTuple):
    """A member of a consumer group that is to give up partitions.

    Attributes:
        group_id: its group.
        member_id: its id.
    """

    group_id: str
    member_id: str
    kind: Literal["revocation"] = "revocation"


class MemberKey(NamedTuple):
    """A member from which a heartbeat is expected.

    Attributes:
        group_id: its group.
        member_id: its id.
    """

    group_id: str
    member_id: str
    kind: Literal["member"] = "member"
