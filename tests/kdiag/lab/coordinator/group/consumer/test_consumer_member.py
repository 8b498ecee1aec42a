from kdiag.lab.coordinator.group.consumer.assignor.group_spec import TopicIdPartition
from kdiag.lab.coordinator.group.consumer.consumer_member import (
    ConsumerGroupMember,
    ReconciliationState,
)

ZERO = frozenset({TopicIdPartition(b"o" * 16, 0)})
ONE = frozenset({TopicIdPartition(b"o" * 16, 1)})


def test_a_step_keeps_the_epoch_before() -> None:
    """What it is to give up is held, too."""
    member = ConsumerGroupMember("a", epoch=3)
    later = member.at(4, ReconciliationState.UNREVOKED_PARTITIONS, ZERO, ONE)
    assert (later.epoch, later.previous_epoch) == (4, 3)
    assert later.held == ZERO | ONE
    assert not later.is_reconciled_to(4)
    assert later.at(5, ReconciliationState.STABLE, ZERO).is_reconciled_to(5)


def test_a_state_that_is_not_known_is_said_to_be_so() -> None:
    """A newer broker may have written it."""
    assert ReconciliationState.of(2) is ReconciliationState.UNRELEASED_PARTITIONS
    assert ReconciliationState.of(9) is ReconciliationState.UNKNOWN
