"""A produce request with acks=all that waits until the replicas in sync have its records.

    orders-0   appended at 100 to 104, required offset 105     acks pending, REQUEST_TIMED_OUT
    orders-1   refused: MESSAGE_TOO_LARGE                      done

    high watermark of orders-0 is 103                          still waits
    high watermark of orders-0 is 105                          NONE: both are done, it is answered

Each partition that waits stands at REQUEST_TIMED_OUT from the beginning, so that a timeout needs to
change nothing. A partition is done when it is no longer here, no longer led from here, or when
enough replicas have the records: the check that the operation is given says which.

Source: Kafka's `DelayedProduce`.
"""

from collections.abc import Callable, Mapping
from typing import Final, NamedTuple

from kdiag.lab.purgatory.delayed_operation import DelayedOperation
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.wire.api.produce import PartitionProduceResponse
from kdiag.wire.error_code import CODE_BY_NAME

_NONE: Final = CODE_BY_NAME["NONE"]
_REQUEST_TIMED_OUT: Final = CODE_BY_NAME["REQUEST_TIMED_OUT"]


class ReplicasReached(NamedTuple):
    """Whether enough replicas have everything before an offset.

    Attributes:
        has_enough: whether they have.
        error_code: why they never will, or not as they should; 0 otherwise.
    """

    has_enough: bool
    error_code: int


CheckReplicas = Callable[[TopicPartitionOperationKey, int], ReplicasReached]
"""Says whether enough replicas of a partition have everything before an offset."""


class ProducePartitionStatus:
    """One partition of a produce request.

    Attributes:
        required_offset: the replicas must have everything before it.
        response: what is answered for the partition.
        is_acks_pending: whether it waits for replicas.
    """

    def __init__(self, required_offset: int, response: PartitionProduceResponse) -> None:
        """Begin with what appending gave."""
        self.required_offset = required_offset
        self.response = response
        self.is_acks_pending = response.error_code == _NONE

    def __repr__(self) -> str:
        state = "waits" if self.is_acks_pending else "is done"
        return f"<ProducePartitionStatus {state}, required offset {self.required_offset}>"


class DelayedProduce(DelayedOperation):
    """A produce request that waits for replicas.

    Attributes:
        statuses: its partitions.
        expired: the partitions that its timeout has found waiting.
    """

    def __init__(
        self,
        delay_ns: int,
        statuses: Mapping[TopicPartitionOperationKey, ProducePartitionStatus],
        check_replicas: CheckReplicas,
        respond: Callable[[], None],
    ) -> None:
        """Mark what waits.

        Args:
            delay_ns: the request's timeout.
            statuses: its partitions, after the leader's log has them.
            check_replicas: looks how far the replicas are.
            respond: sends the responses of the statuses.
        """
        super().__init__(delay_ns)
        self.statuses = statuses
        self.expired: list[TopicPartitionOperationKey] = []
        self._check_replicas = check_replicas
        self._respond = respond
        for status in self._pending().values():
            status.response.error_code = _REQUEST_TIMED_OUT

    def try_complete(self) -> bool:
        """Complete it if no partition waits any more."""
        for partition, status in self._pending().items():
            has_enough, error_code = self._check_replicas(partition, status.required_offset)
            if has_enough or error_code != _NONE:
                status.is_acks_pending = False
                status.response.error_code = error_code
        return not self._pending() and self.force_complete()

    def on_complete(self) -> None:
        """Answer the request."""
        self._respond()

    def on_expiration(self) -> None:
        """Record the partitions that were waited for in vain."""
        self.expired += self._pending()

    def _pending(self) -> dict[TopicPartitionOperationKey, ProducePartitionStatus]:
        return {each: status for each, status in self.statuses.items() if status.is_acks_pending}
