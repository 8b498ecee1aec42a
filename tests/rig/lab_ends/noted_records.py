"""A coordinator's shard that notes what it is told, and the runtime of a node that has such."""

from typing import TYPE_CHECKING

from kdiag.lab.coordinator.runtime.coordinator_record import CoordinatorRecord, RecordOrigin
from kdiag.wire.internal.offset_commit import OffsetCommitKey, OffsetCommitValue

if TYPE_CHECKING:
    from kdiag.wire.records.internal import InternalRecord


def committed(offset: int, group: str = "billing") -> CoordinatorRecord:
    """Return a record: the group has read orders-0 up to an offset."""
    key = OffsetCommitKey(group=group, topic="orders", partition=0)
    return CoordinatorRecord(key, OffsetCommitValue(offset=offset), 3)


class NotedRecords:
    """A shard.

    Attributes:
        partition: its partition.
        offsets: what the records say, each with its origin.
        ends: the transactions that ended.
        state: `new`, `loaded` or `unloaded`.
    """

    def __init__(self, partition: int) -> None:
        self.partition = partition
        self.offsets: list[tuple[int | None, RecordOrigin]] = []
        self.ends: list[tuple[int, int, bool]] = []
        self.state = "new"

    def replay(self, record: "InternalRecord", origin: RecordOrigin) -> None:
        """Note a record."""
        value = None if record.value is None else record.value.message.offset
        self.offsets.append((value, origin))

    def replay_end_transaction(
        self, producer_id: int, producer_epoch: int, *, is_commit: bool
    ) -> None:
        """Note the end of a transaction."""
        self.ends.append((producer_id, producer_epoch, is_commit))

    def handle_loaded(self) -> None:
        """Note it."""
        self.state = "loaded"

    def handle_unloaded(self) -> None:
        """Note it."""
        self.state = "unloaded"
