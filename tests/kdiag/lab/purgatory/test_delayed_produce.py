from kdiag.clock import NS_PER_MS, ManualClock
from kdiag.lab.purgatory.delayed_produce import (
    DelayedProduce,
    ProducePartitionStatus,
    ReplicasReached,
)
from kdiag.lab.purgatory.operation_key import TopicPartitionOperationKey
from kdiag.lab.timer.system_timer import SystemTimer
from kdiag.wire.api.produce import PartitionProduceResponse
from kdiag.wire.error_code import CODE_BY_NAME

FIRST = TopicPartitionOperationKey("orders", 0)
SECOND = TopicPartitionOperationKey("orders", 1)
TIMED_OUT = CODE_BY_NAME["REQUEST_TIMED_OUT"]
NOT_LEADER = CODE_BY_NAME["NOT_LEADER_OR_FOLLOWER"]
TOO_LARGE = CODE_BY_NAME["MESSAGE_TOO_LARGE"]
AFTER_APPEND = CODE_BY_NAME["NOT_ENOUGH_REPLICAS_AFTER_APPEND"]


class Story:
    """A produce to two partitions, of which one may have been refused.

    Attributes:
        reached: how far the replicas of each partition are, or the error code.
        answers: the error codes of the partitions, each time that it was answered.
        operation: the operation.
    """

    def __init__(self, second_error: int = 0) -> None:
        self.reached: dict[TopicPartitionOperationKey, ReplicasReached | int] = {
            FIRST: 0,
            SECOND: 0,
        }
        self.answers: list[list[int]] = []
        statuses = {
            FIRST: ProducePartitionStatus(105, PartitionProduceResponse(index=0, base_offset=100)),
            SECOND: ProducePartitionStatus(
                8, PartitionProduceResponse(index=1, error_code=second_error)
            ),
        }
        self.operation = DelayedProduce(NS_PER_MS, statuses, self._check, self._respond)

    def codes(self) -> list[int]:
        """Return the error codes as they stand."""
        return [each.response.error_code for each in self.operation.statuses.values()]

    def _check(self, partition: TopicPartitionOperationKey, offset: int) -> ReplicasReached:
        reached = self.reached[partition]
        if isinstance(reached, ReplicasReached):
            return reached
        return ReplicasReached(has_enough=reached >= offset, error_code=0)

    def _respond(self) -> None:
        self.answers.append(self.codes())


def test_it_waits_until_the_replicas_of_every_partition_have_the_records() -> None:
    """Those that wait stand at a timeout until then."""
    story = Story()
    assert story.codes() == [TIMED_OUT, TIMED_OUT]
    assert not story.operation.try_complete()
    story.reached[FIRST] = 105
    assert not story.operation.try_complete()
    assert story.codes() == [0, TIMED_OUT]
    story.reached |= {FIRST: 0, SECOND: 8}
    assert story.operation.try_complete(), "the first partition was done before"
    assert story.answers == [[0, 0]]


def test_a_partition_that_was_refused_is_not_waited_for() -> None:
    """Its error is answered with the others."""
    story = Story(second_error=TOO_LARGE)
    assert not story.operation.try_complete()
    story.reached[FIRST] = 200
    assert story.operation.try_complete()
    assert story.answers == [[0, TOO_LARGE]]


def test_a_partition_that_went_elsewhere_is_done_with_an_error() -> None:
    """Its new leader may or may not have the records."""
    story = Story()
    story.reached = {FIRST: ReplicasReached(has_enough=False, error_code=NOT_LEADER), SECOND: 8}
    assert story.operation.try_complete()
    assert story.answers == [[NOT_LEADER, 0]]


def test_too_few_replicas_in_sync_are_an_error_although_they_have_the_records() -> None:
    """The records are there, but not as safely as min.insync.replicas asks."""
    story = Story()
    story.reached = {FIRST: ReplicasReached(has_enough=True, error_code=AFTER_APPEND), SECOND: 8}
    assert story.operation.try_complete()
    assert story.answers == [[AFTER_APPEND, 0]]


def test_when_its_time_is_up_only_what_waits_has_timed_out() -> None:
    """It is answered once."""
    clock = ManualClock()
    timer = SystemTimer(clock)
    story = Story()
    story.reached[SECOND] = 8
    story.operation.try_complete()
    story.operation.expire_after(timer)
    clock.advance(NS_PER_MS)
    timer.advance()
    assert story.answers == [[TIMED_OUT, 0]]
    assert story.operation.expired == [FIRST]
    assert not story.operation.try_complete()
    assert "waits" in repr(story.operation.statuses[FIRST])
