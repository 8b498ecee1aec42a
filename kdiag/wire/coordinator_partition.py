"""The partition of an internal topic that keeps a group, a transaction or a share partition.

Its leader is the coordinator, so the number tells where to look if there is none.

Source: Kafka's `GroupMetadataManager.partitionFor`, `TransactionStateManager.partitionFor`,
`ShareCoordinatorService.partitionFor`; `String.hashCode` of Java.
"""

from enum import StrEnum
from typing import Final

_INT32_MIN: Final = -(1 << 31)
_UINT32: Final = (1 << 32) - 1


class CoordinatorKind(StrEnum):
    """The kinds of coordinated state, by their names in kdiag's JSON."""

    GROUP = "group"
    TRANSACTION = "transaction"
    SHARE = "share"

    @property
    def key_type(self) -> int:
        """Return the `keyType` of FindCoordinator."""
        return _KEY_TYPES[self]

    @property
    def noun(self) -> str:
        """Return its name for people."""
        return _NOUNS[self]

    @property
    def topic(self) -> str:
        """Return the internal topic that keeps the state."""
        return _TOPICS[self]


_KEY_TYPES: Final = {
    CoordinatorKind.GROUP: 0,
    CoordinatorKind.TRANSACTION: 1,
    CoordinatorKind.SHARE: 2,
}
_NOUNS: Final = {
    CoordinatorKind.GROUP: "group",
    CoordinatorKind.TRANSACTION: "transactional id",
    CoordinatorKind.SHARE: "share partition",
}
_TOPICS: Final = {
    CoordinatorKind.GROUP: "__consumer_offsets",
    CoordinatorKind.TRANSACTION: "__transaction_state",
    CoordinatorKind.SHARE: "__share_group_state",
}


def java_hash(text: str) -> int:
    """Return Java's `hashCode` of a string, a signed 32-bit number over its UTF-16 units."""
    units = text.encode("utf-16-be", "surrogatepass")
    value = 0
    for position in range(0, len(units), 2):
        value = (31 * value + (units[position] << 8 | units[position + 1])) & _UINT32
    return value + 2 * _INT32_MIN if value > _UINT32 >> 1 else value


def coordinator_partition(key: str, partition_count: int) -> int:
    """Return the partition that keeps a key, in an internal topic of `partition_count` partitions.

    The key of a share partition is `group:topic id:partition`.

    Raises:
        ValueError: if the topic has no partitions.
    """
    if partition_count < 1:
        raise ValueError(f"a topic has at least one partition, not {partition_count}")
    value = java_hash(key)
    return 0 if value == _INT32_MIN else abs(value) % partition_count
